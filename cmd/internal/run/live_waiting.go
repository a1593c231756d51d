package run

import (
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/tracer"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// waiting finds the calls that threads stand still in. The tracer records a call when it returns,
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
	tracer.Progress
	tid int
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
func (w *waiting) records(c *tracer.Progress) bool {
	want := &w.s.plan.trace
	if w.s.tracer == nil || !want.All && !slices.Contains(want.Calls, c.Number) {
		return false
	}
	ids, err := w.s.stream.OpenSystemEventIDs(tracer.Prefix + c.Name)
	return err == nil && w.rec.Wants(ids[0])
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
			if c, ok := tracer.InProgress(pid, tid); ok && w.records(&c) {
				t.shown = true
				list = append(list, waitingCall{c, tid})
			}
		}
	}
	w.threads = alive
	slices.SortFunc(list, func(a, b waitingCall) int { return a.tid - b.tid })
	return list
}
