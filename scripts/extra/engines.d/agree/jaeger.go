package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What the query API of Jaeger answers.
type (
	tag struct {
		Key   string
		Type  string
		Value any
	}
	jaegerSpan struct {
		TraceID, SpanID string
		OperationName   string
		References      []struct{ RefType, TraceID, SpanID string }
		StartTime       int64 // microseconds
		Duration        int64
		Tags            []tag
		Logs            []struct {
			Timestamp int64
			Fields    []tag
		}
		ProcessID string
		Warnings  []string

		process *process
	}
	process struct {
		ServiceName string
		Tags        []tag
	}
	trace struct {
		Spans     []*jaegerSpan
		Processes map[string]*process
	}
)

func (t *tag) typed() string {
	switch v := t.Value.(type) {
	case json.Number:
		return t.Type + " " + v.String()
	case bool:
		return t.Type + " " + strconv.FormatBool(v)
	case string:
		if t.Type == "binary" {
			raw, _ := base64.StdEncoding.DecodeString(v)
			return "binary " + hex.EncodeToString(raw)
		}
		return t.Type + " " + v
	}
	return fmt.Sprint(t.Type, " ", t.Value)
}

var client = &http.Client{Timeout: 60 * time.Second}

// query returns the spans of a trace, each as often as Jaeger has stored it. Without raw=true it would
// leave out some of those that were sent twice.
func query(url, id string) ([]*jaegerSpan, error) {
	resp, err := client.Get(url + "/api/traces/" + id + "?raw=true")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotFound {
		return nil, nil
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("trace %s: %s: %s", id, resp.Status, body)
	}
	var answer struct{ Data []trace }
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&answer); err != nil {
		return nil, err
	}
	var list []*jaegerSpan
	for _, t := range answer.Data {
		for _, s := range t.Spans {
			if s.process = t.Processes[s.ProcessID]; s.process == nil {
				return nil, fmt.Errorf("trace %s: a span without process", id)
			}
			list = append(list, s)
		}
	}
	return list, nil
}

// format is a tag that Jaeger adds to what it receives.
const format = "internal.span.format"

// text returns all that Jaeger has of a span, in one form for both sides.
func (s *jaegerSpan) text() string {
	var b strings.Builder
	parent := ""
	for _, r := range s.References {
		if r.RefType != "CHILD_OF" || r.TraceID != s.TraceID || parent != "" {
			return fmt.Sprint("references: ", s.References)
		}
		parent = r.SpanID
	}
	fmt.Fprintf(&b, "%s %s parent %s %q start %d duration %d service %q\n", s.TraceID, s.SpanID, parent, s.OperationName, s.StartTime, s.Duration, s.process.ServiceName)
	tags := s.Tags
	tags = slices.DeleteFunc(slices.Clone(tags), func(t tag) bool { return t.Key == format })
	b.WriteString(texts("tag", tags))
	b.WriteString(texts("process", s.process.Tags))
	events := make([]string, 0, len(s.Logs))
	for _, l := range s.Logs {
		events = append(events, fmt.Sprintf("event %d\n%s", l.Timestamp, texts("  field", l.Fields)))
	}
	slices.Sort(events)
	b.WriteString(strings.Join(events, ""))
	for _, w := range s.Warnings {
		fmt.Fprintf(&b, "warning %s\n", w)
	}
	return b.String()
}

func texts(what string, tags []tag) string {
	list := make([]string, len(tags))
	for i := range tags {
		list[i] = what + " " + tags[i].Key + " " + tags[i].typed() + "\n"
	}
	slices.Sort(list)
	return strings.Join(list, "")
}

// text returns the same of a span that ptrace-export has written.
func (s *span) text() string { return s.jaeger().text() }

// jaeger returns what Jaeger must have of a span that ptrace-export has written.
func (s *span) jaeger() *jaegerSpan {
	start, end := nanoseconds(s.StartTimeUnixNano), nanoseconds(s.EndTimeUnixNano)
	j := jaegerSpan{TraceID: s.TraceID, SpanID: s.SpanID, OperationName: s.Name, StartTime: start / 1000, Duration: (end - start) / 1000, process: &process{}}
	if s.ParentSpanID != "" {
		j.References = append(j.References, struct{ RefType, TraceID, SpanID string }{"CHILD_OF", s.TraceID, s.ParentSpanID})
	}
	j.Tags = tags(s.Attributes)
	j.add("otel.scope.name", "posixtrace")
	if s.Kind == 1 {
		j.add("span.kind", "internal")
	}
	if s.Status.Code == 2 {
		j.add("otel.status_code", "ERROR")
		j.Tags = append(j.Tags, tag{"error", "bool", true})
	}
	if s.Status.Message != "" {
		j.add("otel.status_description", s.Status.Message)
	}
	if s.TraceState != "" {
		j.add("w3c.tracestate", s.TraceState)
	}
	for _, t := range tags(s.resource) {
		if t.Key == "service.name" {
			j.process.ServiceName = t.Value.(string)
		} else {
			j.process.Tags = append(j.process.Tags, t)
		}
	}
	for _, e := range s.Events {
		fields := append(tags(e.Attributes), tag{"event", "string", e.Name})
		j.Logs = append(j.Logs, struct {
			Timestamp int64
			Fields    []tag
		}{nanoseconds(e.TimeUnixNano) / 1000, fields})
	}
	return &j
}

func (s *jaegerSpan) add(key, value string) { s.Tags = append(s.Tags, tag{key, "string", value}) }

func tags(list []attribute) []tag {
	out := make([]tag, len(list))
	for i := range list {
		kind, text, _ := strings.Cut(list[i].Value.typed(), " ")
		out[i] = tag{list[i].Key, kind, text}
		if kind == "binary" {
			raw, _ := hex.DecodeString(text)
			out[i].Value = base64.StdEncoding.EncodeToString(raw)
		}
	}
	return out
}
