package posixtrace

import (
	"context"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracee"
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
// ctx comes from, or 0 if ctx comes from none. The type of the event is not one of a span (NAME.begin,
// NAME.end). EventIn is safe for concurrent use. Extension.
//
//go:noinline
func EventIn(ctx context.Context, id EventID, data []byte) {
	table := tracee.Self.Wanting(event.ID(id))
	if table == nil {
		return
	}
	e := stream.Event{ID: event.ID(id)}
	e.Span.Key = enclosing(ctx)
	var tid uint64
	var processor int
	// The compiler must not inline EventIn: sys.Self looks at the frame of the function that calls it.
	if table.Fast {
		tid, e.Addr, processor, e.Ticks = sys.Self()
	} else {
		tid, e.Addr = sys.SlowSelf(1)
		processor = sys.Processor()
	}
	e.TID = uint32(tid)
	table.Record(processor, &e, data)
}

// EventAt is EventIn for a library that records on behalf of its caller, such as a logger: pc, from
// runtime.Callers or slog.Record, becomes the address of the event. 0 stands for the caller of EventAt.
// Extension.
//
//go:noinline
func EventAt(ctx context.Context, pc uintptr, id EventID, data []byte) {
	table := tracee.Self.Wanting(event.ID(id))
	if table == nil {
		return
	}
	e := stream.Event{ID: event.ID(id)}
	e.Span.Key = enclosing(ctx)
	var tid uint64
	var processor int
	if table.Fast {
		tid, e.Addr, processor, e.Ticks = sys.Self()
	} else {
		tid, e.Addr = sys.SlowSelf(1)
		processor = sys.Processor()
	}
	if pc != 0 {
		e.Addr = uint64(pc)
	}
	e.TID = uint32(tid)
	table.Record(processor, &e, data)
}
