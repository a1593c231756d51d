// Package failing has tests that fail, each in another way. TestFailures runs them.
package failing

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/posixtest"
)

var _ = flag.Bool("update", false, "rewrite golden files")

func event(t *testing.T, name, data string) {
	id, err := posixtrace.OpenEventID(name)
	if err != nil {
		t.Fatal(err)
	}
	posixtrace.Event(id, []byte(data))
}

func TestWait(t *testing.T) {
	tr := posixtest.Record(t)
	event(t, "server.start", "port 80")
	tr.Wait(time.Millisecond, "server.ready")
	t.Error("Wait returned")
}

func TestWaitCount(t *testing.T) {
	tr := posixtest.Record(t)
	event(t, "a", "1")
	event(t, "a", "2")
	event(t, "a", "3")
	tr.WaitCount(time.Millisecond, 3, "a ?")
	tr.WaitCount(time.Millisecond, 4, "a ?")
	t.Error("WaitCount returned")
}

func TestCount(t *testing.T) {
	tr := posixtest.Record(t)
	event(t, "query", "select 1")
	event(t, "query", "update x")
	tr.Count(2, "query")
	tr.Count(2, "query select*")
}

func TestOrder(t *testing.T) {
	tr := posixtest.Record(t)
	event(t, "open", "")
	event(t, "close", "")
	tr.Order("open", "close")
	tr.Order("close", "open")
	tr.Order("missing")
}

func TestAtMost(t *testing.T) {
	tr := posixtest.Record(t)
	event(t, "retry", "1")
	event(t, "retry", "2")
	tr.AtMost(2, "retry")
	tr.None("fail*")
	tr.AtMost(1, "retry")
	tr.None("retry 2")
}

func TestBefore(t *testing.T) {
	tr := posixtest.Record(t)
	event(t, "lock", "")
	event(t, "write", "")
	event(t, "lock", "")
	tr.Before("lock", "write")
	tr.Before("write", "lock")
	tr.Before("lock", "lock")
	tr.Before("lock", "unlock")
}

func TestGolden(t *testing.T) {
	tr := posixtest.Record(t)
	event(t, "first", "")
	event(t, "second", fmt.Sprintf("%s pid=%d", os.Getenv("FAILING_DATA"), os.Getpid()))
	event(t, "third", "")
	tr.Golden(filepath.Join(os.Getenv("FAILING_DIR"), "new", "x.golden"), regexp.MustCompile(`pid=\d+`))
}

func TestLost(t *testing.T) {
	tr := posixtest.Record(t)
	id, err := posixtrace.OpenEventID("flood")
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 1000)
	for range 10000 {
		posixtrace.Event(id, data)
	}
	tr.Events()
}

func TestLast(t *testing.T) {
	posixtest.Record(t)
	for i := range 60 {
		event(t, "step", fmt.Sprint(i))
	}
	t.Error("for another reason")
}

// Parallel tests: the trace of each span has the events of its test alone.
func TestParallel(t *testing.T) {
	typ, err := posixtrace.OpenSpanType("work")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"good", "bad"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, tr := posixtest.Record(t).Span()
			work(t.Context(), typ, "as other tests do")
			work(ctx, typ, name)
			tr.Count(1, "work.begin")
			tr.Count(1, "work.begin good")
		})
	}
}

func work(ctx context.Context, typ posixtrace.SpanType, name string) {
	_, span := typ.Start(ctx, []byte(name))
	span.End(nil)
}

func TestPassing(t *testing.T) {
	tr := posixtest.Record(t)
	event(t, "not shown", "")
	tr.Count(1, "not?shown")
}
