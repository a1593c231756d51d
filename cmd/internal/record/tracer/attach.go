//go:build linux

package tracer

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A tracer attaches to a process that runs already by PTRACE_SEIZE, which disturbs no thread
// and sends no signal. To see the calls of a thread, the tracer must resume it once from a stop,
// and so interrupts it. The kernel restarts the calls that the interruption breaks off, or the
// tracer makes it do so (restartCall).
//
// The tracer detaches by ending: then the kernel detaches from every thread, whatever it
// does, without stopping it, and delivers the signals that were held up. So the end of a
// tracer that is killed is the same.
//
// A filter cannot be set in a process from outside. While the stream rejects every call or is
// suspended, the tracer lets the threads run without stopping at calls; watch follows that.

// attachRunning attaches to all threads of a process and, unless they are not to be recorded, of
// its descendants.
func (t *tracer) attachRunning() bool {
	unix.Close(t.stage)
	first := t.cfg.Want
	w := &t.cfg.Want
	w.Proc, w.Signal, w.Files, w.All = true, true, true, true
	t.command = t.cfg.Attach
	t.files.moved = true // for all that is known of it
	err := t.open()
	if err == nil {
		err = t.stream.SetFilter(t.unwanted(&first), posixtrace.FilterAdd)
	}
	if err == nil && t.cfg.Start {
		err = t.stream.Start()
	}
	if err == nil {
		err = t.seizeProcess(t.command)
	}
	if err != nil {
		t.reportAttached(err)
		return false
	}
	if !t.cfg.Alone {
		t.seizeDescendants()
	}
	t.calling.Store(slices.ContainsFunc(t.ids[:], t.rec.Wants) || t.rec.Wants(posixtrace.EventFileAccess))
	t.follow()
	t.warnOfLeaks()
	t.attaching = true
	time.AfterFunc(settleAttached, func() { t.raise(&t.overdue) })
	go t.watch()
	return true
}

// settleAttached is how long the report of the attachment may wait for threads that are to stop: one
// that sleeps uninterruptibly does not.
const settleAttached = 500 * time.Millisecond

// confirmAttached reports the attachment, once. The loop calls it when every thread that is to stop at
// its calls has stopped: before, the tracer does not see the call that a thread is in, and a user who
// acts upon the report would miss it.
func (t *tracer) confirmAttached() {
	if t.attaching {
		t.attaching = false
		t.reportAttached(nil)
	}
}

// awaitsStop reports whether a thread is about to stop.
func (t *tracer) awaitsStop() bool {
	for _, k := range t.tasks {
		if k.awaited {
			return true
		}
	}
	return false
}

// unwanted returns the event types that the tracer records and that are not in w. If they are
// most calls, the set is the whole class of system events but for those in w: readers show it so.
func (t *tracer) unwanted(w *Want) (set posixtrace.EventSet) {
	if !w.All {
		set.Fill(posixtrace.FillSystem)
		for id := posixtrace.EventID(1); id < posixtrace.EventUnnamed; id++ {
			if name, err := t.stream.EventName(id); err == nil && name != "" {
				set.Del(id)
			}
		}
	}
	if !w.Proc {
		for _, id := range []posixtrace.EventID{posixtrace.EventProcFork, posixtrace.EventProcExec, posixtrace.EventProcExit} {
			set.Add(id)
		}
	}
	if !w.Signal {
		set.Add(posixtrace.EventProcSignal)
	}
	if !w.Files {
		set.Add(posixtrace.EventFileAccess)
	}
	for _, nr := range w.Calls {
		if nr >= 0 && nr < len(t.ids) {
			set.Del(t.ids[nr])
		}
	}
	return set
}

// seizeDescendants starts to trace the descendants of the process that exist, as far as it may.
func (t *tracer) seizeDescendants() {
	// Not this process and the one that controls it: they would wait for each other.
	known := []int{t.command, os.Getpid(), os.Getppid()}
	refused := 0
	for queue := []int{t.command}; len(queue) > 0; queue = queue[1:] {
		for _, pid := range childrenOf(queue[0]) {
			if slices.Contains(known, pid) {
				continue
			}
			known = append(known, pid)
			switch t.seizeProcess(pid) {
			case nil:
				queue = append(queue, pid)
			case unix.ESRCH:
			default:
				refused++
			}
		}
	}
	if refused > 0 {
		t.notify(strconv.Itoa(refused) + " of the descendants of process " + strconv.Itoa(t.command) + " cannot be traced, and are not recorded")
	}
}

// childrenOf returns the children of all threads of a process.
func childrenOf(pid int) (list []int) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	tasks, _ := os.ReadDir(dir)
	for _, e := range tasks {
		b, _ := os.ReadFile(dir + e.Name() + "/children")
		for f := range strings.FieldsSeq(string(b)) {
			if n, err := strconv.Atoi(f); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}

// watchEvery is how often watch looks.
const watchEvery = 50 * time.Millisecond

// watch makes the loop follow changes of the filter and of the state of the stream, and release
// when the stream is shut down.
func (t *tracer) watch() {
	// A handle of its own: the loop closes the other one.
	s, err := posixtrace.Attach(t.cfg.Stream)
	for ; err == nil; time.Sleep(watchEvery) {
		var st posixtrace.Status
		var rejected posixtrace.EventSet
		if _, err = os.Stat(t.cfg.Stream); err == nil { // a removed directory is no shutdown
			_, err = s.Info()
		}
		if err == nil {
			st, err = s.PeekStatus()
		}
		if err == nil {
			rejected, err = s.Filter()
		}
		if err != nil {
			break
		}
		calling := st.StreamStatus == posixtrace.StatusRunning && (!rejected.Has(posixtrace.EventFileAccess) || slices.ContainsFunc(t.ids[:], func(id posixtrace.EventID) bool {
			return id != 0 && !rejected.Has(id)
		}))
		if calling != t.calling.Load() {
			t.calling.Store(calling)
			t.raise(&t.changed)
		}
	}
	t.raise(&t.releasing)
}

// When the tracer is to detach, it goes on for at most so long to have no thread at a stop, and none
// that is about to stop: a thread that sleeps uninterruptibly does not.
const (
	settleStopped     = 100 * time.Millisecond
	settleInterrupted = time.Second
)

// mayRelease reports whether the tracer is asked to release and may. A call that an interruption
// or a signal has broken off is restarted by the tracer at a stop, so for a short time it waits
// for a moment at which no thread is stopped or about to stop. stopped says that one was just now.
func (t *tracer) mayRelease(stopped bool) bool {
	if !t.releasing.Load() {
		return false
	}
	if t.cfg.Attach == 0 {
		return true
	}
	if t.asked.IsZero() {
		t.asked = time.Now()
	}
	waited := time.Since(t.asked)
	if waited >= settleInterrupted {
		return true
	}
	if stopped && waited < settleStopped {
		return false
	}
	return !t.awaitsStop()
}

// recordUnfinished records the calls that the threads are in when the tracer detaches. The one that
// a stuck process waits in is among them.
func (t *tracer) recordUnfinished() {
	if t.cfg.Attach == 0 {
		return
	}
	for _, tid := range slices.Sorted(maps.Keys(t.tasks)) {
		if k := t.tasks[tid]; k.call.in {
			t.unfinished(k)
		}
	}
}

// follow makes the threads stop at their calls from now on, or no longer.
func (t *tracer) follow() {
	t.changed.Store(false)
	if !t.calling.Load() {
		t.how = unix.PTRACE_CONT // each thread at its next stop
		return
	}
	t.how = unix.PTRACE_SYSCALL
	for _, k := range t.tasks {
		if !k.calls {
			t.interrupt(k)
		}
	}
}

// interrupt stops the thread before it returns to user code. This holds also after a call that a
// signal has interrupted, when another thread took the signal.
func (t *tracer) interrupt(k *task) {
	if ptrace(unix.PTRACE_INTERRUPT, k.tid, 0, 0) == nil {
		k.interrupted, k.awaited = true, true
	}
}
