package main

import (
	"bufio"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The JSON of the OpenTelemetry Protocol, as far as ptrace-export writes it.
type (
	value struct {
		String *string
		Int    *string
		Bool   *bool
		Bytes  *string
		Array  *struct{ Values []value }
	}
	attribute struct {
		Key   string
		Value value
	}
	resource struct{ Attributes []attribute }
	event    struct {
		TimeUnixNano string
		Name         string
		Attributes   []attribute
	}
	span struct {
		TraceID, SpanID, ParentSpanID string
		TraceState                    string
		Flags                         int
		Name                          string
		Kind                          int
		StartTimeUnixNano             string
		EndTimeUnixNano               string
		Attributes                    []attribute
		Events                        []event
		DroppedEventsCount            uint64
		Status                        struct {
			Message string
			Code    int
		}

		resource []attribute
	}
	record struct {
		TimeUnixNano    string
		SeverityText    string
		EventName       string
		TraceID, SpanID string
		Body            *value
		Attributes      []attribute

		resource []attribute
	}
	request struct {
		ResourceSpans []struct {
			Resource   resource
			ScopeSpans []struct{ Spans []*span }
		}
		ResourceLogs []struct {
			Resource  resource
			ScopeLogs []struct{ LogRecords []*record }
		}
	}
)

func (v *value) UnmarshalJSON(b []byte) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	for key, raw := range m {
		var err error
		switch key {
		case "stringValue":
			err = json.Unmarshal(raw, &v.String)
		case "intValue":
			s := strings.Trim(string(raw), `"`)
			v.Int = &s
		case "boolValue":
			err = json.Unmarshal(raw, &v.Bool)
		case "bytesValue":
			err = json.Unmarshal(raw, &v.Bytes)
		case "arrayValue":
			err = json.Unmarshal(raw, &v.Array)
		default:
			err = fmt.Errorf("a value of the kind %s", key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// typed is a value with its type, as Jaeger names types.
func (v *value) typed() string {
	switch {
	case v.String != nil:
		return "string " + *v.String
	case v.Int != nil:
		return "int64 " + *v.Int
	case v.Bool != nil:
		return "bool " + strconv.FormatBool(*v.Bool)
	case v.Bytes != nil:
		raw, err := base64.StdEncoding.DecodeString(*v.Bytes)
		if err != nil {
			return "malformed " + *v.Bytes
		}
		return "binary " + hex.EncodeToString(raw)
	case v.Array != nil: // Jaeger has no lists: it shows their JSON
		list := make([]any, len(v.Array.Values))
		for i, e := range v.Array.Values {
			switch {
			case e.String != nil:
				list[i] = *e.String
			case e.Bytes != nil:
				list[i] = *e.Bytes
			}
		}
		b, _ := json.Marshal(list)
		return "string " + string(b)
	}
	return "string "
}

func get(list []attribute, key string) *value {
	for i := range list {
		if list[i].Key == key {
			return &list[i].Value
		}
	}
	return nil
}

// number returns an attribute that is an integer, or 0.
func number(list []attribute, key string) int64 {
	if v := get(list, key); v != nil && v.Int != nil {
		n, _ := strconv.ParseInt(*v.Int, 10, 64)
		return n
	}
	return 0
}

func nanoseconds(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic("not a time: " + text)
	}
	return n
}

// readLines calls f with each line of a file of JSON.
func readLines[T any](path string, f func(*T) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewScanner(file)
	in.Buffer(nil, 64<<20)
	for n := 1; in.Scan(); n++ {
		var line T
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if err := f(&line); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	return in.Err()
}

// readOTLP returns the spans and the log records of a file of lines.
func readOTLP(path string) (spans []*span, records []*record, err error) {
	err = readLines(path, func(r *request) error {
		for _, rs := range r.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					s.resource = rs.Resource.Attributes
					spans = append(spans, s)
				}
			}
		}
		for _, rl := range r.ResourceLogs {
			for _, sl := range rl.ScopeLogs {
				for _, l := range sl.LogRecords {
					l.resource = rl.Resource.Attributes
					records = append(records, l)
				}
			}
		}
		return nil
	})
	return spans, records, err
}
