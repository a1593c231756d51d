package posixtrace

import (
	"context"
	"reflect"
	"runtime"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracee"
)

// EventIn records the span of the context, and the address that the caller gives or its own, in every
// stream, on the fast and the slow path.
func TestEventIn(t *testing.T) {
	typ, err := OpenSpanType("within.span")
	if err != nil {
		t.Fatal(err)
	}
	id, err := OpenEventID("within.event")
	if err != nil {
		t.Fatal(err)
	}
	var streams [2]*Stream
	for i := range streams {
		if streams[i], err = Create(0, nil); err != nil {
			t.Fatal(err)
		}
		defer streams[i].Shutdown()
		if err := streams[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, span := typ.Start(t.Context(), nil)
	eventIn(context.WithValue(ctx, spanTestKey{}, 1), 0, id)
	slow := *tracee.Self.Table.Load()
	slow.Fast = false
	old := tracee.Self.Table.Swap(&slow)
	eventIn(ctx, 0, id)
	tracee.Self.Table.Store(old)
	eventIn(ctx, 0x1234, id)
	eventIn(t.Context(), 0x1234, id)
	eventIn(noContext, 0x1234, id)
	// Ids that Event ignores, too.
	for _, bad := range []EventID{0, EventStart, EventProcExec, 1 << 20} {
		eventIn(ctx, 0, bad)
	}
	span.End(nil)

	here := reflect.ValueOf(eventIn).Pointer()
	for i, s := range streams {
		var list []EventInfo
		for rec := range read(t, s.Reader) {
			if rec.ID == id {
				if string(rec.Data) != "data" || rec.TID == 0 || rec.Parent != 0 {
					t.Errorf("stream %d: %+v", i, rec)
				}
				list = append(list, rec.EventInfo)
			} else if rec.ID.User() && rec.ID != typ.begin && rec.ID != typ.end {
				t.Errorf("stream %d: %s was recorded", i, rec.Name)
			}
		}
		if len(list) != 5 {
			t.Fatalf("stream %d: %d events", i, len(list))
		}
		for n, ev := range list {
			if within := ev.Span != 0; within != (n < 3) || within && ev.Span != span.Key() {
				t.Errorf("stream %d, event %d: span %#x of %#x", i, n, ev.Span, span.Key())
			}
			if n >= 2 && ev.Address != 0x1234 {
				t.Errorf("stream %d, event %d: address %#x", i, n, ev.Address)
			}
			if f := runtime.FuncForPC(uintptr(ev.Address) - 1); n < 2 && (f == nil || f.Entry() != here) {
				t.Errorf("stream %d, event %d: address %#x is in %v", i, n, ev.Address, f)
			}
		}
	}
}

// A nil context does no harm.
var noContext context.Context

//go:noinline
func eventIn(ctx context.Context, pc uintptr, id EventID) {
	if pc == 0 {
		EventIn(ctx, id, []byte("data"))
	} else {
		EventAt(ctx, pc, id, []byte("data"))
	}
	runtime.KeepAlive(id) // the call above is not the last one
}

// SpanFromContext finds the innermost span.
func TestSpanFromContext(t *testing.T) {
	if s := SpanFromContext(noContext); s != (Span{}) {
		t.Errorf("nil: %v", s)
	}
	if s := SpanFromContext(t.Context()); s != (Span{}) {
		t.Errorf("no span: %v", s)
	}
	typ, err := OpenSpanType("within.inner")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Create(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	outer, a := typ.Start(t.Context(), nil)
	inner, b := typ.Start(outer, nil)
	derived, cancel := context.WithCancel(inner)
	defer cancel()
	if SpanFromContext(outer) != a || SpanFromContext(inner) != b || SpanFromContext(derived) != b || a == b {
		t.Errorf("%v %v: %v %v %v", a, b, SpanFromContext(outer), SpanFromContext(inner), SpanFromContext(derived))
	}
}

// EventIn and EventAt allocate nothing.
func TestEventInAllocations(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	typ, err := OpenSpanType("within.cost")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Create(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, span := typ.Start(t.Context(), nil)
	defer span.End(nil)
	data := []byte("data")
	if n := testing.AllocsPerRun(1000, func() { EventIn(ctx, EventUnnamed, data); EventAt(ctx, 1, EventUnnamed, data) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
