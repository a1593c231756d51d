package posixspan_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/posixslog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/posixspan"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/posixtest"
)

func TestMain(m *testing.M) { tracetest.Main(m) }

// Spans nest by context, on any goroutine, and are those of the public package. A line of the log is
// in its span. The end has the error.
func TestSpans(t *testing.T) {
	l := slog.New(posixslog.New(nil, nil))
	native, err := posixtrace.OpenSpanType("native")
	if err != nil {
		t.Fatal(err)
	}
	tr := posixtest.Record(t)
	ctx, outer := posixspan.Start(t.Context(), "outer", "1")
	failed := errors.New("no rows")
	done := make(chan error)
	go func() {
		done <- posixspan.Do(ctx, "inner", "2", func(ctx context.Context) error {
			l.WarnContext(ctx, "slow")
			_, s := native.Start(ctx, nil)
			posixspan.End(s, nil)
			return failed
		})
	}()
	if err := <-done; err != failed {
		t.Errorf("Do returns %v", err)
	}
	posixspan.End(outer, nil)
	tr.Golden("testdata/spans.golden")
}

// A panic ends the span and goes on, with the stack of the function.
func TestPanic(t *testing.T) {
	tr := posixtest.Record(t, "panics.*")
	func() {
		defer func() {
			if r := recover(); r != "here" {
				t.Errorf("recovered %v", r)
			}
		}()
		posixspan.Do(t.Context(), "panics", "", func(context.Context) error { panic("here") })
	}()
	tr.Order("panics.begin", "panics.end error: panic*")
	tr.Count(2, "*")
}

// Goroutines that start spans of new and old names at the same time get the right types.
func TestConcurrent(t *testing.T) {
	tr := posixtest.Record(t, "concurrent.*")
	const names, goroutines = 20, 8
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for n := range names {
				posixspan.Do(t.Context(), fmt.Sprintf("concurrent.%d", n), fmt.Sprint(n), func(context.Context) error { return nil })
			}
		})
	}
	wg.Wait()
	for n := range names {
		tr.Count(goroutines, fmt.Sprintf("concurrent.%d.begin %d", n, n))
		tr.Count(goroutines, fmt.Sprintf("concurrent.%d.end", n))
	}
}

// An unfit name and a process that no stream traces: the function runs, and nothing is recorded.
func TestNothingRecorded(t *testing.T) {
	ran := 0
	f := func(ctx context.Context) error { ran++; return ctx.Err() }
	do := func(name string) {
		if err := posixspan.Do(t.Context(), name, "", f); err != nil {
			t.Error(err)
		}
	}
	do("untraced")
	tr := posixtest.Record(t)
	do(strings.Repeat("x", 250))
	posixspan.End(posixtrace.Span{}, nil)
	tr.Count(0, "*")
	if ran != 2 {
		t.Errorf("%d calls", ran)
	}
}

// Without a stream, a span of a known name allocates nothing.
func TestAllocations(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	ctx := context.Background()
	if n := testing.AllocsPerRun(1000, func() {
		_, s := posixspan.Start(ctx, "allocations", "data")
		posixspan.End(s, nil)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
