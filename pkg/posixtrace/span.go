package posixtrace

import (
	"context"
	"runtime"
	"sync/atomic"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// SpanType is a name for spans: what is between an event NAME.begin and an event
// NAME.end. The zero SpanType records nothing. Extension.
type SpanType struct {
	begin, end EventID
}

// Span is a span that has begun. It has a key of its own, so that its end belongs to its
// beginning on whatever goroutines and threads the two happen. The zero Span records
// nothing. Extension.
type Span struct {
	key uint64
	end EventID
}

// OpenSpanType returns the span type of a name in the calling process and its family,
// and registers the event types NAME.begin and NAME.end if need be.
// Errors: ENAMETOOLONG either name has more than EventNameMax bytes. Extension.
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

// Start begins a span: it records NAME.begin, as Event does, with a new key. Where ctx comes
// from another span, the key of that one is recorded as the parent. The context that Start
// returns is for what the span encloses; one that the caller drops costs nothing, one that the
// caller uses an allocation. In a process that is not traced Start returns ctx and costs
// about a nanosecond.
func (t SpanType) Start(ctx context.Context, data []byte) (_ context.Context, s Span) {
	if s = t.start(ctx, data); s.key != 0 {
		return &spanContext{ctx, s}, s
	}
	return ctx, s
}

// End ends the span: it records NAME.end with the span's key. Of a span that began while
// the process was not traced it records nothing.
func (s Span) End(data []byte) {
	if s.key != 0 {
		endSpan(s, data)
	}
}

// Key returns the key that EventInfo.Span of the span's events has, or 0.
func (s Span) Key() uint64 { return s.key }

// spanContext is the context of what a span encloses.
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

//go:noinline
func (t SpanType) start(ctx context.Context, data []byte) (s Span) {
	if atomic.LoadUint32(loadWord()) == 0 && t.begin != probe {
		return s
	}
	if t.begin == probe {
		_, pc, _ := sys.Self()
		_, caller := sys.SlowSelf(2)
		startBody.found(pc, sys.Outer() == caller)
		return s
	}
	table := traced.table.Load()
	if table == nil || table.word != atomic.LoadUint32(loadWord()) || uint32(t.begin)-uint32(event.Unnamed) >= traced.known.Load() {
		if table = traced.current(t.begin); table == nil {
			return s
		}
	}
	e := stream.Event{ID: event.ID(t.begin)}
	e.Span.Parent = enclosing(ctx)
	var processor int
	if table.fast {
		var tid uint64
		if tid, e.Addr, processor = sys.Self(); e.Addr == startBody.pc.Load() {
			// Start itself was not inlined; the trace point is one call farther up.
			if startBody.outer.Load() {
				e.Addr = sys.Outer()
			} else {
				_, e.Addr = sys.SlowSelf(2)
			}
		}
		e.TID = uint32(tid)
	} else {
		var tid uint64
		tid, e.Addr = sys.SlowSelf(2)
		e.TID, processor = uint32(tid), sys.Processor()
	}
	if table.only != nil {
		table.only.AppendSpan(processor, &e, data)
	} else {
		table.recordSpan(processor, &e, data)
	}
	runtime.KeepAlive(table)
	if e.Span.Key == 0 {
		e.Span.Key = stream.NewKey() // the end is an event of its own, which may be wanted
	}
	return Span{e.Span.Key, t.end}
}

//go:noinline
func endSpan(s Span, data []byte) {
	if s.end == probe {
		_, pc, _ := sys.Self()
		_, caller := sys.SlowSelf(2)
		endBody.found(pc, sys.Outer() == caller)
		return
	}
	table := traced.table.Load()
	if table == nil || table.word != atomic.LoadUint32(loadWord()) || uint32(s.end)-uint32(event.Unnamed) >= traced.known.Load() {
		if table = traced.current(s.end); table == nil {
			return
		}
	}
	e := stream.Event{ID: event.ID(s.end), Span: stream.Span{Key: s.key}}
	var processor int
	if table.fast {
		var tid uint64
		if tid, e.Addr, processor = sys.Self(); e.Addr == endBody.pc.Load() {
			if endBody.outer.Load() {
				e.Addr = sys.Outer()
			} else {
				_, e.Addr = sys.SlowSelf(2)
			}
		}
		e.TID = uint32(tid)
	} else {
		var tid uint64
		tid, e.Addr = sys.SlowSelf(2)
		e.TID, processor = uint32(tid), sys.Processor()
	}
	if table.only != nil {
		table.only.AppendSpan(processor, &e, data)
	} else {
		table.recordSpan(processor, &e, data)
	}
	runtime.KeepAlive(table)
}

// current returns what a trace point for an event of this type goes through, nil if it
// records nothing.
func (t *tracedProcess) current(id EventID) *table {
	if atomic.LoadUint32(loadWord()) == 0 || !event.ID(id).User() || t.sync() == nil || !t.knows(id) {
		return nil
	}
	return t.sync()
}

// recordSpan records an event in any number of streams.
func (t *table) recordSpan(processor int, e *stream.Event, data []byte) {
	for _, a := range t.streams {
		a.w.AppendSpan(processor, e, data)
	}
	runtime.KeepAlive(t)
}

// body is that of a Start or End that was called and not inlined: pc is where it is returned
// to, outer tells whether sys.Outer finds who called it.
type body struct {
	pc    atomic.Uint64
	outer atomic.Bool
}

func (b *body) found(pc uint64, outer bool) {
	b.outer.Store(outer)
	b.pc.Store(pc)
}

var startBody, endBody body

// Through these nothing is inlined.
var (
	startSpan  = SpanType.Start
	finishSpan = Span.End
)

// probeSpan finds out about the bodies.
func probeSpan() {
	if sys.FastSelf() && endBody.pc.Load() == 0 {
		startSpan(SpanType{begin: probe}, context.Background(), nil)
		finishSpan(Span{key: 1, end: probe}, nil)
	}
}
