package conformance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Section GET: reading events.

// nextResult is what a reader call returned.
type nextResult struct {
	ev  posixtrace.EventInfo
	n   int
	err error
}

// nextLater starts a blocking read.
func nextLater(ctx context.Context, s *posixtrace.Stream, data []byte) chan nextResult {
	ch := make(chan nextResult, 1)
	go func() {
		ev, n, err := s.Next(ctx, data)
		ch <- nextResult{ev, n, err}
	}()
	return ch
}

// wantBlocked checks that a blocking read goes on blocking.
func wantBlocked(t *testing.T, ch chan nextResult) {
	t.Helper()
	select {
	case r := <-ch:
		t.Fatalf("a read that should block returns %+v", r)
	case <-time.After(30 * time.Millisecond):
	}
}

func wantDone(t *testing.T, ch chan nextResult) nextResult {
	t.Helper()
	select {
	case r := <-ch:
		return r
	case <-time.After(time.Minute):
		t.Fatal("a read blocks that should not")
		panic("")
	}
}

// logWith records events with that data and opens the log.
func logWith(t *testing.T, attr *posixtrace.Attr, data ...string) *posixtrace.Log {
	t.Helper()
	s, path := newLogged(t, attr)
	startStream(t, s)
	id := eventID(t, "get")
	for _, d := range data {
		posixtrace.Event(id, []byte(d))
	}
	shutdownStream(t, s)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := posixtrace.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

var _ = conform("GET-01/posix_trace_getnext_event", func(t *testing.T) {
	s := newStream(t, nil)
	startStream(t, s)
	posixtrace.Event(eventID(t, "get"), []byte("x"))
	buf := make([]byte, 100)
	for _, want := range []posixtrace.EventID{posixtrace.EventStart, eventID(t, "get")} {
		ev, _, err := s.Next(context.Background(), buf)
		if err != nil || ev.ID != want {
			t.Errorf("Next = %+v, %v, want type %d", ev, err, want)
		}
	}
	l := logWith(t, nil, "y")
	found := false
	for {
		ev, n, err := l.Next(buf)
		if err != nil {
			break
		}
		found = found || ev.ID.User() && string(buf[:n]) == "y"
	}
	if !found {
		t.Error("the log does not report the event")
	}
})

var _ = conform("GET-02/posix_trace_getnext_event", func(t *testing.T) {
	s := newStream(t, nil)
	ch := nextLater(context.Background(), s, nil)
	wantBlocked(t, ch) // never started
	startStream(t, s)
	if r := wantDone(t, ch); r.err != nil || r.ev.ID != posixtrace.EventStart {
		t.Fatalf("Next = %+v", r)
	}
	ch = nextLater(context.Background(), s, nil)
	wantBlocked(t, ch) // running, nothing there
	stopStream(t, s)
	if r := wantDone(t, ch); r.err != nil || r.ev.ID != posixtrace.EventStop {
		t.Fatalf("Next = %+v", r)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ch = nextLater(ctx, s, nil)
	posixtrace.Event(eventID(t, "get"), nil)
	wantBlocked(t, ch) // suspended
	cancel()
	wantDone(t, ch)
})

var _ = conform("GET-03/posix_trace_getnext_event", func(t *testing.T) {
	l := logWith(t, nil, "x")
	for n := 0; ; n++ {
		_, _, err := l.Next(nil)
		if err == io.EOF {
			break
		}
		if err != nil || n > 100 {
			t.Fatal(n, err)
		}
	}
	for range 3 {
		if _, n, err := l.Next(nil); err != io.EOF || n != 0 {
			t.Errorf("at the end Next = %d, %v", n, err)
		}
	}
})

var _ = conform("GET-04", func(t *testing.T) {
	s := newStream(t, nil)
	startStream(t, s)
	id := eventID(t, "get")
	posixtrace.Event(id, []byte("data"))
	buf := []byte("..........")
	if ev, n, err := s.TryNext(buf); err != nil || ev.ID != posixtrace.EventStart || n == 0 {
		t.Fatalf("TryNext = %+v, %d, %v", ev, n, err)
	}
	copy(buf, "..........")
	ev, n, err := s.TryNext(buf)
	if err != nil || ev.ID != id || ev.PID != os.Getpid() || ev.TID == 0 || ev.Address == 0 || n != 4 || string(buf) != "data......" {
		t.Errorf("TryNext = %+v, %d, %v, %q", ev, n, err, buf)
	}
	if ev, n, err = s.TryNext(buf); err != posixtrace.ErrUnavailable || n != 0 || ev != (posixtrace.EventInfo{}) || string(buf) != "data......" {
		t.Errorf("TryNext = %+v, %d, %v, %q", ev, n, err, buf)
	}
})

var _ = conform("GET-05/posix_trace_getnext_event/EINVAL", func(t *testing.T) {
	s, path := newLogged(t, nil)
	startStream(t, s)
	posixtrace.Event(eventID(t, "get"), []byte("x"))
	buf := make([]byte, 100)
	_, _, err := s.TryNext(buf)
	wantErrno(t, err, syscall.EINVAL)
	_, _, err = s.Next(context.Background(), buf)
	wantErrno(t, err, syscall.EINVAL)
	_, _, err = s.TimedNext(time.Now().Add(time.Minute), buf)
	wantErrno(t, err, syscall.EINVAL)
	shutdownStream(t, s)
	if users := userEvents(readFinishedLog(t, path)); len(users) != 1 {
		t.Errorf("the log has %v", users)
	}
})

var _ = conform("GET-06/posix_trace_trygetnext_event", func(t *testing.T) {
	s := newStream(t, nil)
	none := func(when string) {
		t.Helper()
		before := time.Now()
		if _, n, err := s.TryNext(nil); err != posixtrace.ErrUnavailable || n != 0 {
			t.Errorf("%s TryNext = %d, %v", when, n, err)
		}
		if d := time.Since(before); d > time.Minute {
			t.Errorf("%s TryNext took %v", when, d)
		}
	}
	none("never started:")
	startStream(t, s)
	readAll(t, s)
	none("running:")
	stopStream(t, s)
	readAll(t, s)
	none("suspended:")
	// Not even while another thread is blocked in a read.
	ctx, cancel := context.WithCancel(context.Background())
	ch := nextLater(ctx, s, nil)
	for range 20 {
		none("with a blocked reader:")
	}
	cancel()
	wantDone(t, ch)
})

var _ = conform("GET-07/posix_trace_trygetnext_event/EINVAL", func(t *testing.T) {
	wantNoMethod(t, &posixtrace.Log{}, "TryNext")
	s := newStream(t, nil)
	startStream(t, s)
	shutdownStream(t, s)
	_, _, err := s.TryNext(nil)
	wantErrno(t, err, syscall.EINVAL)
})

var _ = conform("GET-08/posix_trace_timedgetnext_event/ETIMEDOUT", func(t *testing.T) {
	s := newStream(t, nil)
	deadline := time.Now().Add(40 * time.Millisecond)
	_, _, err := s.TimedNext(deadline, nil)
	wantErrno(t, err, syscall.ETIMEDOUT)
	if now := time.Now(); now.Before(deadline) {
		t.Errorf("it gave up at %v, before %v", now, deadline)
	} else if now.Sub(deadline) > time.Minute {
		t.Errorf("it gave up %v late", now.Sub(deadline))
	}
	// The time is absolute, however it was computed.
	deadline = time.Unix(0, time.Now().Add(40*time.Millisecond).UnixNano()).UTC()
	_, _, err = s.TimedNext(deadline, nil)
	wantErrno(t, err, syscall.ETIMEDOUT)
	if time.Now().Before(deadline) {
		t.Error("it gave up too early")
	}
	// An event that comes in time is reported.
	ch := make(chan nextResult, 1)
	go func() {
		ev, n, err := s.TimedNext(time.Now().Add(time.Minute), nil)
		ch <- nextResult{ev, n, err}
	}()
	wantBlocked(t, ch)
	startStream(t, s)
	if r := wantDone(t, ch); r.err != nil || r.ev.ID != posixtrace.EventStart {
		t.Errorf("TimedNext = %+v", r)
	}
})

var _ = conform("GET-09/posix_trace_timedgetnext_event", func(t *testing.T) {
	s := newStream(t, nil)
	startStream(t, s)
	id := eventID(t, "get")
	for range 2 {
		posixtrace.Event(id, nil)
	}
	for _, deadline := range []time.Time{time.Now().Add(-time.Hour), {}, time.Unix(-1, 0)} {
		if _, _, err := s.TimedNext(deadline, nil); err != nil {
			t.Errorf("TimedNext(%v) = %v", deadline, err)
		}
	}
})

var _ = conform("GET-10/posix_trace_timedgetnext_event/ETIMEDOUT", func(t *testing.T) {
	// A time.Time is always valid: there is no EINVAL.
	s := newStream(t, nil)
	for _, deadline := range []time.Time{time.Now(), time.Now().Add(-time.Hour), {}, time.Unix(-1, 0)} {
		before := time.Now()
		_, _, err := s.TimedNext(deadline, nil)
		wantErrno(t, err, syscall.ETIMEDOUT)
		if d := time.Since(before); d > time.Minute {
			t.Errorf("TimedNext(%v) took %v", deadline, d)
		}
	}
})

var _ = conform("GET-11/posix_trace_timedgetnext_event", func(t *testing.T) {
	var step atomic.Int64
	sys.WallClock = func() time.Time { return time.Now().Add(time.Duration(step.Load())) }
	defer func() { sys.WallClock = time.Now }()
	s := newStream(t, nil)
	timed := func(deadline time.Time) chan nextResult {
		ch := make(chan nextResult, 1)
		go func() {
			ev, n, err := s.TimedNext(deadline, nil)
			ch <- nextResult{ev, n, err}
		}()
		return ch
	}
	// The clock is set forward past the deadline.
	ch := timed(time.Now().Add(time.Hour))
	wantBlocked(t, ch)
	step.Store(int64(2 * time.Hour))
	wantErrno(t, wantDone(t, ch).err, syscall.ETIMEDOUT)
	// The clock is set back: the call waits for the clock, although the time has passed.
	step.Store(0)
	ch = timed(time.Now().Add(10 * time.Millisecond))
	step.Store(-int64(time.Hour))
	wantBlocked(t, ch)
	step.Store(0)
	wantErrno(t, wantDone(t, ch).err, syscall.ETIMEDOUT)
	// The deadline is reached when the clock equals it.
	at := time.Now().Add(time.Hour).Round(0)
	var frozen atomic.Bool
	sys.WallClock = func() time.Time {
		if frozen.Load() {
			return at
		}
		return at.Add(-1)
	}
	ch = timed(at)
	wantBlocked(t, ch)
	frozen.Store(true)
	wantErrno(t, wantDone(t, ch).err, syscall.ETIMEDOUT)
})

var _ = conform("GET-12/posix_trace_timedgetnext_event/EINVAL", func(t *testing.T) {
	wantNoMethod(t, &posixtrace.Log{}, "TimedNext")
	s := newStream(t, nil)
	shutdownStream(t, s)
	_, _, err := s.TimedNext(time.Now().Add(time.Minute), nil)
	wantErrno(t, err, syscall.EINVAL)
})

func init() {
	// get-timed: a reader of the stream of that name, with a wall clock of
	// its own. at SECONDS sets the clock, timed SECONDS starts a read with that deadline, next
	// one without; blocked and result print its result.
	tracetest.Helpers["get-timed"] = func(args []string) {
		var now atomic.Int64
		sys.WallClock = func() time.Time { return time.Unix(0, now.Load()) }
		s, err := posixtrace.Attach(args[0])
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("ready")
		var ch chan nextResult
		report := func(patience time.Duration) {
			select {
			case r := <-ch:
				var e *posixtrace.Error
				if errors.As(r.err, &e) {
					fmt.Println(e.Op, e.Err.Error())
				} else {
					fmt.Println(readEvent{r.ev, ""}, r.err)
				}
			case <-time.After(patience):
				fmt.Println("blocked")
			}
		}
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			verb, arg, _ := strings.Cut(in.Text(), " ")
			sec, _ := strconv.ParseFloat(arg, 64)
			switch verb {
			case "at":
				now.Store(int64(sec * 1e9))
			case "timed":
				ch = make(chan nextResult, 1)
				go func() {
					ev, n, err := s.TimedNext(time.Unix(0, int64(sec*1e9)), nil)
					ch <- nextResult{ev, n, err}
				}()
			case "next":
				ch = nextLater(context.Background(), s, nil)
			case "blocked":
				report(60 * time.Millisecond)
			case "result":
				report(time.Minute)
			}
		}
	}
}

// startReader starts a get-timed, directly or through another command.
func startReader(t *testing.T, name string, by ...string) *tracetest.Child {
	t.Helper()
	args := append(by, os.Args[0], name)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), tracetest.HelperVar+"=get-timed", tracetest.Quick)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	c := &tracetest.Child{T: t, Cmd: cmd, In: in.(*os.File), Out: bufio.NewReader(out), PID: cmd.Process.Pid}
	if l := c.Line(); l != "ready" {
		t.Fatal(l)
	}
	return c
}

// timedByClock plays what a wall clock can do to reads of another process that wait.
func timedByClock(t *testing.T, by ...string) {
	s := newStream(t, &posixtrace.Attr{Name: "get11"})
	c := startReader(t, "get11", by...)
	say := func(line string) { fmt.Fprintln(c.In, line) }
	want := func(verb, want string) {
		t.Helper()
		say(verb)
		if l := c.Line(); l != want {
			t.Fatalf("the reader says %q, want %q", l, want)
		}
	}
	const late = "posix_trace_timedgetnext_event connection timed out"
	// Forward: a deadline a day ahead passes immediately.
	say("at 1000")
	say("timed 87400")
	want("blocked", "blocked")
	say("at 87399.999999")
	want("blocked", "blocked")
	say("at 87400") // reached, not passed
	want("result", late)
	// Backward: the deadline is 10 ms ahead, then an hour and 10 ms; time on other clocks does not
	// count.
	say("timed 87400.01")
	want("blocked", "blocked")
	say("at 83800")
	want("blocked", "blocked")
	say("at 87400.02")
	want("result", late)
	// Back and forth.
	say("timed 90000")
	for _, at := range []string{"89999", "0", "-1e9", "89999.9", "1"} {
		say("at " + at)
		want("blocked", "blocked")
	}
	// An event is reported at any clock time, also after the deadline.
	startStream(t, s)
	want("result", "START <nil>")
	stopStream(t, s)
	say("at 90000")
	say("timed 80000")
	want("result", "STOP0 <nil>")
	// Readers are unblocked by a shutdown of another process.
	say("timed 99999")
	want("blocked", "blocked")
	shutdownStream(t, s)
	want("result", "posix_trace_timedgetnext_event invalid argument")
}

var _ = conform("GET-11/posix_trace_timedgetnext_event/another process", func(t *testing.T) { timedByClock(t) })

// The time since boot and the monotonic clock do not matter. A time namespace also shifts the
// start times that identify processes; no live process passes for dead by it.
var _ = conform("GET-11/posix_trace_timedgetnext_event/time namespace", func(t *testing.T) {
	tracetest.NeedRoot(t)
	timedByClock(t, "unshare", "--time", "--monotonic", "86400", "--boottime", "100000", "--fork", "--kill-child", "--")
	timedByClock(t, "unshare", "--time", "--monotonic", "-1", "--boottime", "-1", "--fork", "--kill-child", "--")
})

// truncationCases reads an event of 10 bytes, of which max-data-size keeps max, with
// buffers of all sizes, from an active stream and from a log.
func truncationCases(t *testing.T, max int, check func(t *testing.T, num, n int, data string, tr posixtrace.Truncation)) {
	t.Helper()
	const data = "0123456789"
	id := eventID(t, "get")
	s := newStream(t, &posixtrace.Attr{MaxDataSize: new(max)})
	l := logWith(t, &posixtrace.Attr{MaxDataSize: new(max)}, data)
	startStream(t, s)
	readAll(t, s)
	var spare [32]byte
	for num := range len(spare) {
		for i := range spare {
			spare[i] = '.'
		}
		posixtrace.Event(id, []byte(data))
		ev, n, err := s.TryNext(spare[:num])
		if err != nil || ev.ID != id || n > num || strings.Trim(string(spare[n:]), ".") != "" {
			t.Fatalf("TryNext = %+v, %d, %v, %q", ev, n, err, spare)
		}
		check(t, num, n, string(spare[:n]), ev.Truncation)
		if err := l.Rewind(); err != nil {
			t.Fatal(err)
		}
		for ev.ID = 0; ev.ID != id; {
			for i := range spare {
				spare[i] = '.'
			}
			if ev, n, err = l.Next(spare[:num]); err != nil {
				t.Fatal(err)
			}
		}
		if n > num || strings.Trim(string(spare[n:]), ".") != "" {
			t.Fatalf("Next = %+v, %d, %q", ev, n, spare)
		}
		check(t, num, n, string(spare[:n]), ev.Truncation)
	}
}

var _ = conform("GET-13", func(t *testing.T) {
	for max, want := range map[int]posixtrace.Truncation{10: posixtrace.TruncationNone, 1024: posixtrace.TruncationNone, 6: posixtrace.TruncationRecord} {
		size := min(max, 10)
		truncationCases(t, max, func(t *testing.T, num, n int, data string, tr posixtrace.Truncation) {
			if num >= size && (n != size || data != "0123456789"[:size] || tr != want) {
				t.Errorf("%d bytes of %d, room for %d: %d, %q, %v", size, max, num, n, data, tr)
			}
		})
	}
})

var _ = conform("GET-14", func(t *testing.T) {
	for _, max := range []int{1024, 6} {
		size := min(max, 10)
		truncationCases(t, max, func(t *testing.T, num, n int, data string, tr posixtrace.Truncation) {
			if num < size && (n != num || data != "0123456789"[:num] || tr != posixtrace.TruncationRead) {
				t.Errorf("%d bytes of %d, room for %d: %d, %q, %v", size, max, num, n, data, tr)
			}
		})
	}
})

var _ = conform("GET-15", func(t *testing.T) {
	s := newStream(t, nil)
	startStream(t, s)
	readAll(t, s)
	id := eventID(t, "get")
	for data, want := range map[string]posixtrace.Truncation{"": posixtrace.TruncationNone, "x": posixtrace.TruncationRead} {
		readAll(t, s)
		for range 2 {
			posixtrace.Event(id, []byte(data))
		}
		for _, buf := range [][]byte{nil, {}} {
			if ev, n, err := s.TryNext(buf); err != nil || n != 0 || ev.Truncation != want {
				t.Errorf("%q: TryNext = %+v, %d, %v", data, ev, n, err)
			}
		}
		l := logWith(t, nil, data)
		for {
			ev, n, err := l.Next(nil)
			if err != nil {
				t.Fatal(err)
			}
			if ev.ID == id {
				if n != 0 || ev.Truncation != want {
					t.Errorf("%q: Next = %+v, %d", data, ev, n)
				}
				break
			}
		}
	}
})

var _ = conform("GET-16", func(t *testing.T) {
	s := newStream(t, nil)
	startStream(t, s)
	readAll(t, s)
	id := eventID(t, "get")
	for _, d := range []string{"first", "second"} {
		posixtrace.Event(id, []byte(d))
	}
	buf := make([]byte, 2)
	for _, want := range []string{"fi", "se"} {
		if ev, n, err := s.TryNext(buf); err != nil || string(buf[:n]) != want || ev.Truncation != posixtrace.TruncationRead {
			t.Errorf("TryNext = %+v, %q, %v, want %q", ev, buf[:n], err, want)
		}
	}
	if _, _, err := s.TryNext(buf); err != posixtrace.ErrUnavailable {
		t.Errorf("then TryNext = %v", err)
	}
	wantEqual(t, "number of lost events", statusOf(t, s).Lost, uint64(0))
})

var _ = conform("GET-17", func(t *testing.T) {
	// However long a writer is stopped in the middle of an event, no event is late.
	t.Cleanup(stream.SetPatience(time.Minute))
	a := &posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, StreamSize: 4 << 20, LogFullPolicy: posixtrace.PolicyAppend}
	s := newStream(t, a)
	l, path := newLogged(t, a)
	startStream(t, s)
	startStream(t, l)
	m := memoryOf(t, s)
	const writers, each = 4, 5000
	var ids [writers]posixtrace.EventID
	for i := range writers {
		ids[i] = eventID(t, fmt.Sprint("get.", i))
	}
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			for i := range each {
				posixtrace.Event(id, []byte(strconv.Itoa(i)))
			}
		})
	}
	var all []readEvent
	end := time.Now().Add(time.Minute)
	for len(userEvents(all)) < writers*each {
		all = append(all, readAll(t, s)...)
		if st := statusOf(t, s); st.Lost > 0 || time.Now().After(end) {
			t.Fatalf("%d events were read, status is %+v", len(all), st)
		}
	}
	wg.Wait()
	shutdownStream(t, l)
	logged := readFinishedLog(t, path)
	wantOrdered(t, logged)
	wantEqual(t, "number of events in the log", len(userEvents(logged)), writers*each)
	for _, list := range [][]readEvent{all, logged} {
		for _, id := range ids {
			if first, last := wantConsecutive(t, eventsOf(list, id)); first != 0 || last != each-1 {
				t.Errorf("events %d to %d", first, last)
			}
		}
	}
	wantEqual(t, "number of late events", m.Late(), uint64(0))
})

// An event delayed for longer than a reader waits is reported late, with its
// own time, and counted, once; a finished log has it where it belongs.
var _ = conform("GET-17/late", func(t *testing.T) {
	s := newStream(t, &posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, Name: "get17"})
	l, path := newLogged(t, &posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyAppend})
	id := eventID(t, "get.late")
	startStream(t, s)
	startStream(t, l)
	m := memoryOf(t, s)
	// Each event by its own writer: the times of one writer never fall.
	put := func(at int64, data string) {
		t.Helper()
		for _, s := range []*posixtrace.Stream{s, l} {
			r, err := s.Recorder()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { r.Close() })
			if !r.Record(posixtrace.EventInfo{ID: id, UnixNano: at}, []byte(data)) {
				t.Fatal("it was not recorded")
			}
		}
	}
	own := func(e readEvent, at int64) {
		t.Helper()
		if d := e.UnixNano - at; d < -1000 || d > 1000 {
			t.Errorf("%v is reported %d ns off", e, d)
		}
	}
	begin := clockPast()
	put(0, "1")
	wantEvents(t, readAll(t, s), "START", "1")
	clockPast()
	between := clockPast()
	clockPast()
	put(0, "2")
	wantEvents(t, readAll(t, s), "2")
	wantEqual(t, "number of late events", m.Late(), uint64(0))
	// A reader has passed this time.
	put(between, "late")
	put(0, "3")
	// A Reader counts nothing, and finds the remaining events in order.
	wantEvents(t, peekAll(t, s), "late", "3")
	wantEqual(t, "number of late events after a look", m.Late(), uint64(0))
	have := readAll(t, s)
	wantEvents(t, have, "late", "3")
	own(have[0], between)
	wantEqual(t, "number of late events", m.Late(), uint64(1))
	// Two at once, the older one second. All consumers share the count.
	put(between+100_000, "late again")
	put(begin, "later still")
	other, err := posixtrace.Attach("get17")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	have = readAll(t, other)
	wantEvents(t, have, "later still", "late again")
	own(have[0], begin)
	own(have[1], between+100_000)
	wantEqual(t, "number of late events", m.Late(), uint64(3))
	// None is lost, and none delays the next event.
	put(0, "4")
	wantEvents(t, readAll(t, s), "4")
	wantEqual(t, "number of late events", m.Late(), uint64(3))
	wantEqual(t, "number of lost events", statusOf(t, s).Lost, uint64(0))
	shutdownStream(t, l)
	logged := readFinishedLog(t, path)
	wantOrdered(t, logged)
	wantEvents(t, userEvents(logged), "later still", "1", "late", "late again", "2", "3", "4")
})

var _ = conform("GET-18", func(t *testing.T) {
	s := newStream(t, &posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, StreamSize: 64 << 10, Name: "get18"})
	other, err := posixtrace.Attach("get18") // as another process would have it
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	startStream(t, s)
	id := eventID(t, "get")
	const n = 20000 // many times what it holds
	var seen [n]atomic.Int32
	var total atomic.Int64
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 4 {
		s := s
		if i%2 == 1 {
			s = other
		}
		wg.Go(func() {
			buf := make([]byte, 100)
			for total.Load() < n && ctx.Err() == nil {
				ev, size, err := s.TryNext(buf)
				if err == posixtrace.ErrUnavailable {
					time.Sleep(50 * time.Microsecond)
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if ev.ID == id {
					k, err := strconv.Atoi(string(buf[:size]))
					if err != nil || seen[k].Add(1) != 1 {
						t.Errorf("%q is reported twice", buf[:size])
					}
					total.Add(1)
				}
			}
		})
	}
	for i := range n {
		for i-int(total.Load()) > 500 && ctx.Err() == nil {
			time.Sleep(50 * time.Microsecond)
		}
		posixtrace.Event(id, []byte(strconv.Itoa(i)))
	}
	wg.Wait()
	wantEqual(t, "number of events", total.Load(), int64(n))
	wantEqual(t, "number of lost events", statusOf(t, s).Lost, uint64(0))
})

var _ = conform("GET-19/posix_trace_getnext_event/EINTR", func(t *testing.T) {
	s := newStream(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	ch := nextLater(ctx, s, nil)
	wantBlocked(t, ch)
	cancel()
	wantErrno(t, wantDone(t, ch).err, syscall.EINTR)
	startStream(t, s)
	wantEvents(t, readAll(t, s), "START")
	// A ready event is reported all the same; no race loses one.
	id := eventID(t, "get")
	for i := range 100 {
		ctx, cancel := context.WithCancel(context.Background())
		buf := make([]byte, 10)
		ch := nextLater(ctx, s, buf)
		go cancel()
		posixtrace.Event(id, []byte(strconv.Itoa(i)))
		r := wantDone(t, ch)
		if r.err == nil {
			wantEqual(t, "event", string(buf[:r.n]), strconv.Itoa(i))
			wantEvents(t, readAll(t, s))
		} else {
			wantErrno(t, r.err, syscall.EINTR)
			wantEvents(t, readAll(t, s), strconv.Itoa(i))
		}
	}
})

var _ = conform("GET-20/posix_trace_getnext_event/EINVAL", func(t *testing.T) {
	s := newStream(t, nil)
	var blocked []chan nextResult
	for range 3 {
		blocked = append(blocked, nextLater(context.Background(), s, nil))
	}
	timed := make(chan nextResult, 1)
	go func() {
		ev, n, err := s.TimedNext(time.Now().Add(time.Hour), nil)
		timed <- nextResult{ev, n, err}
	}()
	blocked = append(blocked, timed)
	for _, ch := range blocked {
		wantBlocked(t, ch)
	}
	shutdownStream(t, s)
	for _, ch := range blocked {
		wantErrno(t, wantDone(t, ch).err, syscall.EINVAL)
	}
	_, _, err := s.Next(context.Background(), nil)
	wantErrno(t, err, syscall.EINVAL)
	_, _, err = s.TryNext(nil)
	wantErrno(t, err, syscall.EINVAL)
	_, _, err = s.TimedNext(time.Now().Add(time.Hour), nil)
	wantErrno(t, err, syscall.EINVAL)
	l := logWith(t, nil)
	l.Close()
	_, _, err = l.Next(nil)
	wantErrno(t, err, syscall.EINVAL)
})

// The same from another process: by a shutdown of the stream, and by its owner's death,
// which the reader notices itself if no other process does.
var _ = conform("GET-20/posix_trace_getnext_event/EINVAL/another process", func(t *testing.T) {
	for how, end := range controllerEnds {
		t.Run(how, func(t *testing.T) {
			owner := newActor(t)
			owner.do("create get20 0 close")
			a, b := startReader(t, "get20"), startReader(t, "get20")
			says := func(c *tracetest.Child, verb, want string) {
				t.Helper()
				fmt.Fprintln(c.In, verb)
				if l := c.Line(); l != want {
					t.Fatalf("the reader says %q, want %q", l, want)
				}
			}
			fmt.Fprintln(a.In, "next")
			says(a, "result", "START <nil>")
			fmt.Fprintln(a.In, "next")
			fmt.Fprintln(b.In, "timed 1000000")
			says(a, "blocked", "blocked")
			says(b, "blocked", "blocked")
			end(owner)
			ended := func(c *tracetest.Child, read, want string) {
				t.Helper()
				l := c.Ask("result")
				if l == "STOP0 <nil>" { // the last event of the stream, which one of the two may get
					fmt.Fprintln(c.In, read)
					l = c.Ask("result")
				}
				if l != want {
					t.Fatalf("the reader says %q, want %q", l, want)
				}
			}
			ended(a, "next", "posix_trace_getnext_event invalid argument")
			ended(b, "timed 1000000", "posix_trace_timedgetnext_event invalid argument")
		})
	}
})

var _ = conform("GET-21", func(t *testing.T) {
	s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
	wake := func(want posixtrace.EventID, f func()) {
		t.Helper()
		ch := nextLater(context.Background(), s, nil)
		wantBlocked(t, ch)
		f()
		if r := wantDone(t, ch); r.err != nil || r.ev.ID != want {
			t.Fatalf("Next = %+v, want type %d", r, want)
		}
	}
	id := eventID(t, "get")
	wake(posixtrace.EventStart, func() { startStream(t, s) })
	wake(id, func() { posixtrace.Event(id, nil) })
	wake(posixtrace.EventFilter, func() { s.SetFilter(posixtrace.EventSet{}, posixtrace.FilterSet) })
	wake(posixtrace.EventStop, func() { stopStream(t, s) })
	wake(posixtrace.EventStart, func() { startStream(t, s) })
	// The automatic STOP, OVERFLOW and START come without a call.
	w := newNumberWriter(t, s)
	n := w.fill(t)
	for range n {
		if r := wantDone(t, nextLater(context.Background(), s, nil)); r.err != nil || !r.ev.ID.User() {
			t.Fatalf("Next = %+v", r)
		}
	}
	for _, want := range []posixtrace.EventID{posixtrace.EventStop, posixtrace.EventOverflow, posixtrace.EventStart} {
		if r := wantDone(t, nextLater(context.Background(), s, nil)); r.err != nil || r.ev.ID != want {
			t.Fatalf("Next = %+v, want type %d", r, want)
		}
	}
	wake(posixtrace.EventResume, func() { w.put() })
})

var _ = conform("GET-22", func(t *testing.T) {
	s := running(t, 0, posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	a, b := tracetest.Start(t, "target"), tracetest.Start(t, "target")
	a.Line()
	b.Line()
	id := eventID(t, "get")
	want := []got{}
	for i := range 3 {
		n := strconv.Itoa(i)
		a.Say("get " + n + "a")
		posixtrace.Event(id, []byte(n+"o"))
		b.Say("get " + n + "b")
		want = append(want, got{"get", n + "a", a.PID}, got{"get", n + "o", os.Getpid()}, got{"get", n + "b", b.PID})
	}
	equal(t, drain(t, s), want...)
})

var _ = conform("GET-23", func(t *testing.T) {
	s := newStream(t, nil)
	startStream(t, s)
	readAll(t, s)
	ch := nextLater(context.Background(), s, nil)
	wantBlocked(t, ch)
	if err := s.Clear(); err != nil {
		t.Fatal(err)
	}
	wantBlocked(t, ch)
	id := eventID(t, "get")
	posixtrace.Event(id, nil)
	if r := wantDone(t, ch); r.err != nil || r.ev.ID != id {
		t.Errorf("Next = %+v", r)
	}
})

var _ = conform("GET-24", func(t *testing.T) {
	nothing := func(what string, ev posixtrace.EventInfo, n int, err error, buf []byte) {
		t.Helper()
		if err == nil || n != 0 || ev != (posixtrace.EventInfo{}) || strings.Trim(string(buf), ".") != "" {
			t.Errorf("%s = %+v, %d, %v, %q", what, ev, n, err, buf)
		}
	}
	buf := []byte("..........")
	s := newStream(t, nil)
	ev, n, err := s.TryNext(buf)
	nothing("TryNext", ev, n, err, buf)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	ev, n, err = s.Next(ctx, buf)
	nothing("Next", ev, n, err, buf)
	ev, n, err = s.TimedNext(time.Now(), buf)
	nothing("TimedNext", ev, n, err, buf)
	startStream(t, s)
	shutdownStream(t, s)
	ev, n, err = s.TryNext(buf)
	nothing("TryNext", ev, n, err, buf)
	g, _ := newLogged(t, nil)
	startStream(t, g)
	ev, n, err = g.TryNext(buf)
	nothing("TryNext", ev, n, err, buf)
	l := logWith(t, nil)
	for err = nil; err == nil; {
		_, _, err = l.Next(nil)
	}
	ev, n, err = l.Next(buf)
	nothing("Next", ev, n, err, buf)
	l.Close()
	ev, n, err = l.Next(buf)
	nothing("Next", ev, n, err, buf)
})
