// Command decoder reads lines of OTLP/JSON with the decoder of the OpenTelemetry Collector, at its
// strictest, and prints a line of JSON for each span, log record and data point. It fails if a line is not
// what the Collector itself would write of it.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// maxLine is what a Collector surely accepts.
const maxLine = 4 << 20

// Item is a span, a log record, or a data point.
type Item struct {
	Kind       string // span, log, metric
	Resource   map[string]any
	Trace      string
	Span       string
	Parent     string
	State      string
	Flags      uint32
	Name       string
	Start, End uint64
	Severity   int
	Body       any
	Attributes map[string]any
	Events     []Event
	Dropped    uint32 // events
	Failed     bool
	Message    string
	Unit       string // of a data point
	Sum        bool
	Value      float64
}

// Event is an event in a span.
type Event struct {
	Name       string
	Time       uint64
	Attributes map[string]any
}

func main() {
	log.SetFlags(0)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, maxLine+1)
	out := bufio.NewWriter(os.Stdout)
	n := 0
	for in.Scan() {
		n++
		items, err := decode(in.Bytes())
		if err != nil {
			log.Fatalf("line %d: %v", n, err)
		}
		for i := range items {
			if err := json.NewEncoder(out).Encode(&items[i]); err != nil {
				log.Fatal(err)
			}
		}
	}
	if err := errors.Join(in.Err(), out.Flush()); err != nil {
		log.Fatalf("after line %d: %v", n, err)
	}
}

func decode(line []byte) ([]Item, error) {
	var kinds map[string]json.RawMessage
	if err := json.Unmarshal(line, &kinds); err != nil || len(kinds) != 1 {
		return nil, fmt.Errorf("%d members: %v", len(kinds), err)
	}
	if kinds["resourceSpans"] != nil {
		u := ptrace.JSONUnmarshaler{DisallowUnknownFields: true}
		d, err := u.UnmarshalTraces(line)
		if err != nil {
			return nil, err
		}
		again, err := (&ptrace.JSONMarshaler{}).MarshalTraces(d)
		return spans(d), errors.Join(err, same(line, again))
	}
	if kinds["resourceMetrics"] != nil {
		u := pmetric.JSONUnmarshaler{DisallowUnknownFields: true}
		d, err := u.UnmarshalMetrics(line)
		if err != nil {
			return nil, err
		}
		again, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(d)
		return points(d), errors.Join(err, same(line, again))
	}
	u := plog.JSONUnmarshaler{DisallowUnknownFields: true}
	d, err := u.UnmarshalLogs(line)
	if err != nil {
		return nil, err
	}
	again, err := (&plog.JSONMarshaler{}).MarshalLogs(d)
	return records(d), errors.Join(err, same(line, again))
}

// same compares two texts of JSON, in which no object may have a member twice. A member that is empty
// may be left out.
func same(line, again []byte) error {
	var a, b any
	if err := errors.Join(json.Unmarshal(line, &a), json.Unmarshal(again, &b), unique(line)); err != nil {
		return err
	}
	return different("", a, b)
}

func different(path string, a, b any) error {
	switch x := a.(type) {
	case map[string]any:
		y, _ := b.(map[string]any)
		for k := range y {
			if _, ok := x[k]; !ok && !empty(y[k]) {
				return fmt.Errorf("the Collector writes %s.%s: %v", path, k, y[k])
			}
		}
		for k := range x {
			if _, ok := y[k]; !ok && !empty(x[k]) {
				return fmt.Errorf("the Collector does not write %s.%s: %v", path, k, x[k])
			} else if ok {
				if err := different(path+"."+k, x[k], y[k]); err != nil {
					return err
				}
			}
		}
		return nil
	case []any:
		y, _ := b.([]any)
		if len(x) != len(y) {
			return fmt.Errorf("the Collector writes %d of %d elements of %s", len(y), len(x), path)
		}
		for i := range x {
			if err := different(fmt.Sprintf("%s[%d]", path, i), x[i], y[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if a != b {
		return fmt.Errorf("the Collector writes %s: %v, not %v", path, b, a)
	}
	return nil
}

func empty(v any) bool {
	switch x := v.(type) {
	case map[string]any:
		return len(x) == 0
	case []any:
		return len(x) == 0
	}
	return v == nil
}

func unique(line []byte) error {
	d := json.NewDecoder(bytes.NewReader(line))
	var value func() error
	value = func() error {
		t, err := d.Token()
		if err != nil {
			return err
		}
		open, ok := t.(json.Delim)
		if !ok {
			return nil
		}
		seen := map[string]bool{}
		for d.More() {
			if open == '{' {
				k, err := d.Token()
				if err != nil {
					return err
				}
				if seen[k.(string)] {
					return fmt.Errorf("the member %q twice", k)
				}
				seen[k.(string)] = true
			}
			if err := value(); err != nil {
				return err
			}
		}
		_, err = d.Token()
		return err
	}
	return value()
}

// attributes returns attributes. It fails if one comes twice.
func attributes(m pcommon.Map) map[string]any {
	if len(m.AsRaw()) != m.Len() {
		log.Fatalf("an attribute comes twice: %v", m.AsRaw())
	}
	return m.AsRaw()
}

func spans(d ptrace.Traces) (items []Item) {
	for _, r := range d.ResourceSpans().All() {
		for _, sc := range r.ScopeSpans().All() {
			for _, s := range sc.Spans().All() {
				it := Item{Kind: "span", Resource: attributes(r.Resource().Attributes()), Trace: s.TraceID().String(), Span: s.SpanID().String(),
					Parent: s.ParentSpanID().String(), State: s.TraceState().AsRaw(), Flags: s.Flags(), Name: s.Name(),
					Start: uint64(s.StartTimestamp()), End: uint64(s.EndTimestamp()), Attributes: attributes(s.Attributes()),
					Dropped: s.DroppedEventsCount(), Failed: s.Status().Code() == ptrace.StatusCodeError, Message: s.Status().Message()}
				if s.TraceID().IsEmpty() || s.SpanID().IsEmpty() || it.End < it.Start || it.Name == "" {
					log.Fatalf("not a span: %+v", it)
				}
				for _, e := range s.Events().All() {
					it.Events = append(it.Events, Event{e.Name(), uint64(e.Timestamp()), attributes(e.Attributes())})
				}
				items = append(items, it)
			}
		}
	}
	return items
}

func records(d plog.Logs) (items []Item) {
	for _, r := range d.ResourceLogs().All() {
		for _, sc := range r.ScopeLogs().All() {
			for _, l := range sc.LogRecords().All() {
				it := Item{Kind: "log", Resource: attributes(r.Resource().Attributes()), Trace: l.TraceID().String(), Span: l.SpanID().String(),
					Flags: uint32(l.Flags()), Name: l.EventName(), Start: uint64(l.Timestamp()), End: uint64(l.ObservedTimestamp()),
					Severity: int(l.SeverityNumber()), Body: l.Body().AsRaw(), Attributes: attributes(l.Attributes())}
				if l.TraceID().IsEmpty() || it.Name == "" {
					log.Fatalf("not a record: %+v", it)
				}
				items = append(items, it)
			}
		}
	}
	return items
}

func points(d pmetric.Metrics) (items []Item) {
	for _, r := range d.ResourceMetrics().All() {
		for _, sc := range r.ScopeMetrics().All() {
			for _, m := range sc.Metrics().All() {
				var list pmetric.NumberDataPointSlice
				sum := m.Type() == pmetric.MetricTypeSum
				switch m.Type() {
				case pmetric.MetricTypeSum:
					list = m.Sum().DataPoints()
					if !m.Sum().IsMonotonic() || m.Sum().AggregationTemporality() != pmetric.AggregationTemporalityCumulative {
						log.Fatalf("not a cumulative sum: %s", m.Name())
					}
				case pmetric.MetricTypeGauge:
					list = m.Gauge().DataPoints()
				default:
					log.Fatalf("%s is a %v", m.Name(), m.Type())
				}
				if m.Name() == "" || m.Unit() == "" || list.Len() == 0 {
					log.Fatalf("not a metric: %q, %q, %d points", m.Name(), m.Unit(), list.Len())
				}
				for _, p := range list.All() {
					it := Item{Kind: "metric", Resource: attributes(r.Resource().Attributes()), Name: m.Name(), Unit: m.Unit(), Sum: sum,
						Start: uint64(p.StartTimestamp()), End: uint64(p.Timestamp()), Attributes: attributes(p.Attributes()), Value: p.DoubleValue()}
					if p.ValueType() == pmetric.NumberDataPointValueTypeInt {
						it.Value = float64(p.IntValue())
					}
					if it.End == 0 || sum && (it.Start == 0 || it.End < it.Start) {
						log.Fatalf("not a data point: %+v", it)
					}
					items = append(items, it)
				}
			}
		}
	}
	return items
}
