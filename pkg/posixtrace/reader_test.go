package posixtrace

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracee"
)

// A closed Reader of a live log, or of its stream, leaves no file open: a program that follows a
// log makes many.
func TestClosedReaderLeavesNothingOpen(t *testing.T) {
	s, path := withLog(t, nil)
	tracetest.OK(t, "Start", s.Start())
	id, err := OpenEventID("reader.closes")
	tracetest.OK(t, "OpenEventID", err)
	Event(id, []byte("x"))
	open := func() int {
		list, err := filepath.Glob("/proc/self/fd/*")
		tracetest.OK(t, "Glob", err)
		return len(list)
	}
	read := func() {
		r, err := s.Reader()
		tracetest.OK(t, "Reader", err)
		defer r.Close()
		if state, _ := r.State(); state != LogLive {
			t.Fatalf("%s is %v", path, state)
		}
		for {
			rec, err := r.Next()
			tracetest.OK(t, "Next", err)
			if rec.ID.User() {
				// The name is not yet in the log.
				if name := r.EventName(rec.ID); name != "reader.closes" {
					t.Fatalf("the event's name is %q", name)
				}
				return
			}
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close what we forget
	read()
	before := open()
	for range 20 {
		read()
	}
	if after := open(); after >= before+5 {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func init() {
	// midway: dies in the middle of an event.
	tracetest.Helpers["midway"] = func([]string) {
		id, err := OpenEventID("midway")
		if err != nil {
			panic(err)
		}
		Event(id, nil)
		if !tracee.Self.Table.Load().Streams[0].Writer.LeaveBusy() {
			panic("there is no event to be in the middle of")
		}
		os.Exit(0)
	}
}

// A writer dies in the middle of an event: a reader waits for it once, not with every read.
func TestReaderWaitsOnceForDeadWriter(t *testing.T) {
	s := running(t, 0, Attr{Inheritance: InheritChildren})
	c := tracetest.Start(t, "midway")
	if err := c.Cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	dead := func() bool {
		return slices.ContainsFunc(writersOf(s.c.Mem), func(p sys.Proc) bool { return !p.Alive() })
	}
	if !dead() {
		t.Fatal("the dead has left nothing")
	}
	id, err := OpenEventID("buries")
	if err != nil {
		t.Fatal(err)
	}
	s.TryNext(nil) // which looks for the dead, being the first
	s.read.r = s.c.Mem.NewReader()
	if dead() {
		t.Fatal("the first reader has not looked for the dead")
	}
	c = tracetest.Start(t, "midway")
	if err := c.Cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(time.Minute); dead(); {
		Event(id, nil)
		if _, _, err := s.TryNext(nil); err != nil && err != ErrUnavailable {
			t.Fatal(err)
		}
		if time.Now().After(until) {
			t.Fatal("each read waits for the dead writer")
		}
	}
}

// TestShutdownWhileReading shuts streams down during reads. Each waits for the other's step; an
// earlier version deadlocked.
func TestShutdownWhileReading(t *testing.T) {
	id, err := OpenEventID("read")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 200 {
		s := running(t, 0, Attr{})
		ended := make(chan error)
		go func() {
			for {
				Event(id, nil)
				if _, _, err := s.TryNext(nil); err != nil && err != ErrUnavailable {
					ended <- err
					return
				}
			}
		}()
		time.Sleep(time.Duration(n) * 5 * time.Microsecond)
		if n%2 == 0 {
			other, err := Attach(s.c.Path)
			if err != nil {
				t.Fatal(err)
			}
			if err := other.Shutdown(); err != nil {
				t.Fatal(err)
			}
			s.Close()
		} else if err := s.Shutdown(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if !errors.Is(err, syscall.EINVAL) {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("a reader and a shutdown wait for each other")
		}
	}
}

func TestEventTypesOfAClosedStreamAndLogFail(t *testing.T) {
	s, path := withLog(t, &Attr{LogFullPolicy: PolicyAppend})
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	if types, err := l.EventTypes(); err != nil || len(types) == 0 || types[0] != (EventType{EventError, "posix_trace_error"}) {
		t.Errorf("EventTypes of a log = %v, %v", types, err)
	}
	l.Close()
	for _, x := range []interface{ EventTypes() ([]EventType, error) }{s, l} {
		if types, err := x.EventTypes(); !errors.Is(err, syscall.EINVAL) || types != nil {
			t.Errorf("EventTypes of a closed %T = %v, %v, want EINVAL", x, types, err)
		}
	}
}
