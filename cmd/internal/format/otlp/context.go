package otlp

import (
	"encoding/binary"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// thread is a thread.
type thread struct{ pid, tid int }

// maxPending bounds how many threads have a context for their next span.
const maxPending = 1 << 8

// take returns the trace context of the span that an event starts, which the event of its thread
// before it describes.
func (l *Log) take(rec *posixtrace.Record) (d posixtrace.ContextData, ok bool) {
	if len(l.pending) == 0 {
		return d, false
	}
	k := thread{rec.PID, rec.TID}
	if d, ok = l.pending[k]; ok {
		delete(l.pending, k)
	}
	return d, ok
}

// recordContext writes a context as a log record of the span that it describes.
func (l *Log) recordContext(rec *posixtrace.Record, t *eventType) {
	d, err := posixtrace.DecodeContext(rec.Data)
	if err != nil || d.TraceID == [16]byte{} || d.SpanID == [8]byte{} {
		l.record(rec, t, l.where(rec))
		return
	}
	if len(l.pending) < maxPending {
		l.pending[thread{rec.PID, rec.TID}] = d
	}
	s := span{trace: l.traceOf(&d), id: binary.BigEndian.Uint64(d.SpanID[:])}
	s.compose()
	l.record(rec, t, &s)
}

// traceOf returns the trace of a context.
func (l *Log) traceOf(d *posixtrace.ContextData) *trace {
	if l.trace.id == d.TraceID && l.trace.flags == d.Flags && l.trace.state == d.State {
		return l.trace
	}
	t := &trace{id: d.TraceID, flags: d.Flags, state: d.State}
	t.compose()
	return t
}
