package posixtrace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// A second Shutdown of a stream returns after the first has removed the file: it may be the
// last call of its process.
func TestConcurrentShutdownWaitsForRemoval(t *testing.T) {
	for range 200 {
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := CreateWithLog(0, &Attr{StreamSize: 8 << 10}, log)
		if err != nil {
			t.Fatal(err)
		}
		info, err := s.Info()
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- s.Shutdown() }()
		for err == nil {
			runtime.Gosched()
			_, err = s.Info()
		}
		if err := s.Shutdown(); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("the second Shutdown: %v", err)
		}
		if _, err := os.Stat(info.Path); !os.IsNotExist(err) {
			t.Errorf("there is still its file: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("the first Shutdown: %v", err)
		}
		log.Close()
	}
}

// A Shutdown of a stream that is marked dead, with its file still there, removes the file: the process
// that shut it down was killed before it could, or a process has written into the header.
func TestShutdownRemovesDeadStream(t *testing.T) {
	for _, logged := range []bool{false, true} {
		var s *Stream
		var err error
		if logged {
			log, e := os.Create(filepath.Join(t.TempDir(), "log"))
			if e != nil {
				t.Fatal(e)
			}
			defer log.Close()
			s, err = CreateWithLog(0, nil, log)
		} else {
			s, err = Create(0, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		info, err := s.Info()
		if err != nil {
			t.Fatal(err)
		}
		s.c.Mem.Kill()
		if err := s.Shutdown(); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("logged %v: Shutdown: %v", logged, err)
		}
		if _, err := os.Stat(info.Path); !os.IsNotExist(err) {
			t.Errorf("logged %v: there is still its file: %v", logged, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("logged %v: Close: %v", logged, err)
		}
	}
}

// A Close beside a Shutdown, of the owner or of another handle, leaves a stream that a Shutdown still ends:
// its log is served or the stream is shut down.
func TestCloseBesideShutdown(t *testing.T) {
	for i := range 150 {
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := CreateWithLog(0, &Attr{StreamSize: 8 << 10}, log)
		if err != nil {
			t.Fatal(err)
		}
		path := s.c.Path
		other, err := Attach(path)
		if err != nil {
			t.Fatal(err)
		}
		by := []*Stream{s, other}[i%2]
		begin, ended := make(chan struct{}), make(chan struct{})
		var calls sync.WaitGroup
		calls.Go(func() { <-begin; s.Close() })
		calls.Go(func() { <-begin; by.Shutdown() })
		close(begin)
		go func() {
			calls.Wait()
			if again, err := Attach(path); err == nil {
				again.Shutdown()
			}
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatalf("Close beside Shutdown of %s: the stream lives", []string{"the owner", "another handle"}[i%2])
		}
		r, err := NewReader(log)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = r.Next()
		}
		if err != io.EOF {
			t.Errorf("the log is not complete: %v", err)
		}
		r.Close()
		log.Close()
		other.Close()
	}
}

// The same of a stream whose file is cut short at that time: in the end it
// is removed, and closed.
func TestCloseBesideShutdownOfCutStream(t *testing.T) {
	for i := range 100 {
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := CreateWithLog(0, &Attr{StreamSize: 8 << 10}, log)
		if err != nil {
			t.Fatal(err)
		}
		path := s.c.Path
		begin := make(chan struct{})
		var calls sync.WaitGroup
		calls.Go(func() { <-begin; s.Close() })
		calls.Go(func() { <-begin; os.Truncate(path, 0) })
		if i%2 == 0 {
			calls.Go(func() { <-begin; s.Shutdown() })
		}
		close(begin)
		calls.Wait()
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			if _, err := List(); err != nil { // as the next command does
				t.Fatal(err)
			}
			_, err := os.Stat(path)
			if errors.Is(err, os.ErrNotExist) && !slices.ContainsFunc(tracetest.Leaks(filepath.Dir(path)), func(l string) bool {
				return strings.Contains(l, filepath.Base(path))
			}) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("Close beside the cut, Shutdown too: %v: the file stays, or is open: %v", i%2 == 0, err)
			}
		}
		log.Close()
	}
}

// What tool.BeforeShutdown calls for a stream of a dead owner may read the stream: that does not complete the
// log a second time, in the middle of its completion.
func TestLastEventsReadTheStream(t *testing.T) {
	defer beforeShutdown.Store(beforeShutdown.Load())
	path := filepath.Join(t.TempDir(), "log")
	owner := tracetest.Start(t, "midowner", strconv.Itoa(os.Getpid()), path, strconv.Itoa(int(PolicyFlush)))
	owner.Line()
	Event(EventUnnamed, []byte("before"))
	calls := 0
	last := func(s *Stream, ended int64) {
		if calls++; calls > 1 {
			t.Error("called again")
			return
		}
		r, err := s.Reader()
		if err != nil {
			t.Error(err)
			return
		}
		defer r.Close()
		if list, err := collectAll(r.All()); err != nil || fmt.Sprint(list) != "[posix_trace_unnamed_userevent before]" {
			t.Errorf("read %q, %v", list, err)
		}
		rec, err := s.Recorder()
		if err != nil {
			t.Error(err)
			return
		}
		rec.Record(EventInfo{ID: EventUnnamed, PID: os.Getpid()}, []byte("last"))
		rec.Close()
	}
	beforeShutdown.Store(&last)
	owner.Cmd.Process.Kill()
	owner.Cmd.Wait()
	if _, err := List(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(unnamed(t, path)); got != "[before last]" || calls != 1 {
		t.Errorf("the log has %s after %d calls", got, calls)
	}
}
