// Package posixspan has helpers for spans of package posixtrace in programs that pass a
// context.Context: spans by name, and functions that run in a span.
//
//	func serve(ctx context.Context, path string) error {
//		return posixspan.Do(ctx, "request", path, func(ctx context.Context) error {
//			rows, err := query(ctx)
//			...
//			slog.InfoContext(ctx, "served", "rows", rows)
//			return err
//		})
//	}
//
// The spans are those of posixtrace.SpanType: two events NAME.begin and NAME.end with one key. The data
// of NAME.end is "error: " and the text of the error, if there is one: such a span has failed, for
// ptrace-dump and ptrace-diff as well as for the backend to which ptrace-export sends it. A span within another has the key of that one
// as its parent, because its context comes from there.
//
// # Goroutines
//
// A context belongs to no goroutine: a goroutine that gets the context of a span is in this span, and
// a span may end on another goroutine than it started on. A span does not wait for the goroutines in
// it. One that ends after the span around it is still its child:
//
//	posixspan.Do(ctx, "all", "", func(ctx context.Context) error {
//		var wg sync.WaitGroup
//		for _, p := range parts {
//			wg.Go(func() { posixspan.Do(ctx, "part", p.Name, p.Work) })
//		}
//		wg.Wait() // or the span ends before its parts
//		return nil
//	})
//
// # Log lines and events in a span
//
// With package posixslog, slog.InfoContext(ctx, ...) records a line in the span of ctx.
// posixtrace.EventIn(ctx, id, data) does so for a trace point.
//
// # Cost
//
// While no stream traces the process, Start costs a few nanoseconds more than SpanType.Start: it looks
// for the name in a map. A program that counts them, or wants its own addresses in the events, uses
// posixtrace.SpanType; both kinds of calls make the same spans.
package posixspan

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Start starts a span within that of ctx, if there is one, and returns the context for the work in it.
// data is the data of NAME.begin. A program has few names; the rest goes into data. An unfit name, of
// more than 249 bytes, records nothing.
func Start(ctx context.Context, name, data string) (context.Context, posixtrace.Span) {
	return typeOf(name).Start(ctx, []byte(data))
}

// End ends a span. If err is not nil, the span has failed: the data of NAME.end is "error: " and the text of
// err. Otherwise there is none.
func End(s posixtrace.Span, err error) {
	if s.Key() == 0 {
		return
	}
	if err == nil {
		s.End(nil)
		return
	}
	s.End([]byte("error: " + err.Error()))
}

// Do calls f in a span and returns its error, as End records it. If f panics, the span has failed, too, and
// the panic goes on.
func Do(ctx context.Context, name, data string, f func(context.Context) error) (err error) {
	ctx, s := Start(ctx, name, data)
	if s.Key() == 0 {
		return f(ctx)
	}
	returned := false
	defer func() {
		if returned {
			End(s, err)
			return
		}
		// The panic is not recovered, so that its stack stays that of f.
		s.End([]byte("error: panic or runtime.Goexit"))
	}()
	err = f(ctx)
	returned = true
	return err
}

// The span types by name. A published map never changes.
var (
	types  atomic.Pointer[map[string]posixtrace.SpanType]
	adding sync.Mutex
)

func typeOf(name string) posixtrace.SpanType {
	if m := types.Load(); m != nil {
		if t, ok := (*m)[name]; ok {
			return t
		}
	}
	return add(name)
}

// add opens a span type. Names beyond the number that a process can have become the unnamed event, and
// are not kept.
func add(name string) posixtrace.SpanType {
	t, err := posixtrace.OpenSpanType(name)
	if err != nil {
		return posixtrace.SpanType{} // as in posixtrace.MustEventID
	}
	adding.Lock()
	defer adding.Unlock()
	m := map[string]posixtrace.SpanType{}
	if old := types.Load(); old != nil {
		if len(*old) >= posixtrace.UserEventMax {
			return t
		}
		m = maps.Clone(*old)
	}
	m[name] = t
	types.Store(&m)
	return t
}
