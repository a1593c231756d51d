package run

import (
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// waiting finds the calls that threads wait in. The tracer records a call when it returns,
// so a stuck process would show nothing.
type waiting struct {
	s       *session
	rec     *posixtrace.Recorder // its own, for the goroutine of --live: it only asks
	threads map[int]*standing    // by thread
	pids    map[int]bool
	next    time.Time // of the next search
}

// standing is a thread.
type standing struct {
	since time.Time // of its latest event, or when it was found
	shown bool      // its call
}

// waitingCall is a call that a thread is in.
type waitingCall struct {
	tid  int
	name string
	args []posixtrace.SyscallArg // those that it had when it began
	more bool                    // it has others
}

const (
	// stillAfter is how long a thread has had no event when its call is shown.
	stillAfter = 200 * time.Millisecond
	// maxStanding bounds the threads that are looked at.
	maxStanding = 4096
)

func (w *waiting) init(s *session) (err error) {
	w.s, w.threads, w.pids = s, map[int]*standing{}, map[int]bool{}
	if w.rec, err = s.stream.Recorder(); err != nil {
		return err
	}
	switch {
	case s.child != nil:
		w.pids[s.child.PID] = true
	case s.plan.attach != 0:
		w.pids[s.plan.attach] = true
	}
	return nil
}

// moved notes an event of a thread.
func (w *waiting) moved(rec *posixtrace.Record) {
	if rec.ID == posixtrace.EventProcExit {
		delete(w.pids, rec.PID)
		return
	}
	if rec.ID.User() {
		return
	}
	w.pids[rec.PID] = true
	if t := w.threads[rec.TID]; t != nil {
		t.since, t.shown = time.Now(), false
	}
}

// records reports whether the tracer records a call, and the stream takes it.
func (w *waiting) records(nr int, name string) bool {
	want := &w.s.plan.trace
	if w.s.tracer == nil || name == "" || !want.All && !slices.Contains(want.Calls, nr) {
		return false
	}
	ids, err := w.s.stream.OpenSystemEventIDs(tracer.Prefix + name)
	return err == nil && w.rec.Wants(ids[0])
}

// sleepsIn returns the call that a thread sleeps in. A thread may also wait for its tracer at the entry
// of a call, which says nothing of the call.
func (w *waiting) sleepsIn(tid int) (c waitingCall, ok bool) {
	t, ok := tracer.ReadThread(tid)
	if !ok || !t.InCall || !t.Sleeps() {
		return c, false
	}
	c.tid = tid
	c.name, c.args, c.more = tracer.DescribeEntry(tid, t.Call, t.Args)
	return c, w.records(t.Call, c.name)
}

// find returns the calls that threads have been in since stillAfter before now, each once.
func (w *waiting) find(now time.Time) (list []waitingCall) {
	if now.Before(w.next) || !w.s.plan.trace.All && len(w.s.plan.trace.Calls) == 0 {
		return nil
	}
	w.next = now.Add(stillAfter / 4)
	alive := map[int]*standing{}
	for pid := range w.pids {
		tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		if err != nil {
			delete(w.pids, pid)
			continue
		}
		for _, e := range tasks {
			tid, err := strconv.Atoi(e.Name())
			if err != nil || len(alive) == maxStanding {
				continue
			}
			t := w.threads[tid]
			if t == nil {
				t = &standing{since: now}
			}
			alive[tid] = t
			if t.shown || now.Sub(t.since) < stillAfter {
				continue
			}
			if c, ok := w.sleepsIn(tid); ok {
				t.shown = true
				list = append(list, c)
			}
		}
	}
	w.threads = alive
	slices.SortFunc(list, func(a, b waitingCall) int { return a.tid - b.tid })
	return list
}
