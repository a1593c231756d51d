package posixtrace

import (
	"context"
	"runtime"
	"sync/atomic"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracee"
)

// SpanType is the type of spans of one name. A span begins with an event NAME.begin and ends with
// an event NAME.end. The zero SpanType records nothing. Extension.
type SpanType struct {
	begin, end EventID
}

// Span is a span that has started. Its key connects its two events, which may happen on different
// goroutines and threads. The zero Span records nothing. Extension.
type Span struct {
	key uint64
	end EventID
}

// OpenSpanType returns the span type of a name in the calling process and its family. It registers
// the event types NAME.begin and NAME.end if necessary, as OpenEventID does. Errors: those of
// OpenEventID for either name. Extension.
func OpenSpanType(name string) (SpanType, error) {
	if len(name)+len(".begin") > EventNameMax {
		return SpanType{}, &Error{Op: "posix_trace_eventid_open", Err: syscall.ENAMETOOLONG}
	}
	begin, err := OpenEventID(name + ".begin")
	if err != nil {
		return SpanType{}, err
	}
	end, err := OpenEventID(name + ".end")
	if err != nil {
		return SpanType{}, err
	}
	stream.SeedKeys()
	probeSpan()
	return SpanType{begin, end}, nil
}

// Start starts a span: it records NAME.begin with a new key, as Event does. If ctx comes from
// another span, Start records the key of that span as the parent. The context that Start returns is
// for the work within the span; it costs an allocation if the caller uses it. In a process that no
// stream traces, Start returns ctx and costs about a nanosecond. Start and End are safe for
// concurrent use.
func (t SpanType) Start(ctx context.Context, data []byte) (_ context.Context, s Span) {
	if s = t.start(ctx, data); s.key != 0 {
		return &spanContext{ctx, s}, s
	}
	return ctx, s
}

// End ends the span: it records NAME.end with the span's key. By convention data that begins with "error:"
// says that the span failed, and why; package posixspan writes it. End records nothing for a span that
// started while no stream traced the process.
func (s Span) End(data []byte) {
	if s.key != 0 {
		endSpan(s, data)
	}
}

// Key returns the key in EventInfo.Span of the span's events, or 0.
func (s Span) Key() uint64 { return s.key }

// spanContext is the context of the work within a span.
type spanContext struct {
	context.Context
	span Span
}

type spanContextKey struct{}

var enclosingKey any = spanContextKey{}

func (c *spanContext) Value(key any) any {
	if key == enclosingKey {
		return c
	}
	return c.Context.Value(key)
}

// enclosing returns the key of the span that ctx comes from, or 0.
func enclosing(ctx context.Context) uint64 {
	switch c := ctx.(type) {
	case *spanContext:
		return c.span.key
	case nil:
		return 0
	}
	if c, ok := ctx.Value(enclosingKey).(*spanContext); ok {
		return c.span.key
	}
	return 0
}

// start and endSpan take thread and caller themselves: sys.Self and sys.Outer look at the frame of the
// function that calls them.

//go:noinline
func (t SpanType) start(ctx context.Context, data []byte) (s Span) {
	if atomic.LoadUint32(tracee.LoadWord()) == 0 && t.begin != probe {
		return s
	}
	if t.begin == probe {
		_, pc, _, _ := sys.Self()
		_, caller := sys.SlowSelf(2)
		startBody.found(pc, sys.Outer() == caller)
		return s
	}
	table := tracee.Self.Table.Load()
	if table.Stale(event.ID(t.begin)) {
		if table = tracee.Self.Renewed(event.ID(t.begin)); table == nil {
			return s
		}
	}
	span := stream.Span{Parent: enclosing(ctx)}
	var tid, addr, ticks uint64
	var processor int
	if !table.Fast {
		tid, addr = sys.SlowSelf(2)
		processor = sys.Processor()
	} else if tid, addr, processor, ticks = sys.Self(); addr == startBody.pc.Load() {
		// Start itself was not inlined; the trace point is one call farther up.
		if startBody.outer.Load() {
			addr = sys.Outer()
		} else {
			_, addr = sys.SlowSelf(2)
		}
	}
	at := stream.MakeSpanPoint(event.ID(t.begin), uint32(tid))
	if table.Only != nil { // as in record, without a call
		table.Only.AppendSpan(processor, at, addr, ticks, &span, data)
	} else {
		table.AppendSpan(processor, at, addr, ticks, &span, data)
	}
	runtime.KeepAlive(table)
	if span.Key == 0 {
		span.Key = stream.NewKey() // the end is an event of its own, which may be wanted
	}
	return Span{span.Key, t.end}
}

//go:noinline
func endSpan(s Span, data []byte) {
	if s.end == probe {
		_, pc, _, _ := sys.Self()
		_, caller := sys.SlowSelf(2)
		endBody.found(pc, sys.Outer() == caller)
		return
	}
	table := tracee.Self.Table.Load()
	if table.Stale(event.ID(s.end)) {
		if table = tracee.Self.Renewed(event.ID(s.end)); table == nil {
			return
		}
	}
	span := stream.Span{Key: s.key}
	var tid, addr, ticks uint64
	var processor int
	if !table.Fast {
		tid, addr = sys.SlowSelf(2)
		processor = sys.Processor()
	} else if tid, addr, processor, ticks = sys.Self(); addr == endBody.pc.Load() {
		if endBody.outer.Load() {
			addr = sys.Outer()
		} else {
			_, addr = sys.SlowSelf(2)
		}
	}
	at := stream.MakeSpanPoint(event.ID(s.end), uint32(tid))
	if table.Only != nil { // as in record, without a call
		table.Only.AppendSpan(processor, at, addr, ticks, &span, data)
	} else {
		table.AppendSpan(processor, at, addr, ticks, &span, data)
	}
	runtime.KeepAlive(table)
}

// body describes the body of Start or End where the compiler did not inline it. pc is the address
// in that body that start or endSpan returns to. outer reports that sys.Outer finds the caller of
// that body.
type body struct {
	pc    atomic.Uint64
	outer atomic.Bool
}

func (b *body) found(pc uint64, outer bool) {
	b.outer.Store(outer)
	b.pc.Store(pc)
}

var startBody, endBody body

// The compiler inlines no call through these variables.
var (
	startSpan  = SpanType.Start
	finishSpan = Span.End
)

// probeSpan fills startBody and endBody.
func probeSpan() {
	if sys.FastSelf() && endBody.pc.Load() == 0 {
		startSpan(SpanType{begin: probe}, context.Background(), nil)
		finishSpan(Span{key: 1, end: probe}, nil)
	}
}

// SpanFromContext returns the innermost span that ctx comes from, or the zero Span. Extension.
func SpanFromContext(ctx context.Context) Span {
	if ctx != nil {
		if c, ok := ctx.Value(enclosingKey).(*spanContext); ok {
			return c.span
		}
	}
	return Span{}
}

// EventIn records an event within a span: EventInfo.Span of the event is the key of the span that
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

// EventAt records an event within a span for a library that records on behalf of its caller, such as a
// logger: pc, from runtime.Callers or slog.Record, becomes the address of the event. 0 stands for the caller
// of EventAt. Extension.
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
