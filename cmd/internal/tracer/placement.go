package tracer

import (
	"bytes"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/process"
)

// placement chooses the processor of the tracer's thread. A stop is cheap if the traced
// thread and the tracer share a processor. It costs several times as much if each wake-up
// crosses to an idle processor. But the scheduler prefers idle processors: it moves the
// resumed thread away from the tracer, which is still running, and then the tracer away from
// the stopping thread.
//
// So while the stops come from one thread, the tracer stays on that thread's processor, with
// the policy SCHED_IDLE. A processor that runs only such a thread counts as idle, so the
// traced thread stays on it and runs at once.
//
// On a busy machine a thread with this policy would starve, and the traced thread with it.
// There, and while many threads stop, the tracer is an ordinary thread and may run anywhere.
// If it lacks the privilege to become an ordinary thread again, it always is one.
type placement struct {
	home    unix.CPUSet // the processors that the tracer may use
	cpus    int         // their number
	enabled bool
	near    bool // the tracer is on the thread's processor, with SCHED_IDLE
	cpu     int
	tid     int           // of the last stop
	changes int           // stops since the last check that came from another thread than the one before
	stops   int           // since the last check
	check   time.Time     // time of the next check
	retreat time.Duration // how long the tracer stays away after the next busy check
	load    int           // descriptor of /proc/loadavg
}

const (
	checkStops  = 32 // minimum of stops between two checks
	checkEvery  = 4 * time.Millisecond
	retreatMin  = 100 * time.Millisecond
	retreatMax  = 10 * time.Second
	manyThreads = 8 // changes of thread among checkStops stops
)

// init determines whether the tracer can move. It must run on the tracer's thread.
func (p *placement) init() {
	p.cpu = -1
	p.retreat = retreatMin
	if unix.SchedGetaffinity(0, &p.home) != nil {
		return
	}
	if p.cpus = p.home.Count(); p.cpus < 2 || !mayLeaveIdle() {
		return
	}
	fd, err := unix.Open("/proc/loadavg", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	p.load, p.enabled = fd, true
}

// mayLeaveIdle reports whether a thread with SCHED_IDLE may become an ordinary one again.
func mayLeaveIdle() bool {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NICE, &lim) == nil && lim.Cur >= 20 {
		return true
	}
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var d [2]unix.CapUserData
	return unix.Capget(&h, &d[0]) == nil && d[0].Effective&(1<<unix.CAP_SYS_NICE) != 0
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
	if p.stops++; p.stops < checkStops {
		return
	}
	changes := p.changes
	p.stops, p.changes = 0, 0
	if p.near && changes >= manyThreads {
		p.moveAway()
		p.check = time.Now().Add(retreatMin)
		return
	}
	now := time.Now()
	if now.Before(p.check) {
		return
	}
	p.check = now.Add(checkEvery)
	if p.running() > max(2, p.cpus/2) {
		if p.near {
			p.moveAway()
		}
		p.check = now.Add(p.retreat)
		p.retreat = min(2*p.retreat, retreatMax)
		return
	}
	if changes < manyThreads {
		p.moveNear(tid)
		p.retreat = max(p.retreat/2, retreatMin)
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
		p.near = setPolicy(unix.SCHED_IDLE) == nil
	}
}

// moveAway makes the tracer an ordinary thread again.
func (p *placement) moveAway() {
	setPolicy(unix.SCHED_NORMAL)
	unix.SchedSetaffinity(0, &p.home)
	p.near, p.cpu = false, -1
}

func setPolicy(policy int) error {
	var param int32
	_, _, no := unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, uintptr(policy), uintptr(unsafe.Pointer(&param)))
	return errnoOf(no)
}

// running returns the number of runnable threads of the machine.
func (p *placement) running() int {
	var b [64]byte
	n, err := unix.Pread(p.load, b[:], 0)
	if err != nil {
		return 1 << 20
	}
	// 0.12 0.34 0.56 2/123 4711
	f := bytes.Fields(b[:n])
	if len(f) < 4 {
		return 1 << 20
	}
	r, _, _ := bytes.Cut(f[3], []byte("/"))
	v, err := strconv.Atoi(string(r))
	if err != nil {
		return 1 << 20
	}
	return v
}

// processorOf returns the processor that a thread last ran on, or -1.
func processorOf(tid int) int {
	f := process.StatFields(tid)
	if len(f) < 37 {
		return -1
	}
	v, err := strconv.Atoi(f[36])
	if err != nil {
		return -1
	}
	return v
}
