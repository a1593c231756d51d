package posixtest_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/posixslog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/posixtest"
)

func init() {
	tracetest.Helpers["child"] = func([]string) {
		posixtrace.Event(posixtrace.MustEventID("child.ready"), []byte("now"))
	}
}

func TestMain(m *testing.M) { tracetest.Main(m) }

// patience is for events that come at once, on a machine that does other work.
const patience = time.Minute

func open(t *testing.T, name string) posixtrace.EventID {
	t.Helper()
	id, err := posixtrace.OpenEventID(name)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Wait returns an event of another goroutine when it comes, and one that came before.
func TestWait(t *testing.T) {
	tr := posixtest.Record(t)
	id := open(t, "wait.ready")
	go posixtrace.Event(id, []byte("port 80"))
	e := tr.Wait(patience, "wait.* port*")
	if e.Name != "wait.ready" || e.Data != "port 80" || e.PID != os.Getpid() {
		t.Errorf("%v", e)
	}
	if again := tr.Wait(0, "wait.ready"); again != e {
		t.Errorf("%v, then %v", e, again)
	}
	go func() {
		for range 9 {
			posixtrace.Event(id, nil)
		}
	}()
	if list := tr.WaitCount(patience, 10, "wait.ready"); len(list) != 10 {
		t.Errorf("%d events", len(list))
	}
}

// Goroutines wait at the same time; each gets its event.
func TestConcurrentReaders(t *testing.T) {
	tr := posixtest.Record(t)
	ids := [8]posixtrace.EventID{}
	for i := range ids {
		ids[i] = open(t, fmt.Sprintf("readers.%d", i))
	}
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() { tr.Wait(patience, fmt.Sprintf("readers.%d", i)) })
		wg.Go(func() { posixtrace.Event(ids[i], nil) })
		wg.Go(func() { tr.Events() })
	}
	wg.Wait()
	tr.Count(len(ids), "readers.?")
}

// A trace has the events of child processes, too.
func TestChild(t *testing.T) {
	tr := posixtest.Record(t, "child.*", "parent")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), tracetest.HelperVar+"=child", tracetest.Quick)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	posixtrace.Event(open(t, "parent"), nil)
	posixtrace.Event(open(t, "neighbour"), nil)
	if e := tr.Wait(patience, "child.ready now"); e.PID != cmd.Process.Pid {
		t.Errorf("process %d, not %d", e.PID, cmd.Process.Pid)
	}
	tr.Order("child.ready", "parent")
	tr.Count(2, "*")
}

// Several tests record the same names at the same time. The trace of a span has the events of its own
// test, of any goroutine, and their log lines.
func TestSpan(t *testing.T) {
	typ, err := posixtrace.OpenSpanType("span.work")
	if err != nil {
		t.Fatal(err)
	}
	l := slog.New(posixslog.New(nil, nil))
	var contexts [4]context.Context
	var traces [len(contexts)]*posixtest.Trace
	all := posixtest.Record(t, "span.work.*", "test.*", "log.*")
	for n := range contexts {
		contexts[n], traces[n] = all.Span()
	}
	var wg sync.WaitGroup
	for n, ctx := range contexts {
		wg.Go(func() {
			inner, span := typ.Start(ctx, fmt.Append(nil, n))
			l.InfoContext(inner, "inside", "n", n)
			var in sync.WaitGroup
			in.Go(func() {
				_, s := typ.Start(inner, []byte("goroutine"))
				s.End(nil)
			})
			in.Wait()
			span.End([]byte("0"))
			l.InfoContext(ctx, "end")
		})
		wg.Go(func() {
			other, span := typ.Start(t.Context(), fmt.Append(nil, n)) // in no span
			l.InfoContext(other, "other")
			span.End(nil)
		})
	}
	wg.Wait()
	for n, tr := range traces {
		tr.Order("test.begin TestSpan", fmt.Sprintf("span.work.begin %d", n), fmt.Sprintf(`log.info *"n":%d*`, n),
			"span.work.begin goroutine", "span.work.end", "span.work.end 0", "log.info *end*")
		tr.Count(7, "*")
	}
	all.Count(2*len(contexts), "span.work.begin ?")
	all.Count(len(contexts), "log.info *other*")
}

// The lines of a golden file have data, and numbers for spans.
func TestGolden(t *testing.T) {
	typ, err := posixtrace.OpenSpanType("golden.work")
	if err != nil {
		t.Fatal(err)
	}
	l := slog.New(posixslog.New(nil, nil))
	tr := posixtest.Record(t)
	ctx, outer := typ.Start(t.Context(), []byte("outer \x00é\n"))
	inner, span := typ.Start(ctx, nil)
	l.WarnContext(inner, "slow")
	posixtrace.Event(open(t, "golden.long"), make([]byte, 1<<16))
	span.End([]byte("0"))
	outer.End(nil)
	tr.Golden("testdata/work.golden")
}

// However goroutines run, the golden files of their spans are the same, where the order between spans
// does not count.
func TestGoldenConcurrent(t *testing.T) {
	typ, err := posixtrace.OpenSpanType("fetch")
	if err != nil {
		t.Fatal(err)
	}
	l := slog.New(posixslog.New(nil, nil))
	first, second := open(t, "fetch.first"), open(t, "fetch.second")
	for range 20 {
		tr := posixtest.Record(t)
		ctx, outer := typ.Start(t.Context(), []byte("all"))
		var wg sync.WaitGroup
		for _, url := range []string{"a", "b", "c"} {
			wg.Go(func() {
				inner, span := typ.Start(ctx, []byte(url))
				posixtrace.EventIn(inner, first, nil)
				runtime.Gosched()
				l.InfoContext(inner, "got", "url", url, "status", 200)
				_, deep := typ.Start(inner, []byte("redirect"))
				deep.End(nil)
				posixtrace.EventIn(inner, second, []byte("two\nlines"))
				span.End([]byte("0"))
			})
		}
		wg.Wait()
		outer.End(nil)
		posixtrace.Event(first, []byte("outside"))
		tr.GoldenSpans("testdata/spans.golden", regexp.MustCompile(`"status":[0-9]+`))
		tr.GoldenUnordered("testdata/unordered.golden")
	}
}
