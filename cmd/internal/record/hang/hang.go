//go:build linux

// Package hang finds what the threads of a tree of processes wait for, and which thread can end each wait.
// It stops no thread and needs no tracer: it reads /proc and the memory of the processes, as far as the
// caller may. Only for the stack of a thread it may have to stop that one for a moment (stack.go).
//
// Look looks at each thread twice (threads.go), so that it can tell a thread that waits from one that works.
// For each that waits, wait.go finds by the system call what it waits for: by descriptor (descriptors.go,
// sockets.go), several of them (poll.go), a lock (locks.go), a futex (futex.go), or a file system
// (filesystem.go), which Look itself asks nothing; busy.go finds where one that is busy spends its time. The
// threads that hold the other end are looked at, too, within the tree or not.
// stuck.go then finds the threads that no other thread can wake: a thread is live if it runs, or its wait has a
// limit, or something that cannot be seen may end it, or if any thread that can end its wait is live. All
// others are stuck. Those of them that wait for themselves are in a deadlock.
//
// Whatever /proc says is untrusted, and true at one moment: processes end meanwhile.
package hang

import (
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A Kind is what a thread does.
type Kind = posixtrace.HangKind

const (
	Waits   = posixtrace.HangWaits
	Sleeps  = posixtrace.HangSleeps
	Busy    = posixtrace.HangBusy
	Runs    = posixtrace.HangRuns
	Stopped = posixtrace.HangStopped
	Zombie  = posixtrace.HangZombie
)

// Thread is what a thread did. Its texts are untrusted.
type Thread struct {
	PID, TID int
	Depth    int // in the tree, 0 for a root
	Program  string
	Args     []string // of its process
	State    byte     // as ps(1) shows it
	Kind     Kind
	Call     string        // with arguments; "" if it is in none, or that is unknown
	Wait     string        // the kernel's function that it sleeps in; "" if unknown
	Since    time.Duration // how long it has been in the call; negative: unknown
	Exact    bool          // Since is what a tracer has seen; else about
	For      string        // what it waits for; "" if unknown
	ForPID   int           // the thread that it waits for, or the first of several; 0: none is known
	ForTID   int
	Stuck    bool     // no thread and no process that can be seen can wake it
	Cycle    bool     // it waits, over other threads, for itself: a deadlock
	Stack    []string // the calls in the program, the innermost first; Report.Name names them
	Note     string   // what could not be seen of it

	stack      *stack   // what Name names
	goroutines []*stack // of the process
	hot        *hot
	held       *tracer.Thread // what it did when it was stopped for a moment, or nil
}

// Data returns the data of the event of the thread, without those of the report.
func (t *Thread) Data() posixtrace.HangData {
	return posixtrace.HangData{
		Program: t.Program, Args: t.Args, State: t.State, Kind: t.Kind, Call: t.Call, Wait: t.Wait, Since: t.Since, Exact: t.Exact,
		For: t.For, ForPID: t.ForPID, ForTID: t.ForTID, Stuck: t.Stuck, Cycle: t.Cycle, Stack: t.Stack, Note: t.Note,
	}
}

// Options are those of Look.
type Options struct {
	Pause  time.Duration // between the looks; 0 means 60 ms
	Within time.Duration // how long to look, about; 0: no limit. A look that is cut says so, and calls no thread stuck
	Stack  bool          // find the stacks of calls
	Until  time.Time     // by when to find them; 0 means within 2 s
	Last   *Report       // of the same tree, or nil: it may have stopped threads that wait
	Early  func(*Report) // is called with what there is without the stacks, which take longer; or nil

	refused error // by tests: why ptrace(2) is not permitted
}

// Report is what Look has found.
type Report struct {
	Threads []Thread // in the order of the tree
	Notes   []string // what could not be seen

	at time.Time
}

// pause is the time between two looks, unless Options say another.
const pause = 60 * time.Millisecond

// Look looks at the threads of the trees of processes below roots.
func Look(roots []int, o Options) *Report {
	if o.Pause <= 0 {
		o.Pause = pause
	}
	w := newWorld()
	w.limit(o.Within)
	w.noAttach = o.refused
	w.last = o.Last
	w.listProcesses()
	tree := w.tree(roots)
	for _, p := range tree {
		w.load(p)
	}
	if len(w.order) == 0 { // it has ended, or cannot be seen
		return w.report(tree)
	}
	begin := time.Now()
	w.pause(0, o.Pause)
	for i := 0; i < len(w.order); i++ { // it grows by threads outside the tree
		w.order[i].explain()
	}
	if n := w.first; n < len(w.order) {
		w.pause(n, o.Pause)
	}
	if !w.late() {
		w.places(o.Stack)
	}
	w.settle()
	if o.Stack {
		if o.Early != nil {
			r := w.report(tree)
			r.at = begin
			o.Early(r)
		}
		w.stacks(o.Until)
	}
	r := w.report(tree)
	r.at = begin
	return r
}
