package conformance

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// What the tests of streams in motion share: sections STA, FUL, SST, GET, CLR.

// readEvent is an event with its data.
type readEvent struct {
	posixtrace.EventInfo
	data string
}

// String shows what the order of events is compared by: the name of a system
// type, with its cause for STOP, or the data of a user event.
func (e readEvent) String() string {
	switch e.ID {
	case posixtrace.EventError:
		return "ERROR"
	case posixtrace.EventStart:
		return "START"
	case posixtrace.EventStop:
		n, _ := posixtrace.DecodeInt([]byte(e.data))
		return fmt.Sprintf("STOP%d", n)
	case posixtrace.EventFilter:
		return "FILTER"
	case posixtrace.EventOverflow:
		return "OVERFLOW"
	case posixtrace.EventResume:
		return "RESUME"
	case posixtrace.EventFlushStart:
		return "FLUSH_START"
	case posixtrace.EventFlushStop:
		return "FLUSH_STOP"
	}
	return e.data
}

// readAll reads everything that is ready.
func readAll(t *testing.T, s *posixtrace.Stream) (list []readEvent) {
	t.Helper()
	for {
		ev, ok := readNext(t, s)
		if !ok {
			return list
		}
		list = append(list, ev)
	}
}

var readBuffer [64 << 10]byte

// readNext reads one event if one is ready.
func readNext(t *testing.T, s *posixtrace.Stream) (readEvent, bool) {
	t.Helper()
	ev, n, err := s.TryNext(readBuffer[:])
	if err == posixtrace.ErrUnavailable {
		return readEvent{}, false
	}
	if err != nil {
		t.Fatal(err)
	}
	return readEvent{ev, string(readBuffer[:n])}, true
}

// wantEvents checks the events against their order as String shows it.
func wantEvents(t *testing.T, have []readEvent, want ...string) {
	t.Helper()
	if fmt.Sprint(have) != fmt.Sprint(want) {
		if n := len(have); n > 40 {
			t.Fatalf("have %v and %d others and %v, want %v", have[:20], n-40, have[n-20:], want)
		}
		t.Fatalf("have %v, want %v", have, want)
	}
}

// userEvents returns the user events only.
func userEvents(list []readEvent) (users []readEvent) {
	for _, e := range list {
		if e.ID.User() {
			users = append(users, e)
		}
	}
	return
}

// eventsOf returns the events of some types only.
func eventsOf(list []readEvent, ids ...posixtrace.EventID) (some []readEvent) {
	for _, e := range list {
		for _, id := range ids {
			if e.ID == id {
				some = append(some, e)
			}
		}
	}
	return
}

// newStream makes a stream that is shut down when the test ends.
func newStream(t *testing.T, attr *posixtrace.Attr) *posixtrace.Stream {
	t.Helper()
	s, err := posixtrace.Create(0, attr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown() })
	return s
}

// newLogged makes a stream with a log in a file, whose path it returns.
func newLogged(t *testing.T, attr *posixtrace.Attr) (*posixtrace.Stream, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flow.trace")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := posixtrace.CreateWithLog(0, attr, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown() })
	return s, path
}

// readFinishedLog reads a finished log.
func readFinishedLog(t *testing.T, path string) (list []readEvent) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := posixtrace.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for {
		ev, n, err := l.Next(readBuffer[:])
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, readEvent{ev, string(readBuffer[:n])})
	}
}

// peekAll is what Reader finds now, consuming nothing.
func peekAll(t *testing.T, s *posixtrace.Stream) (list []readEvent) {
	t.Helper()
	r, err := s.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, readEvent{rec.EventInfo, string(rec.Data)})
	}
}

func startStream(t *testing.T, s *posixtrace.Stream) {
	t.Helper()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
}

func stopStream(t *testing.T, s *posixtrace.Stream) {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
}

func shutdownStream(t *testing.T, s *posixtrace.Stream) {
	t.Helper()
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
}

func statusOf(t *testing.T, s *posixtrace.Stream) posixtrace.Status {
	t.Helper()
	st, err := s.PeekStatus()
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// wantState checks the two main members of the status.
func wantState(t *testing.T, s *posixtrace.Stream, run posixtrace.RunStatus, full posixtrace.FullStatus) {
	t.Helper()
	if st := statusOf(t, s); st.StreamStatus != run || st.StreamFullStatus != full {
		t.Fatalf("stream is %v and %v, want %v and %v", st.StreamStatus, st.StreamFullStatus, run, full)
	}
}

func eventID(t *testing.T, name string) posixtrace.EventID {
	t.Helper()
	id, err := posixtrace.OpenEventID(name)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// numberWriter is one writer with one chunk at a time: what it writes lies in the stream
// in the same way in every run. It numbers its events.
type numberWriter struct {
	r  *posixtrace.Recorder
	id posixtrace.EventID
	n  int
}

func newNumberWriter(t *testing.T, s *posixtrace.Stream) *numberWriter {
	t.Helper()
	r, err := s.Recorder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return &numberWriter{r: r, id: eventID(t, "flow")}
}

// newOtherNumberWriter writes numbers to a stream with log, through a connection that does not own the
// log: its recorder loses an event when the stream is full rather than flush it. With the
// policy Flush it asks the owner first, so the log must refuse what is written to it.
func newOtherNumberWriter(t *testing.T, s *posixtrace.Stream) *numberWriter {
	t.Helper()
	info, err := s.Info()
	tracetest.OK(t, "Info", err)
	other, err := posixtrace.Attach(info.Path)
	tracetest.OK(t, "Attach", err)
	t.Cleanup(func() { other.Close() })
	return newNumberWriter(t, other)
}

// put records the next number, and reports whether the stream took it.
func (w *numberWriter) put() bool {
	w.n++
	return w.r.Record(posixtrace.EventInfo{ID: w.id, PID: os.Getpid()}, []byte(strconv.Itoa(w.n-1)))
}

// fill records until the stream takes no more; it returns how many it took. One
// event is lost.
func (w *numberWriter) fill(t *testing.T) (taken int) {
	t.Helper()
	for w.put() {
		if taken++; taken > 1e6 {
			t.Fatal("the stream does not become full")
		}
	}
	return taken
}

// mapStream maps a stream a second time, for what no call reports and for what calls report
// only before its end.
func mapStream(s *posixtrace.Stream) (m *stream.Mem, unmap func(), err error) {
	info, err := s.Info()
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(info.Path, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	b, err := sys.Map(f, int(st.Size()), true)
	if err != nil {
		return nil, nil, err
	}
	if m, err = stream.Attach(b, false); err != nil {
		sys.Unmap(b)
		return nil, nil, err
	}
	return m, func() { sys.Unmap(b) }, nil
}

// memoryOf is mapStream until the test ends.
func memoryOf(t *testing.T, s *posixtrace.Stream) *stream.Mem {
	t.Helper()
	m, unmap, err := mapStream(s)
	tracetest.OK(t, "map the stream", err)
	t.Cleanup(unmap)
	return m
}

// numberOf returns the number of an event that put recorded.
func numberOf(t *testing.T, e readEvent) int {
	t.Helper()
	n, err := strconv.Atoi(e.data)
	if err != nil {
		t.Fatalf("torn event: %q", e.data)
	}
	return n
}

// wantConsecutive checks that the numbers of the user events rise by one, and returns
// the first and the last.
func wantConsecutive(t *testing.T, list []readEvent) (first, last int) {
	t.Helper()
	users := userEvents(list)
	if len(users) == 0 {
		t.Fatalf("no user event in %v", list)
	}
	first = numberOf(t, users[0])
	for i, e := range users {
		if n := numberOf(t, e); n != first+i {
			t.Fatalf("event %d follows %d", n, first+i-1)
		}
	}
	return first, first + len(users) - 1
}

// wantOrdered checks that times do not fall.
func wantOrdered(t *testing.T, list []readEvent) {
	t.Helper()
	for i := 1; i < len(list); i++ {
		if list[i].UnixNano < list[i-1].UnixNano {
			t.Fatalf("%v at %d comes after %v at %d", list[i], list[i].UnixNano, list[i-1], list[i-1].UnixNano)
		}
	}
}

// clockPast waits until the clock has gone on so far that times before
// and after certainly differ.
func clockPast() int64 {
	const apart = 2 * time.Millisecond
	for t := time.Now(); time.Since(t) < apart; {
	}
	now := time.Now().UnixNano()
	for t := time.Now(); time.Since(t) < apart; {
	}
	return now
}

// logDescriptor returns the descriptor of the stream's log.
func logDescriptor(t *testing.T, s *posixtrace.Stream) int {
	t.Helper()
	info, err := s.Info()
	tracetest.OK(t, "Info", err)
	fds, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range fds {
		if to, _ := os.Readlink(fd); to == info.LogPath {
			n, err := strconv.Atoi(filepath.Base(fd))
			tracetest.OK(t, "Atoi", err)
			return n
		}
	}
	t.Fatalf("no descriptor is of %s", info.LogPath)
	return 0
}

// replaceLog puts another file under the descriptor of the stream's log, so that writing
// fails with an error of that file's; the function it returns puts the log back.
func replaceLog(t *testing.T, s *posixtrace.Stream, path string, flags int) (back func()) {
	t.Helper()
	fd := logDescriptor(t, s)
	saved, err := syscall.Dup(fd)
	if err != nil {
		t.Fatal(err)
	}
	other, err := syscall.Open(path, flags|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Dup3(other, fd, syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	syscall.Close(other)
	done := false
	back = func() {
		if !done {
			if to, _ := os.Readlink(fmt.Sprint("/proc/self/fd/", fd)); to == path { // else the stream has closed it
				syscall.Dup3(saved, fd, syscall.O_CLOEXEC)
			}
			syscall.Close(saved)
			done = true
		}
	}
	t.Cleanup(back)
	return back
}

// wantNoMethod checks that a type has no such method: what the standard answers with
// EINVAL cannot even be asked.
func wantNoMethod(t *testing.T, v any, method string) {
	t.Helper()
	if _, ok := reflect.TypeOf(v).MethodByName(method); ok {
		t.Errorf("%T has a method %s", v, method)
	}
}

func wantEqual(t *testing.T, what string, have, want any) {
	t.Helper()
	if have != want {
		t.Errorf("%s is %v, want %v", what, have, want)
	}
}

var tinyAttr = posixtrace.Attr{StreamSize: 1, MaxDataSize: new(64)}

func smallAttr(p posixtrace.FullPolicy) *posixtrace.Attr {
	a := tinyAttr
	a.StreamFullPolicy = p
	return &a
}
