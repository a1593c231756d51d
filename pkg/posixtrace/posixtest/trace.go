package posixtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Event is a recorded event.
type Event struct {
	posixtrace.EventInfo
	Name string
	Data string
}

// String returns the name and, if there is any, the data: quoted, or as it is if it is a JSON object in
// one line, as that of package posixslog.
func (e Event) String() string {
	s := e.Name
	if e.Data != "" {
		s += " " + shown(e.Data, nil)
	}
	if e.Truncation != posixtrace.TruncationNone {
		s += " (truncated)"
	}
	return s
}

// Trace has the events that a test records. Its methods are safe for concurrent use, but only the
// goroutine of the test calls Wait and WaitCount, since they may end the test.
type Trace struct {
	*recording
	within uint64 // the key of the span whose events these are, or 0
}

// recording is what a Trace shares with that of Span.
type recording struct {
	t     testing.TB
	s     *posixtrace.Stream
	names []pattern

	mu   sync.Mutex
	data []byte
	list []Event // in the order of their times
	lost uint64  // reported
}

const (
	streamSize  = 4 << 20
	leastSize   = 256 << 10
	maxDataSize = 4096
	lastEvents  = 50
	maxLine     = 200 // bytes, of an event among the last ones
)

// Record records the user events of this process, and of the processes that it starts, from now until
// the test ends. If patterns of names are given, the trace has only the events of these names. Record
// ends the test if it cannot make a stream.
func Record(t testing.TB, names ...string) *Trace {
	t.Helper()
	s, err := posixtrace.Create(0, &posixtrace.Attr{
		StreamSize: streamSize, LeastStreamSize: leastSize, MaxDataSize: new(maxDataSize), Inheritance: posixtrace.InheritChildren,
	})
	if err != nil {
		t.Fatalf("posixtest: %v", err)
	}
	r := &recording{t: t, s: s, data: make([]byte, maxDataSize)}
	for _, n := range names {
		r.names = append(r.names, compile(n))
	}
	t.Cleanup(r.end)
	if err := s.Start(); err != nil {
		t.Fatalf("posixtest: %v", err)
	}
	return &Trace{recording: r}
}

// Span starts a span named test, which ends when the test ends, and returns a context within it and the
// trace of the events in this span.
func (tr *Trace) Span() (context.Context, *Trace) {
	tr.t.Helper()
	typ, err := posixtrace.OpenSpanType("test")
	if err != nil {
		tr.t.Fatalf("posixtest: %v", err)
	}
	ctx, span := typ.Start(tr.t.Context(), []byte(tr.t.Name()))
	tr.t.Cleanup(func() { span.End(nil) })
	return ctx, &Trace{tr.recording, span.Key()}
}

// Events returns the events that have been recorded so far, in the order of their times.
func (tr *Trace) Events() []Event {
	tr.t.Helper()
	list := tr.all()
	if tr.within == 0 {
		return list
	}
	inside := map[uint64]bool{tr.within: true}
	return slices.DeleteFunc(list, func(e Event) bool {
		if e.PID != os.Getpid() {
			return true // keys are unique within a process
		}
		if inside[e.Parent] {
			inside[e.Span] = true
		}
		return !inside[e.Span]
	})
}

// all returns the events so far.
func (r *recording) all() []Event {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		ev, n, err := r.s.TryNext(r.data)
		if err == posixtrace.ErrUnavailable {
			break
		}
		if err != nil {
			r.t.Errorf("posixtest: %v", err)
			break
		}
		r.add(ev, n)
	}
	if st, err := r.s.Status(); err == nil && st.Lost > r.lost {
		r.lost = st.Lost
		r.t.Errorf("posixtest: %d events were lost: the test records more than %d MiB between two calls", st.Lost, streamSize>>20)
	}
	return slices.Clone(r.list)
}

// add adds an event, whose data is in r.data.
func (r *recording) add(ev posixtrace.EventInfo, n int) {
	if !ev.ID.User() {
		return
	}
	name, err := r.s.EventName(ev.ID)
	if err != nil {
		r.t.Errorf("posixtest: %v", err)
	}
	if len(r.names) > 0 && !slices.ContainsFunc(r.names, func(p pattern) bool { return p.name.MatchString(name) }) {
		return
	}
	// An event may appear late.
	i := len(r.list)
	for i > 0 && r.list[i-1].UnixNano > ev.UnixNano {
		i--
	}
	r.list = slices.Insert(r.list, i, Event{ev, name, string(r.data[:n])})
}

// turn bounds how long a goroutine waits with the lock held.
const turn = 50 * time.Millisecond

// wait waits for the next event until the deadline.
func (r *recording) wait(deadline time.Time) error {
	if !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), min(turn, time.Until(deadline)))
	defer cancel()
	ev, n, err := r.s.Next(ctx, r.data)
	if err == nil {
		r.add(ev, n)
	} else if errors.Is(err, syscall.EINTR) { // the end of a turn
		err = nil
	}
	return err
}

// info describes the stream.
func (r *recording) info() posixtrace.StreamInfo {
	info, _ := r.s.Info()
	return info
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// end ends the recording, and prints the last events of a failed test.
func (r *recording) end() {
	list := r.all()
	if r.t.Failed() {
		if dir, info := os.Getenv("PTRACE_DIR"), r.info(); dir != "" && info.Path != "" && !sameFile(dir, filepath.Dir(info.Path)) {
			r.t.Logf("posixtest: PTRACE_DIR is %s, but this process has used %s before, which it keeps: programs that it starts are not recorded", dir, filepath.Dir(info.Path))
		}
		last := list[max(0, len(list)-lastEvents):]
		var b strings.Builder
		for _, e := range last {
			line := e.String()
			if len(line) > maxLine {
				line = line[:maxLine] + "..."
			}
			fmt.Fprintf(&b, "\n%s %d %s", e.Time().Format("15:04:05.000000"), e.PID, line)
		}
		r.t.Logf("posixtest: the last %d of %d events:%s", len(last), len(list), &b)
	}
	if err := r.s.Shutdown(); err != nil {
		r.t.Errorf("posixtest: %v", err)
	}
}
