package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Section LOG: the log of a stream, and posix_trace_flush.

// namedEvent is one event of a log, with its name.
type namedEvent struct {
	posixtrace.EventInfo
	name string
	data string
}

func (e namedEvent) String() string { return fmt.Sprintf("%s(%.12q)", e.name, e.data) }

// readLog opens a finished log and reads it whole. It checks the laws of every
// log: times do not run backwards, every event has a name.
func readLog(t *testing.T, path string) (events []namedEvent, st posixtrace.Status) {
	t.Helper()
	l := openLogAt(t, path)
	defer l.Close()
	st, err := l.Status()
	if err != nil {
		t.Fatal(err)
	}
	return readNamed(t, l), st
}

func readNamed(t *testing.T, l *posixtrace.Log) (events []namedEvent) {
	t.Helper()
	buf := make([]byte, 64<<10)
	for {
		ev, n, err := l.Next(buf)
		if err == io.EOF {
			return events
		}
		if err != nil {
			t.Fatal(err)
		}
		name, err := l.EventName(ev.ID)
		if err != nil {
			t.Fatalf("event type %d in the log has no name: %v", ev.ID, err)
		}
		if k := len(events); k > 0 && ev.UnixNano < events[k-1].UnixNano {
			t.Fatalf("event %d is older than the one before it", k)
		}
		events = append(events, namedEvent{ev, name, string(buf[:n])})
	}
}

// newLoggedWith makes a stream on this process with a log in a file.
func newLoggedWith(t *testing.T, attr posixtrace.Attr) (*posixtrace.Stream, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.trace")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return createWithLog(t, attr, f), path
}

func createWithLog(t *testing.T, attr posixtrace.Attr, f *os.File) *posixtrace.Stream {
	t.Helper()
	s, err := posixtrace.CreateWithLog(0, &attr, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown() })
	return s
}

// recordNumbers passes n trace points whose data begins with the numbers from
// first, and fills up with dots to size bytes.
func recordNumbers(id posixtrace.EventID, first, n, size int) {
	for i := range n {
		b := strconv.AppendInt(nil, int64(first+i), 10)
		b = append(b, ' ')
		for len(b) < size {
			b = append(b, '.')
		}
		posixtrace.Event(id, b)
	}
}

// numbersOf returns those of the events of a type.
func numbersOf(t *testing.T, events []namedEvent, name string) (list []int) {
	t.Helper()
	for _, e := range events {
		if e.name != name {
			continue
		}
		num, _, _ := strings.Cut(e.data, " ")
		n, err := strconv.Atoi(num)
		if err != nil {
			t.Fatalf("event with data %.20q", e.data)
		}
		list = append(list, n)
	}
	return list
}

func countOf(events []namedEvent, id posixtrace.EventID) (n int) {
	for _, e := range events {
		if e.ID == id {
			n++
		}
	}
	return
}

// wantRange fails unless list is exactly first, first+1, ... of n numbers.
func wantRange(t *testing.T, what string, list []int, first, n int) {
	t.Helper()
	if len(list) != n {
		t.Fatalf("%s: %d events, want %d (from %v)", what, len(list), n, list[:min(3, len(list))])
	}
	for i, v := range list {
		if v != first+i {
			t.Fatalf("%s: event %d is number %d, want %d", what, i, v, first+i)
		}
	}
}

// limitToOneWriter keeps the test's goroutine on one processor, so that its events lie
// in the chunks in the order in which they were generated.
func limitToOneWriter(t *testing.T) {
	old := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(old) })
}

// slowLog is a log in a pipe that is not read before drain: a flush of more than the pipe
// holds does not return before that.
type slowLog struct {
	r    *os.File
	data []byte
	done chan struct{}
}

func (p *slowLog) drain() {
	go func() {
		rest, _ := io.ReadAll(p.r)
		p.data = append(p.data, rest...)
		p.r.Close()
		close(p.done)
	}()
}

func newSlowLog(t *testing.T, attr posixtrace.Attr) (*posixtrace.Stream, *slowLog) {
	t.Helper()
	attr.LogFullPolicy = posixtrace.PolicyAppend
	r, w, err := os.Pipe()
	tracetest.OK(t, "Pipe", err)
	rc, err := w.SyscallConn()
	tracetest.OK(t, "SyscallConn", err)
	const setPipeSize = 1031 // F_SETPIPE_SZ
	rc.Control(func(fd uintptr) { syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, 4096) })
	// The pipe takes the start of the log only as far as it fits.
	p := &slowLog{r: r, done: make(chan struct{})}
	var s *posixtrace.Stream
	made := make(chan error, 1)
	go func() {
		var err error
		s, err = posixtrace.CreateWithLog(0, &attr, w)
		made <- err
	}()
	buf := make([]byte, 1<<20)
	for {
		r.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		n, err := r.Read(buf)
		p.data = append(p.data, buf[:n]...)
		if err == nil {
			continue
		}
		select {
		case err := <-made:
			tracetest.OK(t, "CreateWithLog", err)
			w.Close()
			r.SetReadDeadline(time.Time{})
			t.Cleanup(func() { s.Shutdown() })
			return s, p
		default:
		}
	}
}

var _ = conform("LOG-01/posix_trace_flush", func(t *testing.T) {
	s, p := newSlowLog(t, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, StreamSize: 64 << 10})
	tracetest.OK(t, "Start", s.Start())
	recordNumbers(eventID(t, "log.one"), 0, 200, 100)
	flushed := make(chan error, 1)
	go func() { flushed <- s.Flush() }()
	// The flush is in progress, and other threads see that in the status.
	tracetest.Wait(t, "the stream is flushing", func() bool {
		st, err := s.Status()
		tracetest.OK(t, "Status", err)
		return st.StreamFlushStatus == posixtrace.StatusFlushing
	})
	select {
	case err := <-flushed:
		t.Fatalf("Flush = %v before its log has taken everything", err)
	default:
	}
	p.drain()
	tracetest.OK(t, "Flush", <-flushed)
	if st, err := s.Status(); err != nil || st.StreamFlushStatus != posixtrace.StatusNotFlushing || st.StreamFlushError != 0 {
		t.Errorf("after the flush: %+v, %v", st, err)
	}
	tracetest.OK(t, "Shutdown", s.Shutdown())
	<-p.done
	r, err := posixtrace.NewReader(bytes.NewReader(p.data))
	tracetest.OK(t, "NewReader", err)
	n := 0
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		tracetest.OK(t, "Next", err)
		if rec.ID.User() {
			if !strings.HasPrefix(string(rec.Data), strconv.Itoa(n)+" ") {
				t.Fatalf("event %d is %.10q", n, rec.Data)
			}
			n++
		}
	}
	if n != 200 {
		t.Errorf("%d events in the log, want 200", n)
	}
})

var _ = conform("LOG-02/posix_trace_flush/EINVAL", func(t *testing.T) {
	s, err := posixtrace.Create(0, nil)
	tracetest.OK(t, "Create", err)
	wantErrno(t, s.Flush(), syscall.EINVAL)
	tracetest.OK(t, "Shutdown", s.Shutdown())
	wantErrno(t, s.Flush(), syscall.EINVAL)
	s, _ = newLoggedWith(t, posixtrace.Attr{})
	tracetest.OK(t, "Flush", s.Flush())
	tracetest.OK(t, "Shutdown", s.Shutdown())
	wantErrno(t, s.Flush(), syscall.EINVAL)
})

func init() {
	// efbig: a flush at the limit of the file size.
	tracetest.Helpers["log-efbig"] = func(args []string) {
		f, err := os.Create(args[0])
		tracetest.Check(err == nil, "Create: %v", err)
		s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyAppend}, f)
		tracetest.Check(err == nil, "CreateWithLog: %v", err)
		id, _ := posixtrace.OpenEventID("big")
		s.Start()
		recordNumbers(id, 0, 300, 100)
		var old syscall.Rlimit
		syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old)
		low := old
		low.Cur = 16 << 10
		tracetest.Check(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &low) == nil, "setrlimit")
		for range 2 {
			err = s.Flush()
			tracetest.Check(errors.Is(err, syscall.EFBIG), "Flush = %v, want EFBIG", err)
		}
		st, _ := s.Status()
		tracetest.Check(st.StreamFlushError == syscall.EFBIG && st.LogLost == 0, "status: %+v", st)
		if len(args) > 1 {
			// Shutdown with events that cannot be written.
			info, err := s.Info()
			tracetest.Check(err == nil, "Info: %v", err)
			m, _, err := mapStream(s)
			tracetest.Check(err == nil, "map the stream: %v", err)
			held := m.Unflushed(nil)
			err = s.Shutdown()
			tracetest.Check(errors.Is(err, syscall.EFBIG), "Shutdown = %v, want EFBIG", err)
			st := m.Status(false)
			tracetest.Check(held > 0 && st.LogLost > 0 && st.LogOverrun, "held %d, status: %+v", held, st)
			_, err = s.Status()
			tracetest.Check(errors.Is(err, syscall.EINVAL), "Status = %v, want EINVAL", err)
			_, err = os.Stat(info.Path)
			tracetest.Check(os.IsNotExist(err), "the stream's file is still there")
			fmt.Println("ok")
			return
		}
		tracetest.Check(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old) == nil, "setrlimit")
		err = s.Flush()
		tracetest.Check(err == nil, "Flush = %v", err)
		err = s.Shutdown()
		tracetest.Check(err == nil, "Shutdown = %v", err)
		fmt.Println("ok")
	}
	// enospc: a flush on a full device, a file system of its own.
	tracetest.Helpers["log-enospc"] = func(args []string) {
		dir := args[0]
		err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=128k,mode=700")
		tracetest.Check(err == nil, "mount: %v", err)
		f, err := os.Create(filepath.Join(dir, "log"))
		tracetest.Check(err == nil, "Create: %v", err)
		s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyAppend}, f)
		tracetest.Check(err == nil, "CreateWithLog: %v", err)
		filler, err := os.Create(filepath.Join(dir, "filler"))
		tracetest.Check(err == nil, "Create: %v", err)
		_, err = filler.Write(make([]byte, 104<<10))
		tracetest.Check(err == nil, "filler: %v", err)
		id, _ := posixtrace.OpenEventID("much")
		s.Start()
		recordNumbers(id, 0, 300, 100)
		for range 2 {
			err = s.Flush()
			tracetest.Check(errors.Is(err, syscall.ENOSPC), "Flush = %v, want ENOSPC", err)
		}
		st, _ := s.Status()
		tracetest.Check(st.StreamFlushError == syscall.ENOSPC && st.LogLost == 0 && st.Lost == 0, "status: %+v", st)
		st, _ = s.Status()
		tracetest.Check(st.StreamFlushError == 0, "the flush error was not reset: %+v", st)
		if len(args) > 2 {
			info, err := s.Info()
			tracetest.Check(err == nil, "Info: %v", err)
			m, _, err := mapStream(s)
			tracetest.Check(err == nil, "map the stream: %v", err)
			err = s.Shutdown()
			tracetest.Check(errors.Is(err, syscall.ENOSPC), "Shutdown = %v, want ENOSPC", err)
			st := m.Status(false)
			// Events that reached the log are not lost.
			n := copyLog(dir, args[1])
			tracetest.Check(st.LogOverrun && int(st.LogLost)+n == 302, "%d in the log, status: %+v", n, st)
			_, err = os.Stat(info.Path)
			tracetest.Check(os.IsNotExist(err), "the stream's file is still there")
			fmt.Println("ok")
			return
		}
		filler.Truncate(0)
		err = s.Flush()
		tracetest.Check(err == nil, "Flush with room again = %v", err)
		st, _ = s.Status()
		tracetest.Check(st.StreamFlushError == 0 && st.LogOverrunStatus == posixtrace.StatusNoOverrun, "status: %+v", st)
		recordNumbers(id, 300, 50, 100)
		err = s.Shutdown()
		tracetest.Check(err == nil, "Shutdown = %v", err)
		copyLog(dir, args[1])
		fmt.Println("ok")
	}
}

// copyLog takes a log out of a file system that ends with its process, and
// counts the START, STOP and user events in it.
func copyLog(dir, to string) (n int) {
	b, err := os.ReadFile(filepath.Join(dir, "log"))
	tracetest.Check(err == nil, "ReadFile: %v", err)
	err = os.WriteFile(to, b, 0o600)
	tracetest.Check(err == nil, "WriteFile: %v", err)
	r, err := posixtrace.NewReader(bytes.NewReader(b))
	tracetest.Check(err == nil, "NewReader: %v", err)
	for {
		rec, err := r.Next()
		if err != nil {
			return n
		}
		if rec.ID.User() || rec.ID == posixtrace.EventStart || rec.ID == posixtrace.EventStop {
			n++
		}
	}
}

var _ = conform("LOG-02/posix_trace_flush/EFBIG", func(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	tracetest.RunHelper(t, nil, "log-efbig", path)
	events, st := readLog(t, path)
	wantRange(t, "log", numbersOf(t, events, "big"), 0, 300)
	if st.Lost != 0 || st.LogLost != 0 {
		t.Errorf("status: %+v", st)
	}
})

var _ = conform("LOG-02/posix_trace_flush/ENOSPC", func(t *testing.T) {
	tracetest.NeedRoot(t)
	path := filepath.Join(t.TempDir(), "log")
	tracetest.RunHelper(t, &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}, "log-enospc", t.TempDir(), path)
	events, _ := readLog(t, path)
	wantRange(t, "log", numbersOf(t, events, "much"), 0, 350)
})

var _ = conform("LOG-03/posix_trace_flush", func(t *testing.T) {
	limitToOneWriter(t)
	s, p := newSlowLog(t, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, StreamSize: 64 << 10, MaxDataSize: new(256)})
	tracetest.OK(t, "Start", s.Start())
	id := eventID(t, "log.room")
	recordNumbers(id, 0, 200, 100)
	flushed := make(chan error, 1)
	go func() { flushed <- s.Flush() }()
	tracetest.Wait(t, "the stream is flushing", func() bool {
		st, err := s.PeekStatus()
		return err == nil && st.StreamFlushStatus == posixtrace.StatusFlushing
	})
	// While the flush blocks, the stream takes new events until it is full.
	recordNumbers(id, 200, 100, 100)
	if st, _ := s.PeekStatus(); st.StreamFlushStatus != posixtrace.StatusFlushing || st.Lost != 0 || st.StreamStatus != posixtrace.StatusRunning {
		t.Fatalf("during the flush: %+v", st)
	}
	k := 300
	for ; k < 1<<16; k++ {
		recordNumbers(id, k, 1, 100)
		if st, _ := s.PeekStatus(); st.Lost != 0 {
			if st.Lost != 1 || st.StreamFullStatus != posixtrace.StatusFull || st.StreamStatus != posixtrace.StatusSuspended {
				t.Fatalf("the stream has filled up: %+v", st)
			}
			break
		}
	}
	p.drain()
	tracetest.OK(t, "Flush", <-flushed)
	tracetest.OK(t, "Flush", s.Flush())
	// The space is free again: events up to stream-min-size fit.
	if st, _ := s.Status(); st.StreamFullStatus != posixtrace.StatusNotFull || st.StreamStatus != posixtrace.StatusRunning {
		t.Errorf("after the flush: %+v", st)
	}
	a, _ := s.Attr()
	n := int(a.StreamSize)/a.MaxUserEventSize(100) - 8
	recordNumbers(id, k+1, n, 100)
	if st, _ := s.PeekStatus(); st.Lost != 1 {
		t.Errorf("%d events after the flush: %+v", n, st)
	}
	tracetest.OK(t, "Shutdown", s.Shutdown())
	<-p.done
	r, err := posixtrace.NewReader(bytes.NewReader(p.data))
	tracetest.OK(t, "NewReader", err)
	want := 0
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		tracetest.OK(t, "Next", err)
		if rec.ID.User() {
			if want == k {
				want++ // the one that was lost
			}
			if !strings.HasPrefix(string(rec.Data), strconv.Itoa(want)+" ") {
				t.Fatalf("event is %.10q, want %d", rec.Data, want)
			}
			want++
		}
	}
	if want != k+1+n {
		t.Errorf("the log ends at %d, want %d", want, k+1+n)
	}
})

var _ = conform("LOG-04", func(t *testing.T) {
	s, path := newLoggedWith(t, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyAppend})
	id := eventID(t, "log.mark")
	tracetest.OK(t, "Flush", s.Flush()) // suspended, never started
	tracetest.OK(t, "Start", s.Start())
	recordNumbers(id, 0, 1, 10)
	tracetest.OK(t, "Flush", s.Flush()) // running
	recordNumbers(id, 1, 1, 10)
	tracetest.OK(t, "Stop", s.Stop())
	tracetest.OK(t, "Flush", s.Flush()) // suspended
	tracetest.OK(t, "Shutdown", s.Shutdown())
	events, _ := readLog(t, path)
	var names []string
	for _, e := range events {
		names = append(names, strings.TrimPrefix(e.name, "posix_trace_"))
		if (e.ID == posixtrace.EventFlushStart || e.ID == posixtrace.EventFlushStop) && (e.data != "" || e.PID != 0 || e.TID != 0 || e.Address != 0) {
			t.Errorf("%s has data %q, process %d, thread %d", e.name, e.data, e.PID, e.TID)
		}
	}
	want := "flush_start flush_stop start log.mark flush_start flush_stop log.mark stop flush_start flush_stop flush_start flush_stop"
	if have := strings.Join(names, " "); have != want {
		t.Errorf("have %s\nwant %s", have, want)
	}
})

// Automatic flushes have their marks, too.
var _ = conform("LOG-04/regular", func(t *testing.T) {
	s, path := newLoggedWith(t, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyFlush, LogFullPolicy: posixtrace.PolicyAppend, StreamSize: 16 << 10})
	tracetest.OK(t, "Start", s.Start())
	id := eventID(t, "log.mark")
	for i := 0; ; i++ {
		recordNumbers(id, i, 1, 100)
		if st, err := os.Stat(path); err == nil && st.Size() > 256<<10 {
			break // full-caused and half-full ones
		}
		if i > 1<<20 {
			t.Fatal("the log does not grow")
		}
	}
	tracetest.OK(t, "Shutdown", s.Shutdown())
	events, _ := readLog(t, path)
	open, pairs := false, 0
	for i, e := range events {
		switch e.ID {
		case posixtrace.EventFlushStart:
			if open {
				t.Fatalf("event %d: a flush starts in a flush", i)
			}
			open = true
		case posixtrace.EventFlushStop:
			if !open {
				t.Fatalf("event %d: a flush stops that has not started", i)
			}
			open = false
			pairs++
		}
	}
	if open || pairs < 2 {
		t.Errorf("%d flushes, the last one open: %v", pairs, open)
	}
})

var _ = conform("LOG-05", func(t *testing.T) {
	s, path := newLoggedWith(t, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyFlush, LogFullPolicy: posixtrace.PolicyAppend, StreamSize: 4 << 20})
	tracetest.OK(t, "Start", s.Start())
	id := eventID(t, "log.once")
	const n = 20000
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range n {
			recordNumbers(id, i, 1, 40)
			if i%512 == 0 {
				time.Sleep(100 * time.Microsecond) // lets the flushes in between
			}
		}
	}()
	flushes := 0
	for end := false; !end; flushes++ {
		select {
		case <-done:
			end = true
		default:
		}
		tracetest.OK(t, "Flush", s.Flush())
	}
	if st, _ := s.Status(); st.Lost != 0 {
		t.Fatalf("lost events: %+v", st)
	}
	tracetest.OK(t, "Shutdown", s.Shutdown())
	events, _ := readLog(t, path)
	wantRange(t, fmt.Sprintf("after %d flushes", flushes), numbersOf(t, events, "log.once"), 0, n)
})

// runLogPolicy plays rounds of numbered events, each flushed, against a log, and
// returns what the log holds in the end and what had become of the events before Shutdown.
func runLogPolicy(t *testing.T, attr posixtrace.Attr, rounds, per int) (list []int, events []namedEvent, before, st posixtrace.Status) {
	t.Helper()
	limitToOneWriter(t)
	s, path := newLoggedWith(t, attr)
	tracetest.OK(t, "Start", s.Start())
	id := eventID(t, "log.policy")
	for i := range rounds {
		recordNumbers(id, i*per, per, 100)
		tracetest.OK(t, "Flush", s.Flush())
	}
	before, err := s.PeekStatus()
	tracetest.OK(t, "PeekStatus", err)
	tracetest.OK(t, "Shutdown", s.Shutdown())
	events, st = readLog(t, path)
	return numbersOf(t, events, "log.policy"), events, before, st
}

var _ = conform("LOG-06", func(t *testing.T) {
	const n = 100 * 40
	list, _, before, st := runLogPolicy(t, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyUntilFull, LogSize: 1, StreamSize: 16 << 10, MaxDataSize: new(128)}, 100, 40)
	if len(list) == 0 || len(list) == n {
		t.Fatalf("%d of %d events are in the log", len(list), n)
	}
	wantRange(t, "oldest", list, 0, len(list))
	for _, s := range []posixtrace.Status{before, st} {
		if s.LogFullStatus != posixtrace.StatusFull || s.LogOverrunStatus != posixtrace.StatusOverrun || s.StreamStatus != posixtrace.StatusSuspended {
			t.Errorf("status: %+v", s)
		}
	}
	if st.LogLost == 0 {
		t.Errorf("nothing was thrown away: %+v", st)
	}
})

var _ = conform("LOG-07", func(t *testing.T) {
	for _, sp := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull, posixtrace.PolicyFlush} {
		t.Run(sp.String(), func(t *testing.T) {
			s, path := newLoggedWith(t, posixtrace.Attr{StreamFullPolicy: sp, LogFullPolicy: posixtrace.PolicyUntilFull, LogSize: 1, StreamSize: 16 << 10, MaxDataSize: new(128)})
			tracetest.OK(t, "Start", s.Start())
			id := eventID(t, "log.end")
			for i := 0; ; i++ {
				recordNumbers(id, i*20, 20, 100)
				tracetest.OK(t, "Flush", s.Flush())
				if st, _ := s.PeekStatus(); st.LogFullStatus == posixtrace.StatusFull {
					break
				}
				if i > 1000 {
					t.Fatal("the log never fills")
				}
			}
			// No automatic restart: neither by another flush nor by a start.
			recordNumbers(id, 1<<20, 20, 100)
			tracetest.OK(t, "Flush", s.Flush())
			tracetest.OK(t, "Start", s.Start())
			recordNumbers(id, 1<<20, 20, 100)
			tracetest.OK(t, "Flush", s.Flush())
			if st, _ := s.PeekStatus(); st.StreamStatus != posixtrace.StatusSuspended || st.LogFullStatus != posixtrace.StatusFull {
				t.Errorf("a stream whose log is full: %+v", st)
			}
			tracetest.OK(t, "Shutdown", s.Shutdown())
			events, _ := readLog(t, path)
			last := events[len(events)-1]
			if cause, err := posixtrace.DecodeInt([]byte(last.data)); last.ID != posixtrace.EventStop || err != nil || cause != posixtrace.StopLogFull {
				t.Errorf("the last event is %v, want STOP with cause %d", last, posixtrace.StopLogFull)
			}
			if n := countOf(events, posixtrace.EventStop); sp != posixtrace.PolicyFlush && n != 1 {
				t.Errorf("%d STOP events", n)
			}
		})
	}
	t.Run("clear", func(t *testing.T) {
		s, path := newLoggedWith(t, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyUntilFull, LogSize: 1, StreamSize: 16 << 10, MaxDataSize: new(128)})
		tracetest.OK(t, "Start", s.Start())
		id := eventID(t, "log.end")
		for i := range 100 {
			recordNumbers(id, i*20, 20, 100)
			tracetest.OK(t, "Flush", s.Flush())
		}
		tracetest.OK(t, "Clear", s.Clear())
		tracetest.OK(t, "Start", s.Start())
		recordNumbers(id, 7, 3, 100)
		if st, _ := s.Status(); st.StreamStatus != posixtrace.StatusRunning || st.LogFullStatus != posixtrace.StatusNotFull {
			t.Errorf("cleared and started: %+v", st)
		}
		tracetest.OK(t, "Shutdown", s.Shutdown())
		events, _ := readLog(t, path)
		wantRange(t, "cleared", numbersOf(t, events, "log.end"), 7, 3)
	})
})

var _ = conform("LOG-08", func(t *testing.T) {
	const n = 100 * 40
	attr := posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyLoop, LogSize: 1, StreamSize: 16 << 10, MaxDataSize: new(128)}
	list, events, before, st := runLogPolicy(t, attr, 100, 40)
	if len(list) == 0 || len(list) == n {
		t.Fatalf("%d of %d events are in the log", len(list), n)
	}
	wantRange(t, "newest", list, n-len(list), len(list))
	for _, s := range []posixtrace.Status{before, st} {
		if s.LogFullStatus != posixtrace.StatusFull || s.LogOverrunStatus != posixtrace.StatusOverrun {
			t.Errorf("status: %+v", s)
		}
	}
	if k := countOf(events, posixtrace.EventOverflow); k != 0 {
		t.Errorf("%d OVERFLOW events were invented for the log", k)
	}
	// log_overrun reports the first replacement, and once read, of new ones only.
	s, _ := newLoggedWith(t, attr)
	tracetest.OK(t, "Start", s.Start())
	id := eventID(t, "log.policy")
	for i := range 100 {
		recordNumbers(id, i*40, 40, 100)
		tracetest.OK(t, "Flush", s.Flush())
		st, _ := s.Status()
		if full := st.LogFullStatus == posixtrace.StatusFull; full != (st.LogOverrunStatus == posixtrace.StatusOverrun) || !full && st.LogLost > 0 {
			t.Fatalf("flush %d: %+v", i, st)
		}
		if st, _ := s.Status(); st.LogOverrunStatus != posixtrace.StatusNoOverrun {
			t.Fatalf("flush %d: read twice: %+v", i, st)
		}
	}
	if st, _ := s.Status(); st.LogFullStatus != posixtrace.StatusFull || st.LogLost == 0 {
		t.Errorf("the log never filled: %+v", st)
	}
	flushEachEvent(t)
})

// notesOf returns how many bytes of notes on mappings a log has. A log has them beside the events.
func notesOf(t *testing.T, path string) (bytes int) {
	t.Helper()
	f, err := os.Open(path)
	tracetest.OK(t, "Open", err)
	defer f.Close()
	r, err := posixtrace.NewReader(f)
	tracetest.OK(t, "NewReader", err)
	defer r.Close()
	r.Select(posixtrace.Selection{Mappings: true})
	for rec, err := range r.All() {
		tracetest.OK(t, "All", err)
		if rec.ID == posixtrace.EventProcMap {
			bytes += 16 + len(rec.Data)
		}
	}
	return bytes
}

// flushEachEvent flushes after every event, with all the marks that a flush leaves in
// the log. The log gives up nothing before it is full, and what it keeps is the
// newest, as much as it has room for.
func flushEachEvent(t *testing.T) {
	t.Helper()
	limitToOneWriter(t)
	const n, size = 10_000, 256 << 10
	s, path := newLoggedWith(t, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyLoop, LogSize: size, StreamSize: 16 << 10, MaxDataSize: new(128)})
	tracetest.OK(t, "Start", s.Start())
	id := eventID(t, "log.sparse")
	for i := range n {
		recordNumbers(id, i, 1, 16)
		tracetest.OK(t, "Flush", s.Flush())
		if i == 1000 {
			if st, _ := s.Status(); st.LogFullStatus == posixtrace.StatusFull || st.LogLost > 0 {
				t.Fatalf("full after %d flushes of one event: %+v", i, st)
			}
		}
	}
	tracetest.OK(t, "Shutdown", s.Shutdown())
	events, st := readLog(t, path)
	list := numbersOf(t, events, "log.sparse")
	wantRange(t, "newest", list, n-len(list), len(list))
	if st.LogLost != uint64(n-len(list))+1 { // and START
		t.Errorf("%d events and a START are not in the log, LogLost = %d", n-len(list), st.LogLost)
	}
	// Records: an event of 16 bytes, the description of its trace point, and two marks.
	bytes := 0
	for _, e := range events {
		bytes += 40
		if e.name == "log.sparse" {
			bytes += 16
		}
	}
	bytes += notesOf(t, path)
	if bytes < size*8/10 || bytes > size {
		t.Errorf("%d bytes of records in a log of %d", bytes, size)
	}
	// Beside the events: headers and the rest of what the file needs (ATR-20), and the types
	// that the tests before have left behind.
	f, err := os.Open(path)
	tracetest.OK(t, "Open", err)
	defer f.Close()
	r, err := posixtrace.NewReader(f)
	tracetest.OK(t, "NewReader", err)
	types := int64(0)
	for _, name := range eventTypesOf(t, r) {
		types += int64(len(name)) + 16
	}
	r.Close()
	if fi, err := os.Stat(path); err != nil || fi.Size() > size+size/8+types {
		t.Errorf("%v, %v", fi.Size(), err)
	}
}

var _ = conform("LOG-09", func(t *testing.T) {
	const n = 100 * 40
	list, _, before, st := runLogPolicy(t, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyAppend, LogSize: 1, StreamSize: 16 << 10, MaxDataSize: new(128)}, 100, 40)
	wantRange(t, "append", list, 0, n)
	for _, s := range []posixtrace.Status{before, st} {
		if s.LogFullStatus != posixtrace.StatusNotFull || s.LogOverrunStatus != posixtrace.StatusNoOverrun || s.LogLost != 0 {
			t.Errorf("status: %+v", s)
		}
	}
})

// Every pair of policies, with so many events that whatever can lose some does,
// and not one unaccounted for: START and STOP are filtered, so that what is
// counted is what the trace point was called with.
var _ = conform("LOG-10", func(t *testing.T) {
	for _, sp := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull, posixtrace.PolicyFlush} {
		for _, lp := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull, posixtrace.PolicyAppend} {
			for _, burst := range []int{20, 800} {
				t.Run(fmt.Sprintf("%v/%v/%d", sp, lp, burst), func(t *testing.T) {
					limitToOneWriter(t)
					s, path := newLoggedWith(t, posixtrace.Attr{StreamFullPolicy: sp, LogFullPolicy: lp, LogSize: 1, StreamSize: 16 << 10, MaxDataSize: new(128)})
					var system posixtrace.EventSet
					system.Fill(posixtrace.FillSystem)
					tracetest.OK(t, "SetFilter", s.SetFilter(system, posixtrace.FilterSet))
					tracetest.OK(t, "Start", s.Start())
					id := eventID(t, "log.pair")
					const n = 3200
					for i := 0; i < n; i += burst {
						recordNumbers(id, i, burst, 100)
						tracetest.OK(t, "Flush", s.Flush())
					}
					tracetest.OK(t, "Shutdown", s.Shutdown())
					events, st := readLog(t, path)
					list := numbersOf(t, events, "log.pair")
					if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
						t.Errorf("events are out of order or twice in the log")
					}
					if uint64(len(list))+st.LogLost+st.Lost != n {
						t.Errorf("%d in the log + %d lost by the log + %d lost by the stream = %d, want %d",
							len(list), st.LogLost, st.Lost, uint64(len(list))+st.LogLost+st.Lost, n)
					}
					switch {
					case len(list) == 0:
						t.Error("nothing in the log")
					case lp == posixtrace.PolicyAppend && st.LogLost != 0:
						t.Errorf("a log without limit has lost events: %+v", st)
					case lp == posixtrace.PolicyAppend && burst == 20 && (st.Lost != 0 || len(list) != n):
						t.Errorf("nothing had to be lost: %+v", st)
					case lp == posixtrace.PolicyLoop && burst == 20:
						wantRange(t, "newest", list, n-len(list), len(list))
					case lp == posixtrace.PolicyUntilFull && burst == 20:
						wantRange(t, "oldest", list, 0, len(list))
					case sp == posixtrace.PolicyLoop && lp == posixtrace.PolicyLoop && list[len(list)-1] != n-1:
						t.Errorf("the newest event in the log is %d, want %d", list[len(list)-1], n-1)
					case sp == posixtrace.PolicyUntilFull && lp == posixtrace.PolicyUntilFull && list[0] != 0:
						t.Errorf("the oldest event in the log is %d, want 0", list[0])
					}
					if burst > 20 && sp != posixtrace.PolicyFlush && lp == posixtrace.PolicyAppend && st.Lost == 0 {
						t.Errorf("bursts of %d have lost nothing: %+v", burst, st)
					}
				})
			}
		}
	}
})

// What a flush leaves in a log when there is no more room, wherever in it that
// happens, and when there is room again.
func init() {
	tracetest.Helpers["log-steps"] = func(args []string) {
		tracetest.Check(len(args) == 2, "%v", args)
		p := map[string]posixtrace.FullPolicy{"loop": posixtrace.PolicyLoop, "until-full": posixtrace.PolicyUntilFull, "append": posixtrace.PolicyAppend}[args[1]]
		path := args[0]
		f, err := os.Create(path)
		tracetest.Check(err == nil, "Create: %v", err)
		s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: p, StreamSize: 64 << 10, LogSize: 64 << 10}, f)
		tracetest.Check(err == nil, "CreateWithLog: %v", err)
		id, _ := posixtrace.OpenEventID("step")
		s.Start()
		var old syscall.Rlimit
		syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old)
		limit := func(n uint64) {
			low := old
			low.Cur = min(n, old.Max)
			tracetest.Check(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &low) == nil, "setrlimit")
		}
		n, failed := 0, 0
		whole := func(what string) {
			f, err := os.Open(path)
			tracetest.Check(err == nil, "Open: %v", err)
			defer f.Close()
			r, err := posixtrace.NewReader(f)
			tracetest.Check(err == nil, "%s: NewReader: %v", what, err)
			defer r.Close()
			next := 0
			for {
				rec, err := r.Next()
				if err == io.EOF {
					break
				}
				tracetest.Check(err == nil, "%s: %v", what, err)
				if rec.ID == id {
					i, _, _ := strings.Cut(string(rec.Data), " ")
					tracetest.Check(i == strconv.Itoa(next), "%s: event %s, want %d", what, i, next)
					next++
				}
			}
			tracetest.Check(next == n, "%s: %d events, want %d", what, next, n)
		}
		for step := range 60 {
			fi, err := f.Stat()
			tracetest.Check(err == nil, "Stat: %v", err)
			recordNumbers(id, n, 3, 20)
			n += 3
			if p == posixtrace.PolicyLoop {
				limit(uint64(step) * 200) // within what it has
			} else {
				limit(uint64(fi.Size()) + uint64(step)*9)
			}
			err = s.Flush()
			tracetest.Check(err == nil || errors.Is(err, syscall.EFBIG), "Flush = %v", err)
			if err != nil {
				failed++
			}
			limit(old.Cur)
			whole(fmt.Sprintf("step %d, Flush = %v", step, err))
			if step%3 > 0 {
				tracetest.Check(s.Flush() == nil, "no room again")
				whole(fmt.Sprintf("after step %d", step))
			}
		}
		tracetest.Check(failed > 20, "only %d failures", failed)
		tracetest.Check(s.Shutdown() == nil, "Shutdown failed")
		fmt.Println("ok")
	}
}

var _ = conform("LOG-11/posix_trace_flush", func(t *testing.T) {
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull, posixtrace.PolicyAppend} {
		path := filepath.Join(t.TempDir(), "log")
		tracetest.RunHelper(t, nil, "log-steps", path, p.String())
		events, st := readLog(t, path)
		wantRange(t, p.String(), numbersOf(t, events, "step"), 0, 180)
		if st.Lost != 0 || st.LogLost != 0 {
			t.Errorf("%v: status: %+v", p, st)
		}
	}
})

// A stream in which nothing happens writes nothing to its log, whatever looks
// after it.
var _ = conform("LOG-01/idle", func(t *testing.T) {
	s, path := newLoggedWith(t, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyFlush, LogFullPolicy: posixtrace.PolicyAppend})
	tracetest.OK(t, "Start", s.Start())
	recordNumbers(eventID(t, "log.idle"), 0, 3, 10)
	tracetest.OK(t, "Flush", s.Flush())
	before, err := os.Stat(path)
	tracetest.OK(t, "Stat", err)
	// Automatic flushes come each second while the stream holds an event.
	time.Sleep(1200 * time.Millisecond)
	after, err := os.Stat(path)
	tracetest.OK(t, "Stat", err)
	if after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("an idle stream has written %d bytes to its log", after.Size()-before.Size())
	}
	tracetest.OK(t, "Shutdown", s.Shutdown())
})

var _ = conform("LOG-11", func(t *testing.T) {
	tracetest.NeedRoot(t)
	// The helper checks the flush error and the content of the stream; this test checks the events
	// lost at a shutdown without room.
	tracetest.RunHelper(t, &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}, "log-enospc", t.TempDir(), filepath.Join(t.TempDir(), "log"), "shutdown")
})

var _ = conform("LOG-12", func(t *testing.T) {
	attr := posixtrace.Attr{Name: "whole", StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyUntilFull, StreamSize: 32 << 10, MaxDataSize: new(77), LogSize: 100 << 10, Inheritance: posixtrace.InheritChildren}
	s, path := newLoggedWith(t, attr)
	want, err := s.Attr()
	tracetest.OK(t, "Attr", err)
	tracetest.OK(t, "Start", s.Start())
	recordNumbers(eventID(t, "log.whole"), 0, 3, 10)
	eventID(t, "log.unused")
	types := map[posixtrace.EventID]string{}
	for id, name := range eventTypesOf(t, s) {
		types[id] = name
	}
	tracetest.OK(t, "Shutdown", s.Shutdown())
	// A copy, so that nothing but the file can be the source.
	b, err := os.ReadFile(path)
	tracetest.OK(t, "ReadFile", err)
	os.Remove(path)
	path = filepath.Join(t.TempDir(), "copy.trace")
	tracetest.OK(t, "WriteFile", os.WriteFile(path, b, 0o600))
	l := openLogAt(t, path)
	defer l.Close()
	have, err := l.Attr()
	tracetest.OK(t, "Attr", err)
	if !have.CreateTime.Equal(want.CreateTime) {
		t.Errorf("created at %v, want %v", have.CreateTime, want.CreateTime)
	}
	have.CreateTime = want.CreateTime
	if have != want {
		t.Errorf("attributes %+v, want %+v", have, want)
	}
	for id, name := range eventTypesOf(t, l) {
		if types[id] != name {
			t.Errorf("type %d is %q, want %q", id, name, types[id])
		}
		delete(types, id)
	}
	if len(types) != 0 {
		t.Errorf("the log does not know %v", types)
	}
	if st, err := l.Status(); err != nil || st != (posixtrace.Status{}) {
		t.Errorf("status %+v, %v", st, err)
	}
	wantRange(t, "log", numbersOf(t, readNamed(t, l), "log.whole"), 0, 3)
	// Without its validity mark it is not finished.
	tracetest.OK(t, "WriteFile", os.WriteFile(path, b[:len(b)-1], 0o600))
	f, err := os.Open(path)
	tracetest.OK(t, "Open", err)
	defer f.Close()
	r, err := posixtrace.NewReader(f)
	tracetest.OK(t, "NewReader", err)
	defer r.Close()
	if state, why := r.State(); state == posixtrace.LogFinished {
		t.Errorf("a log without its last byte is %v, %v", state, why)
	}
})

var _ = conform("LOG-13", func(t *testing.T) {
	s, path := newLoggedWith(t, posixtrace.Attr{Name: "foreign"})
	tracetest.OK(t, "Start", s.Start())
	tracetest.OK(t, "Shutdown", s.Shutdown())
	b, err := os.ReadFile(path)
	tracetest.OK(t, "ReadFile", err)
	size := int(b[16]) | int(b[17])<<8 | int(b[18])<<16 // of the superblock
	if size < 100 || size > len(b) {
		t.Fatalf("superblock of %d bytes", size)
	}
	// A log with any changed byte is refused: of the magic, the version, the byte order, an
	// attribute.
	for i := range size {
		c := bytes.Clone(b)
		c[i] ^= 0x11
		tracetest.OK(t, "WriteFile", os.WriteFile(path, c, 0o600))
		f, err := os.Open(path)
		tracetest.OK(t, "Open", err)
		l, err := posixtrace.Open(f)
		f.Close()
		if err == nil {
			l.Close()
			t.Errorf("a log whose byte %d is not right was opened", i)
			continue
		}
		wantErrno(t, err, syscall.EINVAL)
	}
})

var _ = conform("LOG-14/posix_trace_open/EINVAL", func(t *testing.T) {
	// Its owner is alive. With the default policy, FLUSH, the stream would flush the rest by itself
	// after a second.
	s, path := newLoggedWith(t, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyAppend})
	tracetest.OK(t, "Start", s.Start())
	id := eventID(t, "log.live")
	recordNumbers(id, 0, 5, 10)
	tracetest.OK(t, "Flush", s.Flush())
	recordNumbers(id, 5, 5, 10)
	f, err := os.Open(path)
	tracetest.OK(t, "Open", err)
	defer f.Close()
	_, err = posixtrace.Open(f)
	wantErrno(t, err, syscall.EINVAL)
	if st, _ := s.Status(); st.StreamStatus != posixtrace.StatusRunning {
		t.Errorf("looking at the log has touched the stream: %+v", st)
	}
	// The same file as on another machine, where there is no such stream.
	b, err := os.ReadFile(path)
	tracetest.OK(t, "ReadFile", err)
	tracetest.OK(t, "Shutdown", s.Shutdown())
	copied := filepath.Join(t.TempDir(), "copy.trace")
	tracetest.OK(t, "WriteFile", os.WriteFile(copied, b, 0o600))
	events, st := readLog(t, copied)
	wantRange(t, "unfinished", numbersOf(t, events, "log.live"), 0, 5)
	if st.LogOverrunStatus != posixtrace.StatusOverrun {
		t.Errorf("the status does not say that events are missing: %+v", st)
	}
	after, err := os.ReadFile(copied)
	if err != nil || !bytes.Equal(after, b) {
		t.Errorf("opening it has changed the copy, %v", err)
	}
	// On this one it is finished now.
	events, st = readLog(t, path)
	wantRange(t, "finished", numbersOf(t, events, "log.live"), 0, 10)
	if st.LogOverrunStatus != posixtrace.StatusNoOverrun {
		t.Errorf("status of the finished log: %+v", st)
	}
})
