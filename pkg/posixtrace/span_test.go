package posixtrace

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracee"
)

// Goroutines share and change threads, and spans nest. The key still connects each end with its
// start: in a stream, through flushes in a log, and in a log written from that one, for any
// layout of chunks and in several streams at once.
func TestSpansAcrossGoroutines(t *testing.T) {
	const goroutines, each = 40, 20
	outer, err := OpenSpanType("spans.outer")
	if err != nil {
		t.Fatal(err)
	}
	inner, err := OpenSpanType("spans.inner")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log, err := CreateWithLog(os.Getpid(), &Attr{StreamSize: 512 << 10, MaxDataSize: new(600), LogFullPolicy: PolicyAppend}, f)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Shutdown()
	mem, err := Create(os.Getpid(), &Attr{StreamSize: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Shutdown()
	for _, s := range []*Stream{log, mem} {
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	flushed := make(chan error, 1)
	go func() {
		var err error
		for {
			select {
			case <-stop:
				flushed <- err
				return
			default:
				if e := log.Flush(); e != nil {
					err = e
				}
			}
		}
	}()
	for i := range each {
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() {
				n := binary.LittleEndian.AppendUint32(nil, uint32(g*each+i))
				n = append(n, bytes.Repeat([]byte{'x'}, rand.IntN(500))...)
				ctx, o := outer.Start(context.Background(), n)
				ctx = context.WithValue(ctx, spanTestKey{}, 2) // a context in between does not matter
				runtime.Gosched()
				_, in := inner.Start(ctx, n)
				_, in2 := inner.Start(ctx, n)
				runtime.Gosched()
				done := make(chan struct{})
				go func() { // on another goroutine
					in.End(n)
					close(done)
				}()
				<-done
				in2.End(n)
				o.End(n)
			})
		}
		wg.Wait()
		if err := log.Flush(); err != nil { // or wait for the one in progress
			t.Error(err)
		}
	}
	close(stop)
	if err := <-flushed; err != nil {
		t.Error(err)
	}
	if st := log.mustStatus(t); st.Lost > 0 {
		t.Fatalf("%d events lost", st.Lost)
	}
	want := 3 * goroutines * each
	consumed := func(yield func(*Record) bool) {
		data := make([]byte, 4096)
		for {
			ev, n, err := mem.TryNext(data)
			if err != nil {
				return
			}
			if !yield(&Record{EventInfo: ev, Data: data[:n]}) {
				return
			}
		}
	}
	checkSpans(t, "peeked", outer, read(t, mem.Reader), want)
	checkSpans(t, "consumed", outer, consumed, want)
	checkSpans(t, "live log", outer, read(t, log.Reader), want)
	if err := log.Shutdown(); err != nil {
		t.Fatal(err)
	}
	open := func() (*Reader, error) { return NewReader(f) }
	checkSpans(t, "log", outer, read(t, open), want)
	from, err := open()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := from.WriteLog(&b, nil); err != nil {
		t.Fatal(err)
	}
	checkSpans(t, "written log", outer, read(t, func() (*Reader, error) { return NewReader(&b) }), want)
}

type spanTestKey struct{}

// read returns what a reader reports.
func read(t *testing.T, open func() (*Reader, error)) func(func(*Record) bool) {
	t.Helper()
	r, err := open()
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(*Record) bool) {
		defer r.Close()
		for {
			rec, err := r.Next()
			if err != nil {
				if err != io.EOF {
					t.Error(err)
				}
				return
			}
			if !yield(rec) {
				return
			}
		}
	}
}

// checkSpans checks the number of spans. Each has its data at both ends, and each inner span lies
// within the outer one with the same data.
func checkSpans(t *testing.T, what string, outer SpanType, records func(func(*Record) bool), want int) {
	t.Helper()
	type span struct {
		id     EventID
		number uint32
		ends   int
	}
	spans := map[uint64]*span{}
	for rec := range records {
		if !rec.ID.User() || len(rec.Data) < 4 {
			continue
		}
		n := binary.LittleEndian.Uint32(rec.Data)
		s := spans[rec.Span]
		switch {
		case rec.Span == 0:
			t.Fatalf("%s: an event without a key", what)
		case s == nil:
			spans[rec.Span] = &span{rec.ID, n, 0}
			if rec.ID == outer.begin {
				if rec.Parent != 0 {
					t.Errorf("%s: an outer span has a parent", what)
				}
			} else if p := spans[rec.Parent]; p == nil || p.id != outer.begin || p.number != n || p.ends != 0 {
				t.Fatalf("%s: span %d of %d lies within %+v", what, rec.ID, n, p)
			}
		case s.id+1 != rec.ID || s.number != n:
			t.Fatalf("%s: span %+v was ended by event %d of %d", what, s, rec.ID, n)
		default:
			s.ends++
		}
	}
	for _, s := range spans {
		if s.ends != 1 {
			t.Fatalf("%s: a span has %d ends", what, s.ends)
		}
	}
	if len(spans) != want {
		t.Errorf("%s: %d spans, not %d", what, len(spans), want)
	}
}

func (s *Stream) mustStatus(t *testing.T) Status {
	t.Helper()
	st, err := s.Status()
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// The address of a span's event is where the program starts or ends the span, inlined or not,
// and also on the slow path.
func TestSpanAddress(t *testing.T) {
	typ, err := OpenSpanType("span.address")
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
	spanInlined(typ)
	spanCalled(typ)
	slow := *tracee.Self.Table.Load()
	slow.Fast = false
	old := tracee.Self.Table.Swap(&slow)
	spanInlined(typ)
	spanCalled(typ)
	tracee.Self.Table.Store(old)
	n := 0
	for rec := range read(t, s.Reader) {
		if rec.ID != typ.begin && rec.ID != typ.end {
			continue
		}
		want := reflect.ValueOf(spanInlined).Pointer()
		if n&2 != 0 {
			want = reflect.ValueOf(spanCalled).Pointer()
		}
		// For an inlined call this is the function that contains it.
		if f := runtime.FuncForPC(uintptr(rec.Address) - 1); f == nil || f.Entry() != want {
			t.Errorf("event %d: its address %#x is not in %s", n, rec.Address, runtime.FuncForPC(want).Name())
		}
		if rec.TID == 0 {
			t.Errorf("event %d: no thread", n)
		}
		n++
	}
	if n != 8 {
		t.Errorf("%d events", n)
	}
}

//go:noinline
func spanInlined(typ SpanType) {
	_, s := typ.Start(context.Background(), nil)
	s.End(nil)
}

//go:noinline
func spanCalled(typ SpanType) {
	_, s := startSpan(typ, context.Background(), nil)
	finishSpan(s, nil)
}

// An untraced span has no key, an empty context costs no allocation, and a zero Span or a nil
// context does no harm.
func TestSpanUntraced(t *testing.T) {
	typ, err := OpenSpanType("span.untraced")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	in, s := typ.Start(ctx, nil)
	if in != ctx || s != (Span{}) {
		t.Errorf("a span of a process that is not traced: %v, %v", in, s)
	}
	s.End(nil)
	tr, err := Create(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Shutdown()
	if err := tr.Start(); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		_, s := typ.Start(ctx, nil)
		s.End(nil)
	}); n != 0 && !tracetest.RaceEnabled {
		t.Errorf("%v allocations", n)
	}
	if in, s = (SpanType{}).Start(ctx, nil); in != ctx || s != (Span{}) {
		t.Error("a zero type starts a span")
	}
	s.End(nil)
	var none context.Context // a program that passes it must not fail for being traced
	_, s = typ.Start(none, nil)
	s.End(nil)
	if _, err := OpenSpanType(strings.Repeat("x", 250)); err == nil {
		t.Error("a name that is too long")
	}
}

// A Recorder and a Process record the keys given to them.
func TestRecorderKeepsGivenSpan(t *testing.T) {
	s, err := Create(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := OpenEventID("span.given")
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Recorder()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := OpenProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	want := ""
	for i := range 200 {
		span, parent := uint64(i%3), uint64(i%2)<<63
		if span == 0 {
			parent = 0
		}
		want += fmt.Sprintln(i, span, parent)
		if i%5 == 0 {
			p.SetSpan(span, parent)
			p.Event(id, []byte(fmt.Sprint(i)))
		} else {
			r.Record(EventInfo{ID: id, PID: 1, Span: span, Parent: parent, UnixNano: int64(i) & 2 * r.Now()}, []byte(fmt.Sprint(i)))
		}
	}
	got := ""
	for rec := range read(t, s.Reader) {
		if rec.ID == id {
			got += fmt.Sprintln(string(rec.Data), rec.Span, rec.Parent)
		}
	}
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A span costs at most 2.2 times as much as an event. Each measurement has a process and so a
// heap of its own: the context of a span is allocated. The least times of all measurements count,
// since one in which only the events are disturbed shows a ratio that is too good.
func TestSpanCost(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	tracetest.Need(t, sys.FastSelf(), "a Go release whose thread ids are where they were")
	events, spans := math.MaxInt, math.MaxInt // nanoseconds of 100
	ratio := tracetest.AtMost(t, 2.2, func() float64 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), tracetest.HelperVar+"=span-cost")
		out, err := cmd.CombinedOutput()
		var one, two int
		if _, bad := fmt.Sscan(string(out), &one, &two); err != nil || bad != nil {
			t.Fatalf("%v, %s", err, out)
		}
		events, spans = min(events, one), min(spans, two)
		return float64(spans) / float64(events)
	})
	t.Logf("%.2f events", ratio)
}

func init() { tracetest.Helpers["span-cost"] = spanCost }

// spanCost prints how long 100 events and 100 spans take. Short batches of both alternate: some of many are
// not interrupted, even on a busy machine.
func spanCost([]string) {
	id, err := OpenEventID("cost.event")
	tracetest.Check(err == nil, "%v", err)
	typ, err := OpenSpanType("cost.span")
	tracetest.Check(err == nil, "%v", err)
	s, err := Create(0, &Attr{StreamSize: 1 << 20})
	tracetest.Check(err == nil, "%v", err)
	defer s.Shutdown()
	err = s.Start()
	tracetest.Check(err == nil, "%v", err)
	ctx, data := context.Background(), make([]byte, 16)
	event := func() {
		for range 100 {
			Event(id, data)
		}
	}
	span := func() {
		for range 100 {
			_, s := typ.Start(ctx, data)
			s.End(data)
		}
	}
	best := func(best time.Duration, f func()) time.Duration {
		start := time.Now()
		f()
		return min(best, time.Since(start))
	}
	one, two := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range 2000 {
		one, two = best(one, event), best(two, span)
	}
	fmt.Println(one.Nanoseconds(), two.Nanoseconds())
}
