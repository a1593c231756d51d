package posixtrace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracee"
)

// patience is how long these tests wait for a call that must not wait.
const patience = 30 * time.Second

// soon runs f, which must not wait for the locks that the test holds.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s waits", what)
	}
}

// holdStream takes the lock of a stream as another process would.
func holdStream(t *testing.T, path string) (release func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := sys.Flock(f, true, true); err != nil {
		t.Fatal(err)
	}
	return func() { sys.Funlock(f) }
}

// TestTracePointTakesNoMutex holds the mutexes of the process and of the stream.
func TestTracePointTakesNoMutex(t *testing.T) {
	s := running(t, 0, Attr{})
	id, err := OpenEventID("neverwait.mutex")
	tracetest.OK(t, "OpenEventID", err)
	Event(id, nil) // connects
	tracee.Self.Mutex().Lock()
	s.mu.Lock()
	s.c.Mutex().Lock()
	soon(t, "a trace point", func() {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 25 {
					Event(id, nil)
				}
			})
		}
		wg.Wait()
	})
	s.c.Mutex().Unlock()
	s.mu.Unlock()
	tracee.Self.Mutex().Unlock()
	if n := len(drain(t, s)); n != 101 {
		t.Errorf("%d events, want 101", n)
	}
}

// A flush into a FIFO that has no room holds the stream's lock. A traced process registers
// names meanwhile, and the filter's patterns decide on them.
func TestNamesDoNotWaitForFlush(t *testing.T) {
	target := tracetest.Start(t, "target")
	target.Line()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	in, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := CreateWithLog(target.PID, &Attr{StreamSize: 4 << 20, StreamFullPolicy: PolicyUntilFull, LogFullPolicy: PolicyAppend}, in)
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.FilterOps([]FilterOp{{How: FilterAdd, Patterns: []string{"no*"}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	target.Say("2000*before " + strings.Repeat("x", 100))
	flushed := make(chan error, 1)
	go func() { flushed <- s.Flush() }()
	for st, err := s.PeekStatus(); st.StreamFlushStatus != StatusFlushing; st, err = s.PeekStatus() {
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	soon(t, "OpenEventID", func() {
		for i := range 3 {
			target.Say(fmt.Sprintf("no%d", i))
			target.Say(fmt.Sprintf("yes%d", i))
		}
	})
	select {
	case err := <-flushed:
		t.Fatalf("the flush did not wait for its reader: %v", err)
	default:
	}
	log := make(chan []byte)
	go func() {
		b, err := io.ReadAll(out)
		if err != nil {
			t.Error(err)
		}
		log <- b
	}()
	if err := <-flushed; err != nil {
		t.Error(err)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	r, err := NewReader(strings.NewReader(string(<-log)))
	if err != nil {
		t.Fatal(err)
	}
	have := ""
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := r.EventName(rec.ID); rec.ID.User() && n != "before" {
			have += n + " "
		}
	}
	if want := "yes0 yes1 yes2 "; have != want {
		t.Errorf("in the log are %q, want %q", have, want)
	}
}

// The final filter decides on names registered while the filter changes all the time.
func TestNamesAndFiltersAtOnce(t *testing.T) {
	s := running(t, os.Getpid(), Attr{})
	stop := make(chan struct{})
	done := make(chan struct{})
	no := fmt.Sprintf("no %x ", rand.Uint64()) // new names in each run of -count
	yes := "y" + no
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			ops := []FilterOp{{How: FilterSet}, {How: FilterAdd, Patterns: []string{no + "*"}}}
			if err := s.FilterOps(ops[n%2 : 2]); err != nil {
				t.Error(err)
				return
			}
			if err := s.SetFilter(EventSet{}, FilterAdd); err != nil {
				t.Error(err)
				return
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	ids := map[string]EventID{}
	for i := range 20 {
		for _, name := range []string{no + strconv.Itoa(i), yes + strconv.Itoa(i)} {
			id, err := OpenEventID(name)
			if err != nil {
				t.Fatal(err)
			}
			ids[name] = id
		}
	}
	close(stop)
	<-done
	f, err := s.Filter()
	if err != nil {
		t.Fatal(err)
	}
	for name, id := range ids {
		if want := strings.HasPrefix(name, no); f.Has(id) != want {
			t.Errorf("%s: rejected %v", name, f.Has(id))
		}
	}
}

// The first event of a process that $PTRACE_STREAM leads to a stream needs the trace
// directory. A process that creates a stream or completes a log may hold its lock for long.
func TestFirstEventDoesNotWait(t *testing.T) {
	other := tracetest.Start(t, "target")
	other.Line()
	s := running(t, other.PID, Attr{Inheritance: InheritChildren})
	d, err := registry.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	unlock, err := d.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	t.Setenv("PTRACE_STREAM", s.c.Path)
	child := tracetest.Start(t, "event", "first", "one")
	soon(t, "the first event", func() {
		if err := child.Cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	equal(t, drain(t, s), got{"first", "one", child.PID})
}

// A trace point gives up if another process holds every slot of a stream and its lock.
func TestCrowdedAttachDoesNotWait(t *testing.T) {
	child := tracetest.Start(t, "target")
	child.Line()
	s := running(t, child.PID, Attr{})
	var slots []uint64
	for {
		slot, ok := s.c.Mem.TakeSlot(sys.SelfProc(), nil)
		if !ok {
			break
		}
		slots = append(slots, slot)
	}
	release := holdStream(t, s.c.Path)
	soon(t, "an event", func() { child.Say("crowded") })
	for _, slot := range slots {
		s.c.Mem.FreeSlot(slot)
	}
	release()
}

// An unregistered id does not cost a system call each time.
func TestUnknownIDs(t *testing.T) {
	calls := func() (n int) {
		b, err := os.ReadFile("/proc/self/io")
		tracetest.Need(t, err == nil, "/proc/self/io")
		_, rest, _ := strings.Cut(string(b), "syscr: ")
		fmt.Sscan(rest, &n)
		return n
	}
	running(t, os.Getpid(), Attr{})
	id, err := OpenEventID("known")
	if err != nil {
		t.Fatal(err)
	}
	before := calls()
	const n = 200000
	for range n {
		Event(id+900, nil)
	}
	if reads := calls() - before; reads > n/10 {
		t.Errorf("%d events of an unknown type cost %d reads", n, reads)
	}
	// Types registered by another process of the family become known.
	own, err := tracee.Self.Open()
	if err != nil {
		t.Fatal(err)
	}
	named, err := own.Dir.Names(own.Page.Family())
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	other, _, err := named.Open("of another", false, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; !tracee.Self.Knows(other); i++ {
		if i == 1000 {
			t.Fatal("an id of another process is not known")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// The deadlines of the reader calls hold while another process has the stream's lock and calls of
// this process wait for it, with every mutex of the Stream held.
func TestReadersDoNotWait(t *testing.T) {
	s := running(t, os.Getpid(), Attr{StreamFullPolicy: PolicyUntilFull})
	id, err := OpenEventID("readers")
	if err != nil {
		t.Fatal(err)
	}
	release := holdStream(t, s.c.Path)
	defer release()
	waiting := make(chan error, 2)
	go func() { waiting <- s.Stop() }()
	for s.mu.TryLock() {
		s.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	go func() { waiting <- s.Shutdown() }()
	last := int64(0)
	read := func(what string, next func() (EventInfo, int, error), want error) {
		t.Helper()
		soon(t, what, func() {
			for {
				ev, _, err := next()
				if err == nil && ev.ID.System() {
					continue
				}
				switch {
				case want != nil && !errors.Is(err, want), want == nil && err != nil:
					t.Errorf("%s: %v, want %v", what, err, want)
				case want == nil:
					if off := time.Since(time.Unix(0, ev.UnixNano)); off < -time.Minute || off > time.Hour || ev.UnixNano < last {
						t.Errorf("%s: an event of %v, before it one of %v", what, time.Unix(0, ev.UnixNano), time.Unix(0, last))
					}
					last = ev.UnixNano
				}
				return
			}
		})
	}
	try := func() (EventInfo, int, error) { return s.TryNext(nil) }
	timed := func() (EventInfo, int, error) { return s.TimedNext(time.Now().Add(20*time.Millisecond), nil) }
	next := func() (EventInfo, int, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		return s.Next(ctx, nil)
	}
	for range 3 {
		for range 3 {
			Event(id, nil)
		}
		read("TryNext", try, nil)
		read("TimedNext", timed, nil)
		read("Next", next, nil)
		read("TryNext", try, ErrUnavailable)
		read("TimedNext", timed, syscall.ETIMEDOUT)
		read("Next", next, syscall.EINTR)
	}
	release()
	for range 2 {
		if err := <-waiting; err != nil && !errors.Is(err, syscall.EINVAL) {
			t.Error(err)
		}
	}
	read("TryNext", try, syscall.EINVAL)
}

// A reader that waits for the next event of a stream whose owner has died shuts the stream down,
// and does not wait for the locks that this takes.
func TestReaderOfOrphanDoesNotWait(t *testing.T) {
	c := tracetest.Start(t, "pairs-owner", t.TempDir(), "1")
	path := c.Line()
	s, err := Attach(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d, err := registry.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	unlock, err := d.Lock()
	if err != nil {
		t.Fatal(err)
	}
	release := holdStream(t, path)
	c.Cmd.Process.Kill()
	c.Cmd.Wait()
	p := pauses{s: s, next: firstPause, idle: ownerPause}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	soon(t, "Next", func() {
		for p.pause(ctx, time.Time{}) == nil {
			p.idle = ownerPause
		}
	})
	release()
	unlock()
	for !s.isClosed() {
		time.Sleep(time.Millisecond)
	}
	for { // until it is removed
		if _, err := os.Stat(path); err != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
}
