//go:build linux

package tracer

import (
	"bytes"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// placement chooses the processor of the tracer's thread. A stop is cheap if the traced
// thread and the tracer share a processor. It costs several times as much if each wake-up
// crosses to an idle processor. But the scheduler prefers idle processors: it moves the
// resumed thread away from the tracer, which is still running, and then the tracer away from
// the stopping thread.
//
// So while there are many stops, the tracer stays on one processor, that of a thread that stops,
// with the policy SCHED_IDLE. A processor that runs only such a thread counts as idle, so the
// traced thread stays on it, or comes to it, and runs at once. If nothing else is to run there, the
// tracer waits for the next stop without sleeping: a processor that sleeps is slow to wake up.
//
// On a busy machine a thread with this policy would starve, and the traced threads with it.
// Then the tracer is an ordinary thread and may run anywhere. It notices by the time for which
// the kernel let it wait for a processor, or, if it gets none, guard notices. If it lacks the
// privilege to become an ordinary thread again, it always is one.
type placement struct {
	home    unix.CPUSet // the processors that the tracer may use
	thread  int
	enabled bool
	near    bool // the tracer is on the thread's processor, with SCHED_IDLE
	cpu     int
	tid     int           // of the last stop
	changes int           // stops since the last check that came from another thread than the one before
	stops   int           // since the last check
	last    time.Time     // time of the last check
	check   time.Time     // time of the next check
	retreat time.Duration // how long the tracer stays away after it starves the next time
	calm    time.Time     // since when it has not starved, or when retreat became shorter
	waited  time.Duration // for a processor, until the last check
	account int           // descriptor of the thread's schedstat
	spin    time.Duration // how long to wait for a stop without sleeping

	guarded chan struct{} // the tracer is near now
	watched atomic.Bool   // it is near
	freed   atomic.Bool   // guard has made the tracer an ordinary thread
}

const (
	checkStops   = 32 // minimum of stops between two checks
	checkEvery   = 4 * time.Millisecond
	retreatMin   = 100 * time.Millisecond
	retreatFreed = 400 * time.Millisecond
	retreatMax   = 30 * time.Second
	manyThreads  = 4                      // one change of thread among so many stops
	starving     = 200 * time.Microsecond // waiting so long for a processor at each stop
	spinMost     = 50 * time.Microsecond
	guardEvery   = 10 * time.Millisecond
)

// init determines whether the tracer can move. It must run on the tracer's thread.
func (p *placement) init() {
	p.cpu = -1
	p.retreat = retreatMin
	p.thread = unix.Gettid()
	if unix.SchedGetaffinity(0, &p.home) != nil || p.home.Count() < 2 || !mayLeaveIdle() {
		return
	}
	fd, err := unix.Open("/proc/thread-self/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	p.account = fd
	if ran, _, ok := p.schedule(); !ok || ran == 0 {
		return
	}
	p.enabled = true
	p.guarded = make(chan struct{}, 1)
	go p.guard()
}

// mayLeaveIdle reports whether a thread with SCHED_IDLE may become an ordinary one again.
func mayLeaveIdle() bool {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NICE, &lim) == nil && lim.Cur >= 20 {
		return true
	}
	return capable(unix.CAP_SYS_NICE)
}

// capable reports whether this process has one of the first 32 capabilities.
func capable(capability uint) bool {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var d [2]unix.CapUserData
	return unix.Capget(&h, &d[0]) == nil && d[0].Effective&(1<<capability) != 0
}

// observe is called for each stop, after its thread was resumed, and moves the tracer.
func (p *placement) observe(tid int) {
	if !p.enabled {
		return
	}
	if tid != p.tid {
		p.tid = tid
		p.changes++
	}
	if p.stops++; p.stops%checkStops != 0 {
		return
	}
	now := time.Now()
	if now.Before(p.check) {
		return
	}
	stops, took, many := p.stops, now.Sub(p.last), p.changes*manyThreads > p.stops
	p.stops, p.changes, p.last = 0, 0, now
	p.check = now.Add(checkEvery)
	_, waited, _ := p.schedule()
	starved := (waited-p.waited)/time.Duration(stops) > starving
	p.waited = waited
	if freed := p.freed.Load(); p.near && (starved || freed) {
		if freed {
			p.retreat = max(p.retreat, retreatFreed)
		}
		p.moveAway()
		p.check = now.Add(p.retreat)
		p.retreat = min(2*p.retreat, retreatMax)
		return
	}
	if p.near && now.Sub(p.calm) > p.retreat {
		p.calm, p.retreat = now, max(p.retreat/2, retreatMin)
	}
	if !p.near {
		p.calm = now
	}
	if !p.near || !many {
		p.moveNear(tid)
	}
	p.spin = 0
	if p.near && took/time.Duration(stops) < spinMost {
		p.spin = spinMost
	}
}

// moveNear moves the tracer to the processor of a thread.
func (p *placement) moveNear(tid int) {
	cpu := processorOf(tid)
	if cpu < 0 || p.near && cpu == p.cpu {
		return
	}
	if !p.home.IsSet(cpu) {
		return
	}
	var set unix.CPUSet
	set.Set(cpu)
	if unix.SchedSetaffinity(0, &set) != nil {
		return
	}
	p.cpu = cpu
	if !p.near {
		p.near = setPolicy(0, unix.SCHED_IDLE) == nil
		p.freed.Store(false)
		p.watched.Store(p.near)
		select {
		case p.guarded <- struct{}{}:
		default: // guard will notice
		}
	}
}

// moveAway makes the tracer an ordinary thread again.
func (p *placement) moveAway() {
	p.free()
	p.near, p.cpu, p.spin = false, -1, 0
	p.watched.Store(false)
}

func (p *placement) free() {
	setPolicy(p.thread, unix.SCHED_NORMAL)
	unix.SchedSetaffinity(p.thread, &p.home)
}

// guard makes the tracer an ordinary thread while it gets no processor, or hardly any, and so cannot do
// so itself, or late.
func (p *placement) guard() {
	for range p.guarded {
		ran, waited, _ := p.schedule()
		stuck := false // the tracer is to run
		for p.watched.Load() {
			time.Sleep(guardEvery)
			r, w, ok := p.schedule()
			state, _, known := statOf(p.thread)
			still := stuck
			stuck = ok && known && state == 'R' && r == ran
			hungry := ok && r-ran < guardEvery/4 && w-waited > guardEvery/2
			if (still && stuck || hungry) && p.watched.CompareAndSwap(true, false) {
				p.free()
				p.freed.Store(true)
			}
			ran, waited = r, w
		}
	}
}

func setPolicy(tid, policy int) error {
	var param int32
	_, _, no := unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(tid), uintptr(policy), uintptr(unsafe.Pointer(&param)))
	return errnoOf(no)
}

// schedule returns how long the tracer's thread has run, and has waited for a processor.
func (p *placement) schedule() (ran, waited time.Duration, ok bool) {
	var b [64]byte
	n, err := unix.Pread(p.account, b[:], 0)
	f := bytes.Fields(b[:max(n, 0)])
	if err != nil || len(f) < 2 {
		return 0, 0, false
	}
	r, err := strconv.ParseInt(string(f[0]), 10, 64)
	w, wrong := strconv.ParseInt(string(f[1]), 10, 64)
	return time.Duration(r), time.Duration(w), err == nil && wrong == nil
}

// processorOf returns the processor that a thread last ran on, or -1.
func processorOf(tid int) int {
	f := procfs.StatFields(tid)
	if len(f) < 37 {
		return -1
	}
	v, err := strconv.Atoi(f[36])
	if err != nil {
		return -1
	}
	return v
}
