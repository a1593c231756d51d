// Package culprit chooses, of the threads of a command that does not end, the one that says best why. A look at
// the threads and the log of the look choose the same one.
package culprit

import (
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Thread is what a thread did.
type Thread struct {
	PID, TID int
	posixtrace.HangData
}

// Of returns the index of the thread that says best why the command did not end, -1 if there is none: one of a
// deadlock, or the end of the chain in which each waits for the next, from the first process on. Of a process
// that waits for another one by anything else than its end, the waiting thread says more than the other.
func Of(list []Thread) int {
	if len(list) == 0 {
		return -1
	}
	c := newChoice(list)
	if i := c.cycle(); i >= 0 {
		return i
	}
	at := c.follow(c.speaker(list[0].PID))
	switch t := &list[at]; {
	case t.ForPID == 0 && WaitsForEnd(&t.HangData): // of one of several children
		if i := c.other(0); i >= 0 {
			return c.follow(i)
		}
		for _, kind := range [...]posixtrace.HangKind{posixtrace.HangBusy, posixtrace.HangStopped} {
			if i := slices.IndexFunc(list, func(t Thread) bool { return t.Kind == kind }); i >= 0 {
				return i
			}
		}
	case t.Kind == posixtrace.HangSleeps:
		if i := c.other(t.PID); i >= 0 {
			return i // such as the reader of a pipe: what sleeps may be no part of the work
		}
	}
	return at
}

// follow returns the end of the chain that begins at a thread.
func (c *choice) follow(at int) int {
	for seen := map[int]bool{}; ; {
		seen[at] = true
		t := &c.list[at]
		if t.Kind != posixtrace.HangWaits || t.ForPID == 0 {
			return at
		}
		next := c.next(t)
		if next < 0 || seen[next] {
			return at
		}
		o := &c.list[next]
		if !WaitsForEnd(&t.HangData) && o.Kind != posixtrace.HangBusy && (o.Kind != posixtrace.HangWaits || o.ForPID == 0) {
			return at
		}
		at = next
	}
}

// other returns a thread that waits for a process, any if pid is 0, by anything else than its end, -1 if there is
// none.
func (c *choice) other(pid int) int {
	return slices.IndexFunc(c.list, func(t Thread) bool {
		return t.Kind == posixtrace.HangWaits && t.ForPID != 0 && (pid == 0 || t.ForPID == pid) && t.ForPID != t.PID && !WaitsForEnd(&t.HangData)
	})
}

// choice finds threads by process.
type choice struct {
	list []Thread
	best map[int]int // by pid, the thread that says most
	tids map[[2]int]int
}

func newChoice(list []Thread) *choice {
	c := &choice{list, make(map[int]int, len(list)), make(map[[2]int]int, len(list))}
	for i := range list {
		t := &list[i]
		if b, ok := c.best[t.PID]; !ok || rank(t) > rank(&list[b]) {
			c.best[t.PID] = i
		}
		c.tids[[2]int{t.PID, t.TID}] = i
	}
	return c
}

// cycle returns a thread of a deadlock, -1 if there is none. A wait for the end of a process says less than what
// that process waits for.
func (c *choice) cycle() int {
	best := -1
	for i := range c.list {
		if t := &c.list[i]; t.Cycle && (best < 0 || WaitsForEnd(&c.list[best].HangData) && !WaitsForEnd(&t.HangData)) {
			best = i
		}
	}
	return best
}

// next returns the thread that a thread waits for, -1 if it is not known. The first thread of another process
// stands for all of them.
func (c *choice) next(t *Thread) int {
	if t.ForTID != 0 && t.ForTID != t.ForPID {
		if i, ok := c.tids[[2]int{t.ForPID, t.ForTID}]; ok {
			return i
		}
	}
	return c.speaker(t.ForPID)
}

// speaker returns the thread of a process that says best what the process waits for, -1 if there is none.
func (c *choice) speaker(pid int) int {
	if i, ok := c.best[pid]; ok {
		return i
	}
	return -1
}

// rank says how much a thread says of what its process waits for.
func rank(t *Thread) int {
	first := 0
	if t.TID == t.PID {
		first = 2
	}
	switch {
	case t.Kind == posixtrace.HangBusy:
		return 16
	case t.Stuck:
		return 13 + first
	case t.Kind == posixtrace.HangStopped:
		return 10 + first
	case t.ForPID != 0 && t.ForPID != t.PID:
		if WaitsForEnd(&t.HangData) {
			first++
		}
		return 7 + first
	case t.Kind == posixtrace.HangZombie:
		return 0
	}
	return 4 + first
}

// WaitsForEnd reports whether a thread waits for the end of a process, or for its child to execute a program.
func WaitsForEnd(d *posixtrace.HangData) bool {
	name, _, _ := strings.Cut(d.Call, "(")
	switch name {
	case "wait4", "waitid", "waitpid", "vfork", "clone", "clone3":
		return true
	}
	function, _, _ := strings.Cut(d.Wait, ".") // the compiler makes variants: "x.isra.0"
	switch function {
	case "do_wait", "kernel_wait4", "kernel_clone", "_do_fork", "do_fork", "wait_for_vfork_done":
		return d.Call == ""
	}
	return false
}
