//go:build linux

package tracer

import (
	"maps"
	"os"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/record/unwind"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// stacks finds the stacks of calls, at the entry of the system calls that are recorded.
type stacks struct {
	walker *unwind.Walker
	codes  map[int]*codeOf // by process
	frames []unwind.Frame
}

// codeOf is what is known of the code of a process.
type codeOf struct {
	space    *unwind.Space
	walks    int       // since all was forgotten
	vain     vain      // where walks have failed although the mappings were the same
	skip     int       // how many walks may fail there before the mappings are read again
	failed   int       // how many have
	renewals int       // how often the mappings were read again
	next     time.Time // when they may be read again, after many times
	tired    int       // how many walks have reached the bound of their work
}

// vain is a set of the last places that walks have reached: addresses of code.
type vain map[uint64]struct{}

const (
	// maxFrames bounds a stack.
	maxFrames = 128
	// maxLearned bounds what is kept of all processes, in units of about 100 bytes.
	maxLearned = 1 << 18
	// maxVain bounds vain. With more places, all count as one of them.
	maxVain = 64
	// maxSkip is how many walks fail at such places, at most, before the mappings are read again.
	maxSkip = 1024
	// After so many times, a process whose mappings change all the time costs a part of the time.
	freeRenewals = 256
	renewalPart  = 16
	// maxTired is how many walks may reach the bound of their work, which no program's do that is not
	// made for it. Then the stacks of the process are empty.
	maxTired = 4
)

// takeStack finds the callers of the call that a thread enters, and records the mappings that their
// addresses are in. The thread is stopped.
func (t *tracer) takeStack(k *task) {
	c := &k.call
	c.stack, c.stackCut = c.stack[:0], true
	var regs unwind.Registers
	if !readRegisters(k.tid, &regs) {
		return
	}
	frames, end := t.walk(k, &regs)
	c.stackCut = end != unwind.Outermost
	for i := range frames {
		f := &frames[i]
		at := f.PC
		if !f.Interrupted {
			at--
		}
		t.locate(k, at)
		c.stack = append(c.stack, posixtrace.SyscallFrame{Address: f.PC, Interrupted: f.Interrupted, Guessed: f.Guessed})
	}
}

// walk returns the callers of a thread.
func (t *tracer) walk(k *task, regs *unwind.Registers) (frames []unwind.Frame, end unwind.End) {
	s := &t.stacks
	if s.walker == nil || s.walker.Learned > maxLearned {
		s.walker, s.codes = unwind.NewWalker(Architecture), make(map[int]*codeOf)
	}
	c := s.codes[k.pid]
	if c == nil || c.walks >= again {
		c = &codeOf{space: s.read(k.tid), vain: vain{}}
		s.codes[k.pid] = c
	}
	if c.walks++; c.tired >= maxTired {
		return nil, unwind.Lost
	}
	target := unwind.Target{
		Space: c.space,
		Read:  func(addr uint64, b []byte) int { return readMemory(k.tid, addr, b) },
		Exe:   func() unwind.File { return openProgram(k.tid) },
	}
	frames, end = s.walker.Walk(&target, regs, s.frames[:0], maxFrames)
	last := regs.PC
	if len(frames) > 0 {
		last = frames[len(frames)-1].PC
	}
	if (end == unwind.Lost || end == unwind.Unknown) && c.mayRenew(last) && s.renew(c, k.tid, last) {
		target.Space = c.space
		frames, end = s.walker.Walk(&target, regs, s.frames[:0], maxFrames)
	}
	if s.frames = frames; s.walker.Exhausted() {
		c.tired++
	}
	return frames, end
}

// mayRenew notes that a walk has failed behind a place, and reports whether that may be because the process
// has changed its mappings. Most places where walks fail are such that they always do, as the start of the
// dynamic linker, so for those the mappings are not read each time.
func (c *codeOf) mayRenew(last uint64) bool {
	if c.renewals > freeRenewals && time.Now().Before(c.next) {
		return false
	}
	if _, known := c.vain[last]; !known && len(c.vain) < maxVain {
		return true
	}
	c.failed++
	if c.failed <= c.skip {
		return false
	}
	c.failed = 0
	return true
}

// renew reads the mappings again, and reports whether they have changed.
func (s *stacks) renew(c *codeOf, tid int, last uint64) bool {
	start := time.Now()
	n := c.space.Renewed(s.list(tid))
	c.renewals++
	c.next = start.Add(renewalPart * time.Since(start))
	if n == c.space {
		if len(c.vain) < maxVain {
			c.vain[last] = struct{}{}
		}
		c.skip = min(2*c.skip+1, maxSkip)
		return false
	}
	c.space, c.skip = n, 0
	clear(c.vain)
	return true
}

func (s *stacks) read(tid int) *unwind.Space { return unwind.NewSpace(s.list(tid)) }

// list returns the code of a process.
func (s *stacks) list(tid int) (list []unwind.Code) {
	code, _ := tool.Executable(tid)
	list = make([]unwind.Code, 0, len(code))
	for _, c := range code {
		list = append(list, unwind.Code(c))
	}
	s.walker.Learned += len(list)/4 + 1
	return list
}

// openProgram opens the file of the program that a process executes.
func openProgram(pid int) unwind.File {
	f, err := os.Open(procfs.File(pid, "exe"))
	if err != nil {
		return nil
	}
	return f
}

// share notes that a new process has the code of its parent.
func (s *stacks) share(parent, child int) {
	if c := s.codes[parent]; c != nil && child != parent && s.codes[child] == nil {
		n := *c
		n.vain = maps.Clone(c.vain)
		s.codes[child] = &n
	}
}

// forget forgets the code of a process that executes a program or has ended.
func (s *stacks) forget(pid int) { delete(s.codes, pid) }
