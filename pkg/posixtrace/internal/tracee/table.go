package tracee

import (
	"runtime"
	"sync/atomic"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Table lists the streams that trace this process while the word of its page has this value. A
// published table never changes.
type Table struct {
	Word    uint32 // 0 while a failed connection awaits a retry: no page of a traced process has that value
	seen    uint32 // the value that Word would have otherwise
	again   int64  // the time of the retry, in the nanoseconds of sys.Monotonic
	none    bool   // there is no page, or no directory for it
	Fast    bool   // sys.Self can be used
	ticks   bool   // a stream's clock is the processor's counter
	Outline uint64 // see Process.Outline: where a trace point returns to in an Event that was not inlined
	Outer   bool   // sys.Outer can be used then
	Streams []*conn.Attachment
	Only    *stream.Writer // of a single stream, the common case
}

// count sets what depends on the streams as a whole.
func (t *Table) count() {
	t.Only, t.ticks = nil, false
	for _, a := range t.Streams {
		t.ticks = t.ticks || a.Writer.Ticks()
	}
	if len(t.Streams) == 1 {
		t.Only = t.Streams[0].Writer
	}
	runtime.KeepAlive(t)
}

// Now reads the processor's counter if a stream needs it.
func (t *Table) Now() uint64 {
	if t.ticks {
		return sys.Ticks()
	}
	return 0
}

// Wants reports whether a stream would record an event of this type.
//
//go:noinline
func (t *Table) Wants(id event.ID) bool {
	defer runtime.KeepAlive(t)
	for _, a := range t.Streams {
		if a.Writer.Wants(id) {
			return true
		}
	}
	return false
}

// find returns the attachment to a stream, or nil.
func (t *Table) find(id uint64) *conn.Attachment {
	defer runtime.KeepAlive(t)
	if t != nil {
		for _, a := range t.Streams {
			if a.Conn.ID == id {
				return a
			}
		}
	}
	return nil
}

// pending reports whether t is the table of a failure whose retry is not due yet.
func (t *Table) pending() bool {
	return t != nil && t.again != 0 && t.seen == atomic.LoadUint32(LoadWord()) && int64(sys.Monotonic()) < t.again
}

// Stale reports that a trace point for an event of type id cannot use the table as it is.
func (t *Table) Stale(id event.ID) bool {
	return t == nil || t.Word != atomic.LoadUint32(LoadWord()) || uint32(id)-uint32(event.Unnamed) >= Self.Known.Load()
}

// AppendSpan records an event with a span in the streams of the table, of any number.
func (t *Table) AppendSpan(processor int, at stream.SpanPoint, addr, ticks uint64, span *stream.Span, data []byte) {
	for _, a := range t.Streams {
		a.Writer.AppendSpan(processor, at, addr, ticks, span, data)
	}
	runtime.KeepAlive(t)
}

// Record records an event in the streams of the table.
func (t *Table) Record(processor int, e *stream.Event, data []byte) {
	for _, a := range t.Streams {
		a.Writer.AppendEvent(processor, e, data, e.Span.Key != 0)
	}
	runtime.KeepAlive(t)
}
