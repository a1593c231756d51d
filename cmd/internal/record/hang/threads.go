//go:build linux

package hang

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// thread is a thread that was looked at.
type thread struct {
	Thread
	w    *world
	p    *process
	name string // of the system call, "" if it is in none
	args [6]uint64
	path string // absolute, of a file among the arguments
	seen tracer.Thread

	onFile bool // the first argument is a descriptor

	ran, turns uint64 // on a processor: how long, and how often
	ran2       bool   // it ran between the looks
	gone       bool   // it ended between them
	on         []*thread
	apart      bool // on has threads of which it is not known that they can end the wait
	unowned    bool // it waits for a futex whose owner is recorded nowhere
	live       bool
	rank       int    // in stuck.go
	inner      *int   // see innerTID
	sample     []byte // see busyStack
}

// load looks at the threads of a process for the first time, once.
func (w *world) load(p *process) []*thread {
	if p == nil {
		return nil
	}
	if p.loaded {
		return p.threads
	}
	if len(w.order) > 0 && w.over() {
		return nil
	}
	p.loaded = true
	p.arguments() // now: it may end soon
	var ids []int
	w.hide("threads", numbers(procfs.File(p.pid, "task"), func(tid int) { ids = append(ids, tid) }))
	slices.Sort(ids)
	for _, tid := range ids {
		if len(w.order) > 0 && w.over() {
			break
		}
		seen, ok := tracer.ReadThread(tid)
		if !ok {
			continue
		}
		if w.noAttach != nil {
			seen.InCall, seen.Hidden = false, w.noAttach
		}
		t := &thread{w: w, p: p, seen: seen}
		t.Thread = Thread{PID: p.pid, TID: tid, Depth: p.depth, Program: seen.Name, Wait: seen.Wait, Since: -1}
		t.State = p.state
		if tid != p.pid {
			if f := procfs.StatFields(tid); len(f) > 0 {
				t.State = f[0][0]
			}
		}
		t.ran, t.turns = schedstat(tid)
		if t.seen.Hidden != nil && t.State != 'Z' {
			t.Note = "its system call cannot be read: " + t.seen.Hidden.Error()
			w.hide("system calls", t.seen.Hidden)
		}
		p.threads = append(p.threads, t)
		w.threads[tid] = t
		w.order = append(w.order, t)
	}
	return p.threads
}

// schedstat returns how long a thread has run, in nanoseconds, and how often it began to.
func schedstat(tid int) (ran, turns uint64) {
	b, err := procfs.Read(tid, "schedstat")
	if err != nil {
		return 0, 0
	}
	f := strings.Fields(string(b))
	if len(f) < 3 {
		return 0, 0
	}
	ran, _ = strconv.ParseUint(f[0], 10, 64)
	turns, _ = strconv.ParseUint(f[2], 10, 64)
	return ran, turns
}

// pause waits, then looks a second time at the threads of order from the nth on.
func (w *world) pause(n int, d time.Duration) {
	if n == 0 {
		w.first = len(w.order)
	}
	if w.over() {
		return
	}
	begin := time.Now()
	time.Sleep(d)
	w.again(n, time.Since(begin))
}

// again looks a second time at the threads of order from the nth on, d after the first look.
func (w *world) again(n int, d time.Duration) {
	w.now = lastRan(unix.Gettid())
	for _, t := range w.order[n:] {
		ran, turns := schedstat(t.TID)
		if turns == 0 && ran == 0 && t.ran > 0 {
			t.ran2, t.live, t.gone = true, true, true
			continue
		}
		t.ran2 = turns != t.turns || ran != t.ran
		if t.State == 't' {
			t.released()
		}
		if t.Kind == Waits && n > 0 && t.ran2 { // explained before
			t.live = true
		}
		switch {
		case time.Duration(ran-t.ran) > d/20:
			t.Kind = Busy
		case t.State == 'R':
			t.Kind = Runs
		}
	}
}

// released looks once more at a thread that was stopped by a tracer: another look may have stopped it for its
// registers.
func (t *thread) released() {
	f := procfs.StatFields(t.TID)
	if len(f) == 0 || f[0] == "t" {
		return
	}
	if seen, ok := tracer.ReadThread(t.TID); ok {
		t.State, t.seen, t.Wait, t.ran2 = f[0][0], seen, seen.Wait, true
	}
}

// lastRan returns the scheduler's clock, in seconds, when a thread began to run last. It is 0 if that is not
// known: the kernel clears it when the thread moves to another processor.
func lastRan(tid int) float64 {
	b, err := procfs.Read(tid, "sched")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(b, []byte("se.exec_start"))
	line, _, _ := bytes.Cut(rest, []byte{'\n'})
	f, _ := strconv.ParseFloat(strings.Trim(string(line), " :"), 64)
	return f / 1000
}

// since finds how long the thread has been in its call: by its tracer, if it has one of ours, or about, by the
// scheduler's clock.
func (t *thread) since() {
	if at, ok := tracer.Entered(t.TID, t.seen.Call); ok && t.seen.InCall {
		t.Since, t.Exact = max(time.Since(at), 0), true
		return
	}
	t.Since = elapsed(lastRan(t.TID), t.w.now, t.age())
	t.continued()
}

// continued adds to Since the time before the last look, if that has stopped the thread in the same call: it ran
// then, to enter the call again. Without that time, Since is not known.
func (t *thread) continued() {
	if t.w.last == nil {
		return
	}
	for i := range t.w.last.Threads {
		o := &t.w.last.Threads[i]
		if o.TID != t.TID || o.held == nil || o.held.SP != t.seen.SP || o.held.IP != t.seen.IP || o.held.Args != t.seen.Args {
			continue
		}
		if t.Since = -1; o.Since >= 0 {
			t.Since = o.Since + time.Since(t.w.last.at)
		}
	}
}

// elapsed returns the time from one value of the scheduler's clock to another, negative if it is not known:
// the clock of a thread that the kernel has moved is 0 or jumps, and no thread waits longer than its age,
// which is 0 if it is unknown. Each processor has a clock of its own.
func elapsed(at, now float64, age time.Duration) time.Duration {
	if at <= 0 || now <= 0 {
		return -1
	}
	d := time.Duration((now - at) * 1e9)
	if d < 0 || age > 0 && d > age+time.Second {
		return -1
	}
	return d
}

// age returns how long ago the thread started, 0 if that is unknown.
func (t *thread) age() time.Duration {
	f := procfs.StatFields(t.TID)
	if len(f) < 20 {
		return 0
	}
	ticks, err := strconv.ParseInt(f[19], 10, 64)
	var now unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano()) - time.Duration(ticks)*(time.Second/100)
}

// describe reads the system call of a thread and its arguments.
func (t *thread) describe() {
	if !t.seen.InCall {
		return
	}
	name, list := tracer.Describe(t.TID, t.seen.Call, t.seen.Args)
	if name == "" {
		return
	}
	t.name, t.args, t.path, t.onFile = name, t.seen.Args, t.pathOf(list), describesFile(list)
	t.Call = name + string(output.AppendCall(nil, &posixtrace.SyscallData{Args: list}, false))
}

// memory reads n bytes of the memory of the thread's process, fewer if it cannot.
func (t *thread) memory(at uint64, n int) []byte {
	return t.anyMemory(at, tracer.Present(t.PID, at, n))
}

// anyMemory is memory of a process that has mapped no file of a file system that may not answer.
func (t *thread) anyMemory(at uint64, n int) []byte {
	if at == 0 || n <= 0 || t.w.noAttach != nil {
		return nil
	}
	b := make([]byte, n)
	local := unix.Iovec{Base: &b[0]}
	local.SetLen(n)
	m, err := unix.ProcessVMReadv(t.PID, []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(at), Len: n}}, 0)
	if err != unix.EFAULT { // there is no memory
		t.w.hide("memory", err)
	}
	return b[:max(m, 0)]
}
