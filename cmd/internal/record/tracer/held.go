//go:build linux

package tracer

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// held is a new thread that stopped before the fork event of its creator arrived. The tracer
// resumes it after that event, so that proc.fork precedes the thread's own events.
//
// The creator may need long: its processor may be busy, or stopped, just then. If it was killed
// there, the event never arrives. So the tracer looks, in growing intervals, whether the event can
// still arrive, and resumes the thread if not. A new thread that was killed is held as well.
type held struct {
	tid   int
	sig   syscall.Signal
	since time.Time
	look  time.Time // when to look next

	ended  bool // it was killed before
	status syscall.WaitStatus
	usage  usage
}

const (
	lookAfter = 2 * time.Millisecond
	lookEvery = 100 * time.Millisecond
	// How long the tracer pauses before it waits again, at first and later.
	holdPause     = 50 * time.Microsecond
	longHoldPause = 200 * time.Microsecond
)

// holdAtMost bounds how long a thread is held, for the case that its creator was killed and another
// thread, which may seem to be the creator, works on. A test sets it.
var holdAtMost = 10 * time.Second

// hold leaves a new thread stopped until the fork event of its creator arrives. It returns false if
// the thread must be resumed now.
func (t *tracer) hold(tid int, sig syscall.Signal) bool {
	if holdAtMost <= 0 {
		return false
	}
	if i := t.heldAt(tid); i >= 0 {
		t.held = slices.Delete(t.held, i, i+1)
		return false
	}
	takeStop(tid)
	now := time.Now()
	t.held = append(t.held, held{tid: tid, sig: sig, since: now, look: now.Add(lookAfter)})
	return true
}

// heldAt returns the index of a held thread, or -1.
func (t *tracer) heldAt(tid int) int {
	return slices.IndexFunc(t.held, func(h held) bool { return h.tid == tid })
}

// forkArrived resumes a held thread whose fork event is recorded.
func (t *tracer) forkArrived(tid int) {
	i := t.heldAt(tid)
	if i < 0 {
		return
	}
	h := t.held[i]
	t.held = slices.Delete(t.held, i, i+1)
	if h.ended {
		t.exited(tid, h.status, &h.usage)
		return
	}
	t.resumeAtStop(t.tasks[tid], h.sig)
}

// endedEarly keeps the end of a new thread, which was killed, until its fork event arrives.
func (t *tracer) endedEarly(tid int, status syscall.WaitStatus, u *usage) {
	i := t.heldAt(tid)
	if i < 0 {
		if !t.hold(tid, 0) {
			return
		}
		i = len(t.held) - 1
	}
	h := &t.held[i]
	h.ended, h.status, h.usage = true, status, *u
}

// awaitForks resumes the held threads whose fork event cannot arrive any more, and pauses if others
// are left. The caller has found no thread that has stopped.
func (t *tracer) awaitForks() {
	now := time.Now()
	kept, pause := t.held[:0], holdPause
	for _, h := range t.held {
		age := now.Sub(h.since)
		if !now.Before(h.look) {
			if age >= holdAtMost || !t.forkMayArrive(h.tid) {
				if !h.ended {
					t.resumeAtStop(t.adopt(h.tid), h.sig)
				}
				continue
			}
			h.look = now.Add(min(age, lookEvery))
		}
		if age > lookAfter {
			pause = longHoldPause
		}
		kept = append(kept, h)
	}
	if t.held = kept; len(kept) > 0 {
		wait := unix.NsecToTimespec(pause.Nanoseconds())
		unix.Nanosleep(&wait, nil)
	}
}

// forkMayArrive reports whether a traced thread may have created a new thread and not have reported
// that yet: one of the same process or of the parent's, or of a child of the parent (CLONE_PARENT).
// On the way from one to the other a thread does not sleep.
func (t *tracer) forkMayArrive(child int) bool {
	pid := procfs.Of(child)
	_, parent, known := statOf(child)
	if pid == 0 || !known {
		return false
	}
	for _, k := range t.tasks {
		if pid != child && k.pid != pid {
			continue
		}
		state, above, ok := statOf(k.tid)
		if ok && strings.IndexByte(awake, state) >= 0 && (pid != child || k.pid == parent || above == parent) {
			return true
		}
	}
	return false
}

// awake has the states of a thread that works, or has stopped for the tracer just now.
const awake = "Rt"

// statOf returns the state and the parent process of a thread.
func statOf(tid int) (state byte, parent int, ok bool) {
	f := procfs.StatFields(tid)
	if len(f) < 2 {
		return 0, 0, false
	}
	parent, err := strconv.Atoi(f[1])
	return f[0][0], parent, err == nil
}
