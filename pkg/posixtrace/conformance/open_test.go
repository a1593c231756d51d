package conformance

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Section OPN: pre-recorded streams.

func init() {
	// opn-read: reads a log from its first event to its last and prints a summary.
	tracetest.Helpers["opn-read"] = func(args []string) {
		f, err := os.Open(args[0])
		tracetest.Check(err == nil, "%v", err)
		l, err := posixtrace.Open(f)
		tracetest.Check(err == nil, "%v", err)
		buf := make([]byte, 100)
		n := 0
		for {
			ev, size, err := l.Next(buf)
			if err == io.EOF {
				break
			}
			tracetest.Check(err == nil, "%v", err)
			if ev.ID.User() {
				tracetest.Check(strings.HasPrefix(string(buf[:size]), strconv.Itoa(n)+" "), "event %d is %q", n, buf[:size])
				n++
			}
		}
		tracetest.Check(strconv.Itoa(n) == args[1], "%d events", n)
		fmt.Println("ok")
	}
}

// logOfNumbers makes a finished log of n numbered events.
func logOfNumbers(t *testing.T, n int) string {
	t.Helper()
	s, path := newLoggedWith(t, posixtrace.Attr{Name: "opn", StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyAppend, StreamSize: 1 << 20})
	tracetest.OK(t, "Start", s.Start())
	recordNumbers(eventID(t, "opn.event"), 0, n, 20)
	tracetest.OK(t, "Shutdown", s.Shutdown())
	return path
}

var _ = conform("OPN-01/posix_trace_open", func(t *testing.T) {
	path := logOfNumbers(t, 10)
	a, b := openLogAt(t, path), openLogAt(t, path)
	defer a.Close()
	defer b.Close()
	if a == b {
		t.Error("two connections are one")
	}
	events := readNamed(t, a)
	if events[0].ID != posixtrace.EventStart {
		t.Errorf("the oldest event is %v, want START", events[0])
	}
	wantRange(t, "log", numbersOf(t, events, "opn.event"), 0, 10)
})

var _ = conform("OPN-02/posix_trace_open/EINVAL", func(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{
		"empty": "", "text": strings.Repeat("no log at all\n", 1000), "zeros": strings.Repeat("\x00", 1<<16),
	} {
		path := filepath.Join(dir, name)
		tracetest.OK(t, "WriteFile", os.WriteFile(path, []byte(data), 0o600))
		f, err := os.Open(path)
		tracetest.OK(t, "Open", err)
		_, err = posixtrace.Open(f)
		f.Close()
		wantErrno(t, err, syscall.EINVAL)
	}
	d, err := os.Open(dir)
	tracetest.OK(t, "Open", err)
	defer d.Close()
	_, err = posixtrace.Open(d)
	wantErrno(t, err, syscall.EINVAL)
})

var _ = conform("OPN-02/posix_trace_open/EBADF", func(t *testing.T) {
	path := logOfNumbers(t, 1)
	_, err := posixtrace.Open(nil)
	wantErrno(t, err, syscall.EBADF)
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	tracetest.OK(t, "OpenFile", err)
	_, err = posixtrace.Open(w)
	wantErrno(t, err, syscall.EBADF)
	w.Close()
	_, err = posixtrace.Open(w)
	wantErrno(t, err, syscall.EBADF)
	const oPath = 0x200000
	fd, err := syscall.Open(path, oPath|syscall.O_CLOEXEC, 0)
	tracetest.OK(t, "open", err)
	p := os.NewFile(uintptr(fd), path)
	defer p.Close()
	_, err = posixtrace.Open(p)
	wantErrno(t, err, syscall.EBADF)
})

var _ = conform("OPN-03/posix_trace_open/EINVAL", func(t *testing.T) {
	path := logOfNumbers(t, 50)
	f, err := os.Open(path)
	tracetest.OK(t, "Open", err)
	defer f.Close()
	for _, offset := range []int64{0, 7, 1 << 40} {
		_, err := f.Seek(offset, io.SeekStart)
		tracetest.OK(t, "Seek", err)
		l, err := posixtrace.Open(f)
		tracetest.OK(t, "Open", err)
		wantRange(t, "log", numbersOf(t, readNamed(t, l), "opn.event"), 0, 50)
		tracetest.OK(t, "Rewind", l.Rewind())
		tracetest.OK(t, "Close", l.Close())
		if at, err := f.Seek(0, io.SeekCurrent); err != nil || at != offset {
			t.Errorf("the descriptor is at %d, was at %d, %v", at, offset, err)
		}
	}
	// A file that cannot seek is refused, even with a log in it.
	b, err := os.ReadFile(path)
	tracetest.OK(t, "ReadFile", err)
	r, w, err := os.Pipe()
	tracetest.OK(t, "Pipe", err)
	defer r.Close()
	go func() { w.Write(b); w.Close() }()
	_, err = posixtrace.Open(r)
	wantErrno(t, err, syscall.EINVAL)
})

var _ = conform("OPN-04/posix_trace_open/EINVAL", func(t *testing.T) {
	limitToOneWriter(t)
	const n = 5000
	path := logOfNumbers(t, n)
	good, err := os.ReadFile(path)
	tracetest.OK(t, "ReadFile", err)
	super := int(good[16]) | int(good[17])<<8
	dir := t.TempDir()
	try := func(b []byte) (list []int, st posixtrace.Status, err error) {
		path := filepath.Join(dir, "bad.trace")
		tracetest.OK(t, "WriteFile", os.WriteFile(path, b, 0o600))
		f, err := os.Open(path)
		tracetest.OK(t, "Open", err)
		defer f.Close()
		l, err := posixtrace.Open(f)
		if err != nil {
			wantErrno(t, err, syscall.EINVAL)
			return nil, st, err
		}
		defer l.Close()
		buf := make([]byte, 1<<16)
		for {
			ev, size, err := l.Next(buf)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("Next = %v in a damaged log", err)
			}
			if ev.ID.User() {
				num, _, _ := strings.Cut(string(buf[:size]), " ")
				v, err := strconv.Atoi(num)
				if err != nil {
					t.Fatalf("an event with data %q came out of a damaged log", buf[:size])
				}
				list = append(list, v)
			}
		}
		st, err = l.Status()
		return list, st, err
	}
	// A foreign file that starts like a log, and one truncated within the superblock.
	for _, size := range []int{1, 8, 64, super - 1} {
		if _, _, err := try(good[:size]); err == nil {
			t.Errorf("a file of %d bytes was opened", size)
		}
	}
	// Later damage: all events before it, and none from a damaged block.
	last := -1
	for _, at := range []int{super + 300, len(good) / 4, len(good) / 2, len(good) * 3 / 4} {
		b := bytes.Clone(good)
		b[at] ^= 0x40
		list, st, err := try(b)
		if err != nil {
			t.Errorf("damage at %d: %v", at, err)
			continue
		}
		wantRange(t, fmt.Sprintf("damage at %d", at), list, 0, len(list))
		if len(list) == n || len(list) < last {
			t.Errorf("damage at %d of %d leaves %d of %d events", at, len(good), len(list), n)
		}
		if st.LogOverrunStatus != posixtrace.StatusOverrun {
			t.Errorf("damage at %d: the status does not report it: %+v", at, st)
		}
		last = len(list)
	}
	if last <= 0 {
		t.Errorf("nothing was left of any damaged log")
	}
	// Lengths and counts with all bits set, anywhere: no crash, no hang, bounded memory.
	for at := super; at+8 <= len(good); at += 8 + len(good)/400 {
		b := bytes.Clone(good)
		for i := range 8 {
			b[at+i] = 0xff
		}
		if list, _, err := try(b); err == nil && !slices.IsSorted(list) {
			t.Errorf("all bits set at %d: events out of order", at)
		}
	}
})

var _ = conform("OPN-05/posix_trace_open", func(t *testing.T) {
	const n = 100
	path := logOfNumbers(t, n)
	before, err := os.ReadFile(path)
	tracetest.OK(t, "ReadFile", err)
	f, err := os.Open(path)
	tracetest.OK(t, "Open", err)
	defer f.Close()
	a, err := posixtrace.Open(f)
	tracetest.OK(t, "Open", err)
	defer a.Close()
	b, err := posixtrace.Open(f) // by the same descriptor
	tracetest.OK(t, "Open", err)
	defer b.Close()
	buf := make([]byte, 100)
	for range 30 {
		if _, _, err := a.Next(buf); err != nil {
			t.Fatal(err)
		}
	}
	wantRange(t, "second", numbersOf(t, readNamed(t, b), "opn.event"), 0, n)
	tracetest.RunHelper(t, nil, "opn-read", path, strconv.Itoa(n))
	wantRange(t, "first", numbersOf(t, readNamed(t, a), "opn.event"), 29, n-29) // after START
	tracetest.RunHelper(t, nil, "opn-read", path, strconv.Itoa(n))
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("reading has changed the log, %v", err)
	}
})

var _ = conform("OPN-06/EINVAL", func(t *testing.T) {
	l := openLogAt(t, logOfNumbers(t, 1))
	id, ok, err := l.NextEventType()
	if err != nil || !ok {
		t.Fatalf("NextEventType = %v, %v", ok, err)
	}
	first := id
	for ok {
		if name, err := l.EventName(id); err != nil || name == "" {
			t.Errorf("EventName(%d) = %q, %v", id, name, err)
		}
		id, ok, err = l.NextEventType()
		tracetest.OK(t, "NextEventType", err)
	}
	tracetest.OK(t, "RewindEventTypes", l.RewindEventTypes())
	if id, ok, err := l.NextEventType(); id != first || !ok || err != nil {
		t.Errorf("NextEventType after a rewind = %d, %v, %v, want %d", id, ok, err, first)
	}
	_, err = l.Attr()
	tracetest.OK(t, "Attr", err)
	_, err = l.Status()
	tracetest.OK(t, "Status", err)
	_, _, err = l.Next(nil)
	tracetest.OK(t, "Next", err)
	tracetest.OK(t, "Rewind", l.Rewind())
	tracetest.OK(t, "Close", l.Close())
	// A Log has none of the calls for active streams.
	var a any = l
	switch a.(type) {
	case interface{ Start() error }, interface{ Stop() error }, interface{ Clear() error },
		interface{ Flush() error }, interface{ Shutdown() error }, interface {
			Filter() (posixtrace.EventSet, error)
		},
		interface {
			SetFilter(posixtrace.EventSet, posixtrace.FilterHow) error
		},
		interface {
			EventID(string) (posixtrace.EventID, error)
		},
		interface {
			TryNext([]byte) (posixtrace.EventInfo, int, error)
		}:
		t.Error("a call that is EINVAL on an opened log can be made")
	}
})

var _ = conform("OPN-07/posix_trace_rewind/EINVAL", func(t *testing.T) {
	l := openLogAt(t, logOfNumbers(t, 20))
	first := readNamed(t, l)
	for range 2 {
		tracetest.OK(t, "Rewind", l.Rewind())
		if again := readNamed(t, l); !slices.Equal(again, first) {
			t.Errorf("after a rewind: %v, want %v", again, first)
		}
	}
	tracetest.OK(t, "Rewind", l.Rewind())
	if _, _, err := l.Next(nil); err != nil {
		t.Error(err)
	}
	tracetest.OK(t, "Rewind", l.Rewind()) // in the middle
	if ev, _, err := l.Next(nil); err != nil || ev.ID != first[0].ID || ev.UnixNano != first[0].UnixNano {
		t.Errorf("Next = %+v, %v, want the oldest event %+v", ev, err, first[0])
	}
	tracetest.OK(t, "Close", l.Close())
	wantErrno(t, l.Rewind(), syscall.EINVAL)
})

var _ = conform("OPN-08/posix_trace_close/EINVAL", func(t *testing.T) {
	path := logOfNumbers(t, 1)
	l := openLogAt(t, path)
	tracetest.OK(t, "Close", l.Close())
	wantErrno(t, l.Close(), syscall.EINVAL)
	_, _, err := l.Next(nil)
	wantErrno(t, err, syscall.EINVAL)
	_, err = l.Attr()
	wantErrno(t, err, syscall.EINVAL)
	_, err = l.Status()
	wantErrno(t, err, syscall.EINVAL)
	_, err = l.EventName(posixtrace.EventStart)
	wantErrno(t, err, syscall.EINVAL)
	_, _, err = l.NextEventType()
	wantErrno(t, err, syscall.EINVAL)
	wantErrno(t, l.RewindEventTypes(), syscall.EINVAL)
	// Close frees a log: open many more than there are descriptors.
	fds := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		tracetest.OK(t, "ReadDir", err)
		return len(list)
	}
	before := fds()
	for range 200 {
		tracetest.OK(t, "Close", openLogAt(t, path).Close())
	}
	if after := fds(); after > before+5 {
		t.Errorf("%d descriptors before and %d after", before, after)
	}
})

var _ = conform("OPN-09/posix_trace_close", func(t *testing.T) {
	path := logOfNumbers(t, 10)
	f, err := os.Open(path)
	tracetest.OK(t, "Open", err)
	l, err := posixtrace.Open(f)
	tracetest.OK(t, "Open", err)
	tracetest.OK(t, "Close", l.Close())
	if _, err := f.Stat(); err != nil {
		t.Errorf("the application's descriptor is closed: %v", err)
	}
	l, err = posixtrace.Open(f)
	tracetest.OK(t, "Open", err)
	// Early.
	f.Close()
	wantRange(t, "log", numbersOf(t, readNamed(t, l), "opn.event"), 0, 10)
	tracetest.OK(t, "Rewind", l.Rewind())
	wantRange(t, "log", numbersOf(t, readNamed(t, l), "opn.event"), 0, 10)
	tracetest.OK(t, "Close", l.Close())
})

var _ = conform("OPN-10", func(t *testing.T) {
	// Two processes give the same names in another order, so the ids differ.
	var logs [2]*posixtrace.Log
	dir := t.TempDir()
	for i, names := range [][]string{{"opn.a", "opn.b"}, {"opn.b", "opn.a"}} {
		a := newActor(t)
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.trace", i)))
		tracetest.OK(t, "Create", err)
		s, err := posixtrace.CreateWithLog(a.pid, nil, f)
		tracetest.OK(t, "CreateWithLog", err)
		f.Close()
		tracetest.OK(t, "Start", s.Start())
		for _, n := range names {
			a.do("event %s %s", n, n)
		}
		tracetest.OK(t, "Shutdown", s.Shutdown())
		logs[i] = openLogAt(t, f.Name())
		defer logs[i].Close()
	}
	var ids [2]map[string]posixtrace.EventID
	for i, l := range logs {
		ids[i] = map[string]posixtrace.EventID{}
		for id, name := range eventTypesOf(t, l) {
			if _, twice := ids[i][name]; twice {
				t.Errorf("%q is in the list twice", name)
			}
			ids[i][name] = id
			if have, err := l.EventName(id); err != nil || have != name {
				t.Errorf("type %d is %q in the list and %q by name, %v", id, name, have, err)
			}
		}
		seen := 0
		for _, e := range readNamed(t, l) {
			if e.ID.User() {
				seen++
				if e.name != e.data || ids[i][e.data] != e.ID {
					t.Errorf("an event of %q is of type %d, %q", e.data, e.ID, e.name)
				}
			}
		}
		if seen != 2 {
			t.Errorf("%d events", seen)
		}
	}
	if ids[0]["opn.a"] != ids[1]["opn.b"] || ids[0]["opn.a"] == ids[1]["opn.a"] {
		t.Errorf("ids %v and %v", ids[0], ids[1])
	}
})

var _ = conform("OPN-11", func(t *testing.T) {
	// A stream without log records the same trace points; its events must equal those of the log.
	attr := posixtrace.Attr{MaxDataSize: new(32), StreamFullPolicy: posixtrace.PolicyUntilFull}
	live, err := posixtrace.Create(0, &attr)
	tracetest.OK(t, "Create", err)
	defer live.Shutdown()
	s, path := newLoggedWith(t, attr)
	tracetest.OK(t, "Start", live.Start())
	tracetest.OK(t, "Start", s.Start())
	id, other := eventID(t, "opn.same"), eventID(t, "opn.other")
	done := make(chan struct{})
	for _, size := range []int{0, 1, 31, 32, 33, 100} {
		posixtrace.Event(id, bytes.Repeat([]byte{byte(size)}, size))
		go func() { posixtrace.Event(other, []byte("thread")); done <- struct{}{} }()
		<-done
	}
	tracetest.OK(t, "Shutdown", s.Shutdown())
	events, _ := readLog(t, path)
	events = slices.DeleteFunc(events, func(e namedEvent) bool { return !e.ID.User() })
	buf := make([]byte, 100)
	i, cut := 0, 0
	for {
		ev, n, err := live.TryNext(buf)
		if err == posixtrace.ErrUnavailable {
			break
		}
		tracetest.OK(t, "TryNext", err)
		if !ev.ID.User() {
			continue
		}
		if i >= len(events) {
			t.Fatalf("the log has %d events", len(events))
		}
		have := events[i]
		if ev.Truncation == posixtrace.TruncationRecord {
			cut++
		}
		// Two streams take the time of an event one after the other.
		if d := have.UnixNano - ev.UnixNano; d < -1e9 || d > 1e9 {
			t.Errorf("event %d is at %v in the log, at %v in the stream", i, have.Time(), ev.Time())
		}
		have.UnixNano = ev.UnixNano
		if have.EventInfo != ev || have.data != string(buf[:n]) || ev.Address == 0 || ev.TID == 0 || ev.PID != os.Getpid() {
			t.Errorf("event %d is %+v %q in the log, %+v %q in the stream", i, have.EventInfo, have.data, ev, buf[:n])
		}
		i++
	}
	if i != len(events) || i != 12 || cut != 2 {
		t.Errorf("%d events in the stream, %d of them cut, %d in the log", i, cut, len(events))
	}
})

// The stream and the log report the same time of an event, to the nanosecond.
var _ = conform("OPN-11/timestamp", func(t *testing.T) {
	s, path := newLoggedWith(t, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull})
	tracetest.OK(t, "Start", s.Start())
	recordNumbers(eventID(t, "opn.time"), 0, 5, 10)
	r, err := s.Reader()
	tracetest.OK(t, "Reader", err)
	var times []int64
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		tracetest.OK(t, "Next", err)
		times = append(times, rec.UnixNano)
	}
	r.Close()
	tracetest.OK(t, "Shutdown", s.Shutdown())
	events, _ := readLog(t, path)
	for i, want := range times {
		// A later clock anchor may move what lay beyond the last one a little.
		if d := events[i].UnixNano - want; d < -1e6 || d > 1e6 {
			t.Errorf("event %d is at %d in the log, at %d in the stream", i, events[i].UnixNano, want)
		}
	}
	if len(times) != 6 {
		t.Errorf("%d events in the stream", len(times))
	}
})
