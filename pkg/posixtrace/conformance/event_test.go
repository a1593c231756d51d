package conformance

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
	"golang.org/x/sys/unix"
)

func init() {
	// writer: passes a trace point, whose data is a counter, as fast as it can,
	// until it is killed. It prints its id first.
	tracetest.Helpers["writer"] = func(args []string) {
		id, err := posixtrace.OpenEventID("evt.writer")
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println(id)
		var data [16]byte
		for n := uint64(0); ; n++ {
			posixtrace.Event(id, strconv.AppendUint(data[:0], n, 10))
		}
	}
	// threads: two threads pass a trace point each, on the line "go".
	tracetest.Helpers["threads"] = func(args []string) {
		in := bufio.NewReader(os.Stdin)
		in.ReadString('\n')
		var wg sync.WaitGroup
		var both sync.WaitGroup
		both.Add(2)
		for range 2 {
			wg.Go(func() {
				runtime.LockOSThread()
				both.Done()
				both.Wait()
				posixtrace.Event(posixtrace.EventUnnamed, []byte(strconv.Itoa(unix.Gettid())))
			})
		}
		wg.Wait()
		fmt.Println("done")
		in.ReadString('\n')
	}
}

// nextUserEvent reads the next user event.
func nextUserEvent(t *testing.T, s *posixtrace.Stream, buf []byte) (posixtrace.EventInfo, []byte) {
	t.Helper()
	for {
		ev, n, err := s.TryNext(buf)
		if err != nil {
			t.Fatal(err)
		}
		if ev.ID.User() {
			return ev, buf[:n]
		}
	}
}

// allUserEvents reads everything.
func allUserEvents(t *testing.T, s *posixtrace.Stream) (list []posixtrace.EventInfo) {
	t.Helper()
	for {
		ev, _, err := s.TryNext(nil)
		if err == posixtrace.ErrUnavailable {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, ev)
	}
}

// lineOf is the line of this file that an address belongs to, as in "event:12".
// For an inlined Event the runtime knows only the line in event.go, returned as "inlined".
func lineOf(addr uint64) string {
	f, _ := runtime.CallersFrames([]uintptr{uintptr(addr)}).Next()
	if filepath.Base(f.File) == "event.go" && f.Entry != reflect.ValueOf(posixtrace.Event).Pointer() {
		return "inlined"
	}
	return fmt.Sprintf("%s:%d", strings.TrimSuffix(filepath.Base(f.File), "_test.go"), f.Line)
}

// lineHere is the line that it is called from.
func lineHere() int {
	_, _, line, _ := runtime.Caller(1)
	return line
}

var _ = conform("EVT-01/posix_trace_event", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	id := openIn(c, "evt.one")
	a, b := running(t, c.PID, posixtrace.Attr{}), running(t, c.PID, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull})
	excludes, suspended := running(t, c.PID, posixtrace.Attr{}), newStreamOf(t, c.PID, posixtrace.Attr{})
	logged, path := newLoggedOf(t, c.PID, posixtrace.Attr{})
	logged.Start()
	var set posixtrace.EventSet
	set.Add(id)
	excludes.SetFilter(set, posixtrace.FilterSet)
	other := running(t, 0, posixtrace.Attr{}) // of another process
	c.Ask("event %d x", id)
	c.Ask("event %d y", posixtrace.EventUnnamed)
	x, y := got{"evt.one", "x", c.PID}, got{"posix_trace_unnamed_userevent", "y", c.PID}
	equal(t, drain(t, a), x, y)
	equal(t, drain(t, b), x, y)
	equal(t, drain(t, excludes), y)
	equal(t, drain(t, suspended))
	equal(t, drain(t, other))
	logged.Shutdown()
	if data := userData(t, openLogAt(t, path)); fmt.Sprint(data) != "[x y]" {
		t.Errorf("the log holds %q", data)
	}
})

var _ = conform("EVT-02/posix_trace_event", func(t *testing.T) {
	id := eventID(t, "evt.two")
	posixtrace.Event(id, []byte("no stream"))
	s := newStreamOf(t, 0, posixtrace.Attr{})
	posixtrace.Event(id, []byte("not started"))
	s.Start()
	posixtrace.Event(id, []byte("running"))
	s.Stop()
	posixtrace.Event(id, []byte("stopped"))
	var set posixtrace.EventSet
	set.Add(id)
	s.SetFilter(set, posixtrace.FilterSet)
	s.Start()
	posixtrace.Event(id, []byte("excluded"))
	s.SetFilter(set, posixtrace.FilterSub)
	posixtrace.Event(id, []byte("again"))
	equal(t, drain(t, s), got{"evt.two", "running", os.Getpid()}, got{"evt.two", "again", os.Getpid()})
	if st, err := s.Status(); st.Lost != 0 || st.StreamOverrunStatus != posixtrace.StatusNoOverrun || err != nil {
		t.Errorf("what had no effect counts as lost: %+v, %v", st, err)
	}
	s.Shutdown()
	posixtrace.Event(id, []byte("gone"))
})

var _ = conform("EVT-03/posix_trace_event", func(t *testing.T) {
	const most = 64
	s := running(t, 0, posixtrace.Attr{MaxDataSize: new(most)})
	data := []byte(strings.Repeat("0123456789", 10))
	for n := range most + 1 {
		posixtrace.Event(posixtrace.EventUnnamed, data[:n])
	}
	buf := make([]byte, 100)
	for n := range most + 1 {
		ev, have := nextUserEvent(t, s, buf)
		if !bytes.Equal(have, data[:n]) || ev.Truncation != posixtrace.TruncationNone {
			t.Errorf("%d bytes became %q, %v", n, have, ev.Truncation)
		}
	}
})

var _ = conform("EVT-04/posix_trace_event", func(t *testing.T) {
	data := []byte(strings.Repeat("0123456789", 10))
	streams := map[int]*posixtrace.Stream{}
	for _, most := range []int{1, 7, 8, 9, 50, 99, 100} {
		streams[most] = running(t, 0, posixtrace.Attr{MaxDataSize: new(most)})
	}
	streams[0] = running(t, 0, posixtrace.Attr{MaxDataSize: new(0)})
	posixtrace.Event(posixtrace.EventUnnamed, data)
	for most, s := range streams {
		ev, have := nextUserEvent(t, s, make([]byte, 200))
		want := posixtrace.TruncationRecord
		if most == len(data) {
			want = posixtrace.TruncationNone
		}
		if !bytes.Equal(have, data[:most]) || ev.Truncation != want {
			t.Errorf("max-data-size %d: %q, %v", most, have, ev.Truncation)
		}
	}
})

var _ = conform("EVT-05/posix_trace_event", func(t *testing.T) {
	s := running(t, 0, posixtrace.Attr{})
	posixtrace.Event(posixtrace.EventUnnamed, nil)
	posixtrace.Event(posixtrace.EventUnnamed, []byte{})
	for range 2 {
		if ev, data := nextUserEvent(t, s, make([]byte, 8)); len(data) != 0 || ev.Truncation != posixtrace.TruncationNone {
			t.Errorf("%q, %v", data, ev.Truncation)
		}
	}
})

// A trace point cannot forge system events or events of types that are not registered.
var _ = conform("EVT-06/posix_trace_event", func(t *testing.T) {
	s := running(t, 0, posixtrace.Attr{})
	logged, path := newLoggedOf(t, 0, posixtrace.Attr{})
	logged.Start()
	name := fmt.Sprintf("evt.six.%d", time.Now().UnixNano())
	mine, last := eventID(t, name), posixtrace.EventID(0)
	for id := range eventTypesOf(t, s) {
		if id.User() {
			last = max(last, id)
		}
	}
	ids := []posixtrace.EventID{0, posixtrace.EventError, posixtrace.EventStart, posixtrace.EventStop, posixtrace.EventFilter, posixtrace.EventOverflow, posixtrace.EventResume, posixtrace.EventFlushStart, posixtrace.EventFlushStop,
		9, 15, posixtrace.EventProcExec, posixtrace.EventOutputStdout, 31, last + 1, last + 2, 3000, 3583, 3584, 4000, 4095, 4096, 1 << 20, 1 << 31, ^posixtrace.EventID(0), ^posixtrace.EventID(0) - 1}
	for _, id := range ids {
		for range 2 {
			posixtrace.Event(id, []byte("forged"))
		}
	}
	posixtrace.Event(mine, []byte("true"))
	equal(t, drain(t, s), got{name, "true", os.Getpid()})
	// A type registered afterwards, by any process, is valid from then on.
	id, err := s.EventID(name + ".controller")
	if err != nil || id != last+1 {
		t.Fatalf("EventID = %d, %v", id, err)
	}
	posixtrace.Event(id, []byte("registered"))
	equal(t, drain(t, s), got{name + ".controller", "registered", os.Getpid()})
	// A Process, which ptrace-event uses, cannot forge them either.
	c := tracetest.Start(t, "map")
	cs := running(t, c.PID, posixtrace.Attr{})
	p, err := posixtrace.OpenProcess(c.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, id := range ids {
		if p.Event(id, []byte("forged")) != 0 {
			t.Errorf("a stream took %d", id)
		}
	}
	own, err := p.OpenEventID("evt.six.other") // the first of its family

	if err != nil || p.Event(own, []byte("true")) != 1 {
		t.Errorf("the true one, %d, was not taken, %v", own, err)
	}
	equal(t, drain(t, cs), got{"evt.six.other", "true", c.PID})

	logged.Shutdown()
	if data := userData(t, openLogAt(t, path)); fmt.Sprint(data) != "[true registered]" {
		t.Errorf("the log holds %q", data)
	}
})

var _ = conform("EVT-07", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	id := openIn(c, "evt.seven")
	s := running(t, c.PID, posixtrace.Attr{MaxDataSize: new(3)})
	before := time.Now().UnixNano()
	c.Ask("event %d abc", id)
	c.Ask("event %d abcd", posixtrace.EventUnnamed)
	after := time.Now().UnixNano()
	for i, want := range []posixtrace.EventInfo{{ID: id, Truncation: posixtrace.TruncationNone}, {ID: posixtrace.EventUnnamed, Truncation: posixtrace.TruncationRecord}} {
		ev, data := nextUserEvent(t, s, make([]byte, 10))
		if ev.ID != want.ID || ev.PID != c.PID || ev.Truncation != want.Truncation || string(data) != "abc" {
			t.Errorf("event %d is %+v with %q", i, ev, data)
		}
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", c.PID, ev.TID)); err != nil {
			t.Errorf("thread %d: %v", ev.TID, err)
		}
		if ev.UnixNano < before || ev.UnixNano > after {
			t.Errorf("time %d, want between %d and %d", ev.UnixNano, before, after)
		}
		if ev.Address == 0 {
			t.Error("no address")
		}
		if !ev.Time().Equal(time.Unix(0, ev.UnixNano)) {
			t.Error("Time is another time")
		}
	}
})

// callEvent keeps calls through it from being turned into direct ones.
var callEvent = posixtrace.Event

type eventCaller struct {
	call func(posixtrace.EventID, []byte)
}

func deferEvent(id posixtrace.EventID) {
	defer posixtrace.Event(id, nil)
	defer posixtrace.Event(id, nil)
}

func deferEventValue(id posixtrace.EventID) {
	defer callEvent(id, nil)
	defer callEvent(id, nil)
}

// Deferred in a loop, which is another mechanism.
func deferEventLoop(id posixtrace.EventID, n int) {
	for range n {
		defer posixtrace.Event(id, nil)
	}
	defer posixtrace.Event(id, nil)
}

var _ = conform("EVT-08", func(t *testing.T) {
	s := running(t, 0, posixtrace.Attr{})
	id := eventID(t, "evt.eight")
	posixtrace.Event(id, nil)
	allUserEvents(t, s)
	addresses := func(want int) (list []uint64) {
		t.Helper()
		var end time.Time
		for {
			for _, ev := range allUserEvents(t, s) {
				if ev.ID == id {
					list = append(list, ev.Address)
				}
			}
			if len(list) >= want {
				break
			}
			// A goroutine, on another thread.
			if end.IsZero() {
				end = time.Now().Add(time.Minute)
			} else if time.Now().After(end) {
				break
			}
			runtime.Gosched()
		}
		if len(list) != want {
			t.Fatalf("%d events, want %d", len(list), want)
		}
		return list
	}
	seen := map[uint64]string{}
	// sites runs f twice and checks that its n trace points have addresses of
	// their own, the same each time. It returns them.
	sites := func(what string, n int, f func()) []uint64 {
		t.Helper()
		var rounds [2][]uint64
		for i := range rounds {
			f()
			rounds[i] = addresses(n)
		}
		if what[0] == '*' { // in any order
			slices.Sort(rounds[0])
			slices.Sort(rounds[1])
		}
		if !slices.Equal(rounds[0], rounds[1]) {
			t.Errorf("%s: addresses %#x, then %#x", what, rounds[0], rounds[1])
		}
		for i, a := range rounds[0] {
			name := fmt.Sprintf("%s %d", what, i)
			if old := seen[a]; old != "" {
				t.Errorf("%s and %s have one address, %#x in %s", name, old, a, lineOf(a))
			}
			seen[a] = name
		}
		return rounds[0]
	}
	at := func(what string, list []uint64, line int) {
		t.Helper()
		var have, want []string
		for i, a := range list {
			if l := lineOf(a); l != "inlined" {
				have, want = append(have, l), append(want, fmt.Sprintf("event:%d", line+i))
			}
		}
		if what[0] == '*' {
			slices.Sort(have)
		}
		if !slices.Equal(have, want) {
			t.Errorf("%s is at %v, want %v", what, have, want)
		}
	}
	line := 0
	at("call", sites("call", 2, func() {
		line = lineHere() + 1
		posixtrace.Event(id, nil)
		posixtrace.Event(id, []byte("data"))
	}), line)
	at("function value", sites("function value", 2, func() {
		line = lineHere() + 1
		callEvent(id, nil)
		callEvent(id, nil)
	}), line)
	c := eventCaller{posixtrace.Event}
	at("field", sites("field", 2, func() {
		line = lineHere() + 1
		c.call(id, nil)
		c.call(id, nil)
	}), line)
	at("literal", sites("literal", 2, func() {
		func() {
			line = lineHere() + 1
			posixtrace.Event(id, nil)
			posixtrace.Event(id, nil)
		}()
	}), line)
	sites("defer", 2, func() { deferEvent(id) })
	sites("deferred value", 2, func() { deferEventValue(id) })
	// One trace point passed three times, and another.
	deferEventLoop(id, 3)
	if a := addresses(4); a[1] != a[2] || a[2] != a[3] || a[0] == a[1] || seen[a[0]] != "" || seen[a[1]] != "" {
		t.Errorf("deferred in a loop: %#x", a)
	}
	at("*go", sites("*go", 2, func() {
		line = lineHere() + 1
		go posixtrace.Event(id, nil)
		go posixtrace.Event(id, nil)
	}), line)
	sites("*go value", 2, func() {
		go callEvent(id, nil)
		go callEvent(id, nil)
	})
})

var _ = conform("EVT-09", func(t *testing.T) {
	s := newStreamOf(t, 0, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, StreamSize: 1})
	line := lineHere() + 1
	s.Start()
	s.SetFilter(posixtrace.EventSet{}, posixtrace.FilterSet)
	s.Stop()
	want := []posixtrace.EventID{posixtrace.EventStart, posixtrace.EventFilter, posixtrace.EventStop}
	list := allUserEvents(t, s)
	if len(list) != len(want) {
		t.Fatalf("events %+v", list)
	}
	for i, ev := range list {
		if at := fmt.Sprintf("event:%d", line+i); ev.ID != want[i] || lineOf(ev.Address) != at {
			t.Errorf("event %d is %+v at %s, want %d at %s", i, ev, lineOf(ev.Address), want[i], at)
		}
	}
	s.Start()
	recordUnnamed(20000) // full: stops automatically
	found := false
	for _, ev := range allUserEvents(t, s) {
		if ev.ID == posixtrace.EventStop {
			found = true
			if ev.Address != 0 {
				t.Errorf("the automatic STOP has address %#x", ev.Address)
			}
		}
	}
	if !found {
		t.Error("no automatic STOP")
	}
})

var _ = conform("EVT-10", func(t *testing.T) {
	s := running(t, 0, posixtrace.Attr{StreamSize: 1})
	for range 3 {
		recordUnnamed(20000)
		for _, ev := range allUserEvents(t, s) {
			if (ev.ID == posixtrace.EventOverflow || ev.ID == posixtrace.EventResume) && (ev.PID != 0 || ev.TID != 0) {
				t.Errorf("%+v", ev)
			}
		}
	}
	if st, _ := s.Status(); st.StreamOverrunStatus != posixtrace.StatusOverrun {
		t.Error("no overrun")
	}
	rec, err := s.Recorder()
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	if !rec.Record(posixtrace.EventInfo{ID: posixtrace.EventError}, []byte{1, 0, 0, 0}) {
		t.Fatal("not recorded")
	}
	found := false
	for _, ev := range allUserEvents(t, s) {
		if ev.ID == posixtrace.EventError {
			found = true
			if ev.TID != 0 {
				t.Errorf("%+v", ev)
			}
		}
	}
	if !found {
		t.Error("no ERROR")
	}
	logged, path := newLoggedOf(t, 0, posixtrace.Attr{})
	logged.Start()
	recordUnnamed(10)
	logged.Flush()
	logged.Shutdown()
	l := openLogAt(t, path)
	n := 0
	for ev, _, err := l.Next(nil); err == nil; ev, _, err = l.Next(nil) {
		if ev.ID == posixtrace.EventFlushStart || ev.ID == posixtrace.EventFlushStop {
			n++
			if ev.PID != 0 || ev.TID != 0 || ev.Address != 0 {
				t.Errorf("%+v", ev)
			}
		}
	}
	if n < 2 {
		t.Errorf("%d flush marks", n)
	}
})

// onThread runs f on a thread of its own and returns the thread's id.
func onThread(f func()) int {
	tid := make(chan int)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		f()
		tid <- unix.Gettid()
	}()
	return <-tid
}

var _ = conform("EVT-11", func(t *testing.T) {
	s := running(t, 0, posixtrace.Attr{})
	for i := range 20 {
		want := onThread(func() { posixtrace.Event(posixtrace.EventUnnamed, nil) })
		if ev, _ := nextUserEvent(t, s, nil); ev.TID != want || ev.PID != os.Getpid() {
			t.Errorf("event %d is of thread %d of process %d, want thread %d", i, ev.TID, ev.PID, want)
		}
	}
	// One goroutine that changes its thread between events.
	for range 20 {
		runtime.LockOSThread()
		want := unix.Gettid()
		posixtrace.Event(posixtrace.EventUnnamed, nil)
		runtime.UnlockOSThread()
		if ev, _ := nextUserEvent(t, s, nil); ev.TID != want {
			t.Errorf("event of thread %d, want %d", ev.TID, want)
		}
		runtime.Gosched()
	}
})

var _ = conform("EVT-12", func(t *testing.T) {
	c := tracetest.Start(t, "threads")
	s := running(t, c.PID, posixtrace.Attr{})
	c.Say("go") // both threads start, or at least get their numbers, after the stream
	seen := map[int]bool{}
	for range 2 {
		ev, data := nextUserEvent(t, s, make([]byte, 20))
		if string(data) != strconv.Itoa(ev.TID) || ev.PID != c.PID {
			t.Errorf("event of thread %d of process %d, which says it is thread %s", ev.TID, ev.PID, data)
		}
		seen[ev.TID] = true
	}
	if len(seen) != 2 {
		t.Errorf("threads %v", seen)
	}
	own := running(t, 0, posixtrace.Attr{})
	const n = 30
	for range n {
		onThread(func() { posixtrace.Event(posixtrace.EventUnnamed, nil) })
	}
	if have := len(drain(t, own)); have != n {
		t.Errorf("%d events of %d threads", have, n)
	}
})

var _ = conform("EVT-13", func(t *testing.T) {
	s := running(t, 0, posixtrace.Attr{StreamSize: 1 << 20})
	buf := make([]byte, 20)
	type stamp struct{ before, after int64 }
	var stamps []stamp
	for i := range 200 {
		before := time.Now().UnixNano()
		posixtrace.Event(posixtrace.EventUnnamed, strconv.AppendInt(nil, int64(i), 10))
		stamps = append(stamps, stamp{before, time.Now().UnixNano()})
		if i%50 == 0 {
			for begin := time.Now(); time.Since(begin) < 5*time.Millisecond; { // let the clocks drift
				runtime.Gosched()
			}
		}
	}
	// Not when it is read, but when it is generated; two clocks may differ a little.
	const slack = int64(50 * time.Microsecond)
	last := int64(0)
	for i, st := range stamps {
		ev, data := nextUserEvent(t, s, buf)
		if string(data) != strconv.Itoa(i) || ev.UnixNano < last {
			t.Fatalf("event %d is %q at %d, after one at %d", i, data, ev.UnixNano, last)
		}
		if ev.UnixNano < st.before-slack || ev.UnixNano > st.after+slack {
			t.Errorf("event %d at %d, want between %d and %d", i, ev.UnixNano, st.before, st.after)
		}
		last = ev.UnixNano
	}
	// Events that follow each other across threads are ordered.
	var turn atomic.Int64
	var wg sync.WaitGroup
	const rounds = 300
	for k := range 3 {
		wg.Go(func() {
			for n := int64(k); n < 3*rounds; n += 3 {
				for turn.Load() != n {
					runtime.Gosched()
				}
				posixtrace.Event(posixtrace.EventUnnamed, strconv.AppendInt(nil, n, 10))
				turn.Store(n + 1)
			}
		})
	}
	wg.Wait()
	for n := range 3 * rounds {
		ev, data := nextUserEvent(t, s, buf)
		if string(data) != strconv.Itoa(n) || ev.UnixNano < last {
			t.Fatalf("event %d is %q at %d, after one at %d", n, data, ev.UnixNano, last)
		}
		last = ev.UnixNano
	}
	if a, err := s.Attr(); err != nil || a.ClockResolution <= 0 || a.ClockResolution > time.Millisecond {
		t.Errorf("resolution %v, %v", a.ClockResolution, err)
	}
})

// A failed flush is reported by an ERROR event only.
var _ = conform("EVT-14", func(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	reader := func() (fd int) {
		fd, err := unix.Open(fifo, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	drained := func(fd int) {
		buf := make([]byte, 1<<16)
		for {
			n, err := unix.Read(fd, buf)
			if n <= 0 || err != nil {
				return
			}
			log.Write(buf[:n])
		}
	}
	r := reader()
	w := openFile(t, fifo, os.O_WRONLY)
	s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{LogFullPolicy: posixtrace.PolicyAppend, StreamSize: 1}, w)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	drained(r)
	unix.Close(r) // no reader of the log
	s.Start()
	var no syscall.Errno
	for end := time.Now().Add(time.Minute); no == 0 && time.Now().Before(end); {
		recordUnnamed(100)
		st, err := s.PeekStatus()
		if err != nil {
			t.Fatal(err)
		}
		no = st.StreamFlushError
		runtime.Gosched()
	}
	if no != syscall.EPIPE {
		t.Fatalf("the flush error is %v", no)
	}
	recordUnnamed(10000) // the caller sees nothing of it
	r = reader()
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	drained(r)
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	drained(r)
	unix.Close(r)
	rd, err := posixtrace.NewReader(&log)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for rec, err := rd.Next(); err == nil; rec, err = rd.Next() {
		if rec.ID == posixtrace.EventError {
			found++
			if v, err := posixtrace.DecodeInt(rec.Data); syscall.Errno(v) != syscall.EPIPE || err != nil || rec.PID != 0 || rec.TID != 0 || rec.Address != 0 {
				t.Errorf("ERROR %d, %v: %+v", v, err, rec.EventInfo)
			}
		}
	}
	if st, err := rd.State(); found != 1 || st != posixtrace.LogFinished {
		t.Errorf("%d ERROR events in a log that is %v, %v", found, st, err)
	}
	rd.Close()

	// Nor does an unusable trace directory cause one.
	c := tracetest.Start(t, "map")
	openIn(c, "evt.fourteen")
	if l := c.Ask("event %d x", posixtrace.EventUnnamed); l != "done" {
		t.Error(l)
	}
	t.Cleanup(tool.ForgetDirectory)
	t.Setenv("PTRACE_DIR", "/proc/none/such")
	tool.ForgetDirectory()
	c = tracetest.Start(t, "map")
	if l := c.Ask("event %d x", posixtrace.EventUnnamed); l != "done" {
		t.Error(l)
	}
	if l := c.Ask("times %d 1000", 40); l != "done" {
		t.Error(l)
	}
})

var _ = conform("EVT-15", func(t *testing.T) {
	s := running(t, 0, posixtrace.Attr{StreamSize: 1 << 20})
	data := make([]byte, 1000)
	for i := range 100 {
		for k := range data {
			data[k] = byte(i)
		}
		posixtrace.Event(posixtrace.EventUnnamed, data)
	}
	clear(data)
	buf := make([]byte, 1000)
	for i := range 100 {
		if _, have := nextUserEvent(t, s, buf); len(have) != 1000 || bytes.Count(have, []byte{byte(i)}) != 1000 {
			t.Fatalf("event %d was changed afterwards", i)
		}
	}
})

// Several processes write, one after the other is killed in the middle of it,
// and the controller does what it wants. Each writer's events stay in their order.
var _ = conform("EVT-16", func(t *testing.T) {
	s := newStreamOf(t, 0, posixtrace.Attr{Inheritance: posixtrace.InheritChildren, StreamSize: 256 << 10})
	writers := []*tracetest.Child{}
	ids := map[string]bool{}
	for range 3 {
		c := tracetest.Start(t, "writer")
		ids[c.Line()] = true
		writers = append(writers, c)
	}
	if len(ids) != 1 {
		t.Fatalf("one name has ids %v in a family", ids)
	}
	last := map[int]int{}
	after := map[int]int{}
	buf := make([]byte, 20)
	read := func(max int) (n int) {
		for range max {
			ev, size, err := s.TryNext(buf)
			if err != nil {
				break
			}
			if !ev.ID.User() {
				continue
			}
			v, err := strconv.Atoi(string(buf[:size]))
			if old, ok := last[ev.PID]; err != nil || ok && v <= old {
				t.Fatalf("process %d: %q after %d", ev.PID, buf[:size], old)
			}
			last[ev.PID] = v
			after[ev.PID]++
			n++
		}
		return n
	}
	var set posixtrace.EventSet
	set.Add(posixtrace.EventUnnamed)
	s.Start()
	for end := time.Now().Add(time.Minute); len(last) < 3 && time.Now().Before(end); {
		read(2000)
	}
	for i := range 12 {
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); read(2000) == 0 && time.Now().Before(end); {
			runtime.Gosched()
		}
		var err error
		switch i % 3 {
		case 0:
			err = s.SetFilter(set, posixtrace.FilterSet)
		case 1:
			err = s.Clear()
		case 2:
			err = s.Stop()
		}
		if err != nil {
			t.Fatal(err)
		}
		if i%4 == 3 && len(writers) > 1 {
			w := writers[0]
			writers = writers[1:]
			w.Cmd.Process.Signal(syscall.SIGKILL)
			w.Cmd.Wait()
		}
	}
	if len(last) != 3 {
		t.Errorf("events of processes %v", last)
	}
	// The events of the remaining process still arrive.
	s.Start()
	clear(after)
	left := writers[0].PID
	for end := time.Now().Add(time.Minute); after[left] == 0 && time.Now().Before(end); {
		read(2000)
	}
	if after[left] == 0 {
		t.Error("the stream is wedged")
	}
	// A controller in another process comes, and dies.
	dead := tracetest.Start(t, "creator")
	if n, no := makeStreams(dead, left, 1); n != 1 {
		t.Fatal(no)
	}
	dead.Cmd.Process.Kill()
	dead.Cmd.Wait()
	posixtrace.List() // ends its stream
	clear(after)
	for end := time.Now().Add(time.Minute); after[left] == 0 && time.Now().Before(end); {
		read(2000)
	}
	if after[left] == 0 {
		t.Error("the stream is wedged by another's death")
	}
	writers[0].Cmd.Process.Kill()
	writers[0].Cmd.Wait()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	for read(1<<20) != 0 {
	}
})

// A traced process that may write no file is not killed by SIGXFSZ on our account.
var _ = conform("EVT-14/file size limit", func(t *testing.T) {
	a := newActor(t)
	s := running(t, a.pid, posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	a.do("event evt.known 1")
	a.do("fsize 0")
	a.do("event evt.known 2")
	// A name needs room in a file.
	fmt.Fprintln(a.in, "event evt.new 3")
	if l := a.line(); !strings.Contains(l, "file too large") {
		t.Errorf("a new name without room is %q", l)
	}
	a.do("event evt.known 4")
	// A child. A process with room makes its page, or none does.
	b := a.spawn()
	b.do("raw %d 5", posixtrace.EventUnnamed)
	b.kill()
	a.do("fsize %d", 1<<30)
	a.do("event evt.new 6")
	equal(t, drain(t, s), a.got("evt.known", "1"), a.got("evt.known", "2"), a.got("evt.known", "4"), a.got("evt.new", "6"))
})
