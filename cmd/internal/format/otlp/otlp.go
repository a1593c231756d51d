// Package otlp writes a log as OTLP/JSON: spans, log records and metrics of the OpenTelemetry Protocol.
//
// A pair NAME.begin and NAME.end is a span, and so is a process. Every other event is an event in the
// innermost open span of its thread, or a log record with the id of that span. batch.go collects what
// has ended in batches, spans.go has the open spans, processes.go the processes, place.go finds the
// span that an event is in, context.go the trace context, ids.go the ids; record.go writes events,
// members.go the members of system events, metrics.go the samples as metrics, value.go the parts of JSON, resource.go what a log is about.
package otlp

import (
	"cmp"
	"math"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Sink takes the batches: requests of the protocol in JSON, without a newline. body is valid during
// the call.
type Sink interface {
	Traces(body []byte, spans int) error
	Logs(body []byte, records int) error
	Metrics(body []byte, metrics int) error
}

// Log is a log that is being written.
type Log struct {
	name  func(posixtrace.EventID) string
	types catalog.Table[*eventType]
	names map[string]*spanType

	spans, records batch
	metrics        metrics
	clock          clock
	ids            ids
	trace          *trace // of what has no other
	pending        map[thread]posixtrace.ContextData
	phrases        [phraseSlots]phrase
	call           posixtrace.SyscallData // reused

	homes   map[int]*home
	spare   *home // of a process that has ended
	open    map[spanKey]*span
	ended   [endedSlots]endedSpan
	count   int    // of open spans
	held    int    // bytes that open spans hold
	kept    int    // bytes that the spans in free hold
	number  uint64 // of spans ever
	free    *span
	root    *span // of the first process, while it runs
	first   *span // the root, once it has ended
	changes uint64
	places  [placeSlots]place

	started  bool
	from, to int64 // times of the first and the last event
}

// New returns the writer of a log. name returns the name of an event type, or "" if it has none, or
// none yet.
func New(sink Sink, r *Resource, name func(posixtrace.EventID) string) *Log {
	l := &Log{
		name: name, names: map[string]*spanType{}, pending: map[thread]posixtrace.ContextData{},
		homes: map[int]*home{}, open: map[spanKey]*span{},
	}
	l.ids.init(r.Identity)
	l.trace = &trace{id: l.ids.trace}
	l.trace.compose()
	resource := r.appendJSON(nil)
	l.spans.init(`{"resourceSpans":[`, resource, `"scopeSpans"`, `"spans"`, sink.Traces)
	l.records.init(`{"resourceLogs":[`, resource, `"scopeLogs"`, `"logRecords"`, sink.Logs)
	l.metrics.init(`{"resourceMetrics":[`, resource, `"scopeMetrics"`, `"metrics"`, sink.Metrics)
	l.changes = 1
	return l
}

// Add adds events, in order.
func (l *Log) Add(recs []posixtrace.Record) error {
	for i := range recs {
		rec := &recs[i]
		if !l.started {
			l.started, l.from, l.to = true, rec.UnixNano, rec.UnixNano
		}
		l.from, l.to = min(l.from, rec.UnixNano), max(l.to, rec.UnixNano)
		l.add(rec)
	}
	return cmp.Or(l.spans.err, l.records.err, l.metrics.err)
}

func (l *Log) add(rec *posixtrace.Record) {
	t := l.typeOf(rec.ID)
	context, described := l.take(rec)
	switch t.kind {
	case begins:
		if !l.begin(rec, t, context, described) {
			l.record(rec, t, nil)
		}
	case ends:
		if !l.end(rec, t) {
			l.record(rec, t, l.where(rec))
		}
	case execs:
		l.exec(rec, t, context, described)
	case forks:
		l.event(rec, t)
		l.fork(rec)
	case exits:
		if !l.exit(rec) {
			l.event(rec, t)
		}
	case contexts:
		l.recordContext(rec, t)
	case logged:
		if rec.ID == posixtrace.EventResSample {
			l.metrics.add(rec)
		}
		l.record(rec, t, l.where(rec))
	default:
		l.event(rec, t)
	}
}

// event adds an event to the span that it is in, or writes it as a log record.
func (l *Log) event(rec *posixtrace.Record, t *eventType) {
	s := l.where(rec)
	if s == nil || !l.addEvent(s, rec, t) {
		l.record(rec, t, s)
	}
}

// Close ends what is still open, and writes the rest. lost is the number of events that the log has
// lost.
func (l *Log) Close(lost uint64) error {
	l.finish(lost)
	if err := l.spans.flush(); err != nil {
		return err
	}
	if err := l.records.flush(); err != nil {
		return err
	}
	return l.metrics.flush()
}

// dropped returns a count for a member of 32 bits.
func dropped(n uint64) uint64 { return min(n, math.MaxUint32) }
