//go:build linux

package tracer

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// Threads start, end, and execute programs while the tracer attaches to them. Execution ends the
// other threads, and the one that executes takes the id of the process. So a seized thread may
// vanish, and a thread that the tracer has not seized may get an id that it has.

// The kernel refuses a thread that another one has just replaced, and one that is ending. The tracer
// lists the threads again then, but only so often: a refusal may also be final.
const (
	refusalsAtMost = 100
	refusalPause   = time.Millisecond
)

// settledAfter is how many lists without a new thread say that there is none. One is not enough:
// the kernel cuts a list short if a thread ends just then.
const settledAfter = 2

// ErrTraced says that another process traces a thread of the process.
const ErrTraced = unix.EBUSY

// seizeProcess starts to trace all threads of a process. The kernel traces the children of a traced
// thread from their start.
func (t *tracer) seizeProcess(pid int) error {
	refusals, traced := 0, false
	for settled := 0; settled < settledAfter; {
		tids, err := threadsOf(pid)
		if err != nil {
			return err
		}
		t.followLeader(pid, tids)
		found, err := t.seizeThreads(pid, tids)
		traced = traced || err == ErrTraced
		switch {
		case err != nil && refusals == refusalsAtMost && traced: // that one may just have detached
			return ErrTraced
		case err != nil && refusals == refusalsAtMost:
			return err
		case err != nil:
			settled = 0
			refusals++
			time.Sleep(refusalPause)
		case found:
			settled = 0
		default:
			settled++
		}
	}
	for _, k := range t.tasks {
		if k.pid == pid {
			return nil
		}
	}
	return unix.ESRCH // it has ended, and its parent does not know yet
}

// threadsOf returns the threads of a process.
func threadsOf(pid int) (tids []int, err error) {
	list, err := os.ReadDir(procfs.File(pid, "task"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, unix.ESRCH
	}
	for _, e := range list {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids, err
}

// followLeader notes that a thread has taken the id of its process between the list that showed it
// and its seizure.
func (t *tracer) followLeader(pid int, tids []int) {
	if t.tasks[pid] != nil {
		return
	}
	for tid, k := range t.tasks {
		if k.pid == pid && !slices.Contains(tids, tid) {
			t.forget(tid)
			k.tid = pid
			t.tasks[pid] = k
			return
		}
	}
}

// seizeThreads seizes the threads of a process that are not known, and reports whether there were
// any. The error says that one was refused that has not ended.
func (t *tracer) seizeThreads(pid int, tids []int) (found bool, err error) {
	for _, tid := range tids {
		if t.tasks[tid] != nil && tid != pid { // another thread may have taken the id of the process
			continue
		}
		refusal := t.seizeThread(pid, tid)
		if refusal == nil {
			k := &task{tid: tid, pid: pid}
			t.findSetting(k)
			t.tasks[tid] = k
			found = true
			continue
		}
		if refusal == unix.ESRCH {
			continue
		}
		switch by := procfs.Tracer(tid); {
		case by == t.thread: // from its start, or since the last list
		case by != 0: // perhaps a tracer that is ending
			err = ErrTraced
		case running(tid):
			err = refusal
		}
	}
	return found, err
}
