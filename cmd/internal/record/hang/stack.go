//go:build linux

package hang

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/read/symbols"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/cmd/internal/record/unwind"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// Of a thread that waits in a system call, the kernel shows the instruction pointer and the stack pointer
// (/proc/TID/syscall). They lead to its callers, without a stop, as far as the code keeps no frame pointer: all
// the way in Go, in C that is optimized. Where they do not, the thread is stopped for a moment for the other
// registers, if its call allows that (restarts.go). Of a thread that is busy, the kernel copies registers and
// stack while it runs (busy.go).

const (
	mostStacks = 64  // threads
	mostFrames = 32  // of a stack
	mostMapped = 256 // mappings of a process that frames are in

	stackTime = 2 * time.Second // for all stacks
)

// frame is a frame of a stack.
type frame struct {
	unwind.Frame
	m posixtrace.MapData
}

// stack is what Name names.
type stack struct {
	frames []frame // the call itself first
	cut    bool    // there are more
	at     int64   // the time of the look
	count  int     // of goroutines
}

// callers finds the callers of code in one process.
type callers struct {
	*unwind.Walker
	pid    int
	space  *unwind.Space
	golang bool // goroutines was called
	mapped []posixtrace.MapData
}

// stacks finds the stacks of the threads of the tree that wait or are busy, of those first that no thread can
// wake.
func (w *world) stacks(until time.Time) {
	if tracer.Architecture == nil {
		w.hidden["stacks: there are none for this architecture"]++
		return
	}
	if until.IsZero() {
		until = time.Now().Add(stackTime)
	}
	list := slices.DeleteFunc(slices.Clone(w.order[:w.first]), func(t *thread) bool { return t.Kind == Zombie || t.Kind == Runs })
	urgency := func(t *thread) int {
		switch {
		case t.Cycle:
			return 0
		case t.Stuck, t.Kind == Busy:
			return 1
		case t.Kind == Waits:
			return 2
		}
		return 3
	}
	slices.SortStableFunc(list, func(a, b *thread) int {
		return cmp.Or(urgency(a)-urgency(b), b.Depth-a.Depth)
	})
	walker, of := unwind.NewWalker(tracer.Architecture), map[int]*callers{}
	for i, t := range list {
		if i >= mostStacks {
			t.note(fmt.Sprintf("no stack: %d other threads have one", mostStacks))
			continue
		}
		if time.Now().After(until) {
			t.note("no stack: there was no time")
			continue
		}
		c, ok := of[t.PID]
		if !ok {
			if !procfs.ServedProgram(t.PID) { // else its file system may be what the process waits for
				c = newCallers(t.PID, walker)
			}
			of[t.PID] = c
		}
		if c == nil {
			t.note("no stack: its program or a library is in a file system that may not answer")
			continue
		}
		t.takeStack(c, until)
		if c.Go && !c.golang {
			c.golang = true
			t.goroutines = c.goroutines(t, until)
		}
	}
}

func newCallers(pid int, w *unwind.Walker) *callers {
	code, _ := tool.Executable(pid)
	list := make([]unwind.Code, 0, len(code))
	for _, c := range code {
		list = append(list, unwind.Code(c))
	}
	return &callers{Walker: w, pid: pid, space: unwind.NewSpace(list)}
}

// takeStack finds the stack of the thread.
func (t *thread) takeStack(c *callers, until time.Time) {
	if t.Kind == Busy {
		t.busyStack(c)
		return
	}
	if !t.seen.InCall || t.name == "" || t.seen.SP == 0 {
		if t.Note == "" {
			t.note("no stack: it waits in no system call that is known")
		}
		return
	}
	defer t.check()
	regs := tracer.Architecture.At(t.seen.IP, t.seen.SP)
	if c.walk(t, &regs, t.memoryAt); !c.Lacked {
		return
	}
	why := t.unstoppable()
	if why == "" {
		regs, err := tracer.Registers(t.TID, until, t.same)
		for try := 0; err == unix.EPERM && procfs.Tracer(t.TID) != 0 && try < 10; try++ { // another look has it
			time.Sleep(time.Millisecond)
			regs, err = tracer.Registers(t.TID, until, t.same)
		}
		if err != nil {
			why = err.Error()
		} else {
			t.held = &t.seen
			c.walk(t, &regs, t.memoryAt)
		}
	}
	if why != "" {
		t.note("its stack may have more: " + why)
	}
}

// check forgets the stack if the thread has gone on meanwhile: it may be a mixture of two. A thread that was
// stopped runs until it is back in its call.
func (t *thread) check() {
	now, ok := tracer.ReadThread(t.TID)
	if ok && (now.SP == t.seen.SP && now.IP == t.seen.IP || t.held != nil && !now.InCall) {
		return
	}
	t.stack = nil
	t.note("no stack: it has gone on")
}

// note adds a note.
func (t *thread) note(text string) {
	if t.Note != "" {
		text = t.Note + "; " + text
	}
	t.Note = text
}

// memoryAt reads memory of the process, also what its files have in no memory yet, as tables for the unwinder.
func (t *thread) memoryAt(at uint64, b []byte) int { return copy(b, t.anyMemory(at, len(b))) }

// same reports whether the thread still waits as it was seen to.
func (t *thread) same() bool {
	now, ok := tracer.ReadThread(t.TID)
	return ok && now == t.seen
}

// walk finds the frames of a thread from its registers.
func (c *callers) walk(t *thread, regs *unwind.Registers, read unwind.Memory) {
	if s := c.find(regs, t.Kind == Busy, read); t.stack == nil || len(s.frames) >= len(t.stack.frames) {
		t.stack = s
	}
}

// find finds the frames from the registers. next says that the instruction comes next, and is not behind a call.
func (c *callers) find(regs *unwind.Registers, next bool, read unwind.Memory) *stack {
	target := unwind.Target{Space: c.space, Read: read, Exe: c.program}
	frames, end := c.Walk(&target, regs, nil, mostFrames-1)
	s := &stack{cut: end != unwind.Outermost, at: time.Now().UnixNano(), count: 1}
	for _, f := range slices.Concat([]unwind.Frame{{PC: regs.PC, Interrupted: next}}, frames) {
		at := f.PC
		if !f.Interrupted {
			at--
		}
		s.frames = append(s.frames, frame{f, c.mapping(at)})
	}
	return s
}

func (c *callers) program() unwind.File {
	f, err := os.Open(procfs.File(c.pid, "exe"))
	if err != nil {
		return nil
	}
	return f
}

// mapping returns the mapping of an address, the zero value if it is not known.
func (c *callers) mapping(at uint64) posixtrace.MapData {
	for i := range c.mapped {
		if m := &c.mapped[i]; m.Start <= at && at < m.End {
			return *m
		}
	}
	m, err := tool.Mapping(c.pid, at)
	if err != nil {
		return posixtrace.MapData{Start: at, End: at}
	}
	if len(c.mapped) < mostMapped {
		c.mapped = append(c.mapped, m)
	}
	return m
}

// Unnamed reports whether there is something for Name.
func (r *Report) Unnamed() bool {
	return slices.ContainsFunc(r.Threads, func(t Thread) bool { return t.stack != nil || t.hot != nil })
}

// Name names the functions of the stacks, and the places where threads are busy. That needs the files of the
// programs, and may take seconds. After until, places in files have to do.
func (r *Report) Name(until time.Time) {
	n := namer{table: symbols.NewTable(), until: until, roots: map[int]string{}}
	for i := range r.Threads {
		t := &r.Threads[i]
		if h := t.hot; h != nil {
			t.hot = nil
			if where, err := n.name(t.PID, h.at, &h.m, h.addr, false); err == nil {
				t.Note = strings.Replace(t.Note, h.where, "in "+where, 1)
			}
		}
		if s := t.stack; s != nil {
			t.stack, t.Stack = nil, n.frames(t.PID, s)
		}
		for _, s := range t.goroutines {
			t.Stack = append(t.Stack, n.goroutine(t.PID, s)...)
		}
		t.goroutines = nil
	}
}

// namer names addresses.
type namer struct {
	table *symbols.Table
	until time.Time
	roots map[int]string
}

// root returns the path that leads to the root directory of a process in another mount namespace, as that of a
// container; else "".
func (n *namer) root(pid int) string {
	path, known := n.roots[pid]
	if !known {
		own, err := os.Readlink("/proc/self/ns/mnt")
		other, err2 := os.Readlink(procfs.File(pid, "ns/mnt"))
		if err == nil && err2 == nil && own != other {
			path = procfs.File(pid, "root")
		}
		n.roots[pid] = path
	}
	return path
}

// name returns the function of an address and its line, "main+0x1f (main.c:26)". If it has none, name returns
// the file and the place in it, and an error. next is as for symbols.Spaces.Name.
func (n *namer) name(pid int, at int64, m *posixtrace.MapData, addr uint64, next bool) (string, error) {
	if time.Now().After(n.until) {
		n.table.Close()
	}
	if root := n.root(pid); root != "" && strings.HasPrefix(m.Path, "/") {
		inside := *m
		inside.Path = root + m.Path
		m = &inside
	}
	spaces := symbols.NewSpaces(n.table)
	rec := posixtrace.Record{Data: m.Append(nil)}
	rec.ID, rec.PID, rec.UnixNano = posixtrace.EventProcMap, pid, at
	spaces.Note(&rec)
	where, source, err := spaces.Name(pid, at, addr, next)
	if source != "" {
		where += " (" + filepath.Base(source) + ")"
	}
	return where, err
}

// frames names all frames of a stack.
func (n *namer) frames(pid int, s *stack) (names []string) {
	for i := range s.frames {
		names = append(names, n.frame(pid, s, i))
	}
	if s.cut {
		names = append(names, "...")
	}
	return names
}

func (n *namer) frame(pid int, s *stack, i int) (text string) {
	f := &s.frames[i]
	if f.Guessed {
		text = "? "
	}
	if i+1 < len(s.frames) && s.frames[i+1].Interrupted {
		return text + "<signal handler called>"
	}
	where, _ := n.name(pid, s.at, &f.m, f.PC, !f.Interrupted)
	return text + where
}
