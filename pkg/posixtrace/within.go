package posixtrace

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// SpanFromContext returns the innermost span that ctx comes from, or the zero Span. Extension.
func SpanFromContext(ctx context.Context) Span {
	if ctx != nil {
		if c, ok := ctx.Value(enclosingKey).(*spanContext); ok {
			return c.span
		}
	}
	return Span{}
}

// EventIn is Event for an event within a span: EventInfo.Span of the event is the key of the span that
// ctx comes from, or 0 if ctx comes from none. pc becomes the address of the event, for a library such
// as a logger, which knows the address of its caller from runtime.Callers; 0 means the caller of
// EventIn. The type of the event is not one of a span (NAME.begin, NAME.end). EventIn is safe for
// concurrent use. Extension.
//
// The compiler must not inline EventIn: sys.Self looks at the frame of the function that calls it.
//
//go:noinline
func EventIn(ctx context.Context, pc uintptr, id EventID, data []byte) {
	if atomic.LoadUint32(loadWord()) == 0 {
		return
	}
	table := traced.table.Load()
	if table.stale(id) {
		if table = traced.renewed(id); table == nil {
			return
		}
	}
	e := stream.Event{ID: event.ID(id)}
	e.Span.Key = enclosing(ctx)
	var tid uint64
	var processor int
	if table.fast {
		tid, e.Addr, processor, e.Ticks = sys.Self()
	} else {
		tid, e.Addr = sys.SlowSelf(1)
		processor = sys.Processor()
	}
	if pc != 0 {
		e.Addr = uint64(pc)
	}
	e.TID = uint32(tid)
	for _, a := range table.streams {
		a.w.AppendEvent(processor, &e, data, e.Span.Key != 0)
	}
	runtime.KeepAlive(table)
}
