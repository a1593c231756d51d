package tracer

import (
	"bytes"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// place decides where the tracer's thread runs. A stop is cheap when the traced thread and
// the tracer share a processor, and dear when a wake-up has to cross to an idle one:
// several times the rest. But the scheduler likes idle processors. It puts the thread that
// goes on next to the tracer, which is still running, and the tracer next to the
// thread that stops.
//
// So while the stops come from one thread, the tracer stays on that thread's processor,
// and has the policy SCHED_IDLE there. A processor with nothing but such a thread
// counts as idle, so the traced thread stays on it, and goes on at once.
//
// On a machine that is busy a thread of this policy would starve, and the traced one
// with it. The tracer is an ordinary thread that may run anywhere then, and as long as
// many threads stop. Where it could not become an ordinary thread again, for lack of the
// privilege, it always is one.
type place struct {
	home    unix.CPUSet // where it may run
	cpus    int         // how many that are
	able    bool
	near    bool // on the processor of the thread, with SCHED_IDLE
	cpu     int
	tid     int // of the last stop
	others  int // stops since the last look that were another thread's than the one before
	stops   int
	look    time.Time     // the next one
	retreat time.Duration // how long the tracer stays away after the next crowd
	load    int           // /proc/loadavg
}

const (
	lookStops   = 32 // the time is looked at no more often
	lookEvery   = 4 * time.Millisecond
	retreatMin  = 100 * time.Millisecond
	retreatMax  = 10 * time.Second
	manyThreads = 8 // changes of thread among lookStops stops
)

// init finds out what the tracer may do. It is called on the tracer's thread.
func (p *place) init() {
	p.cpu = -1
	p.retreat = retreatMin
	if unix.SchedGetaffinity(0, &p.home) != nil {
		return
	}
	if p.cpus = p.home.Count(); p.cpus < 2 || !mayBeNice() {
		return
	}
	fd, err := unix.Open("/proc/loadavg", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	p.load, p.able = fd, true
}

// mayBeNice reports whether a thread that has become SCHED_IDLE may become an ordinary one again.
func mayBeNice() bool {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NICE, &lim) == nil && lim.Cur >= 20 {
		return true
	}
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var d [2]unix.CapUserData
	return unix.Capget(&h, &d[0]) == nil && d[0].Effective&(1<<unix.CAP_SYS_NICE) != 0
}

// follow is told of each stop, once its thread goes on.
func (p *place) follow(tid int) {
	if !p.able {
		return
	}
	if tid != p.tid {
		p.tid = tid
		p.others++
	}
	if p.stops++; p.stops < lookStops {
		return
	}
	changes := p.others
	p.stops, p.others = 0, 0
	if p.near && changes >= manyThreads {
		p.leave()
		p.look = time.Now().Add(retreatMin)
		return
	}
	now := time.Now()
	if now.Before(p.look) {
		return
	}
	p.look = now.Add(lookEvery)
	if p.running() > max(2, p.cpus/2) {
		if p.near {
			p.leave()
		}
		p.look = now.Add(p.retreat)
		p.retreat = min(2*p.retreat, retreatMax)
		return
	}
	if changes < manyThreads {
		p.approach(tid)
		p.retreat = max(p.retreat/2, retreatMin)
	}
}

// approach goes to the processor of a thread.
func (p *place) approach(tid int) {
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

// leave makes the tracer an ordinary thread again.
func (p *place) leave() {
	setPolicy(unix.SCHED_NORMAL)
	unix.SchedSetaffinity(0, &p.home)
	p.near, p.cpu = false, -1
}

func setPolicy(policy int) error {
	var param int32
	_, _, no := unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, uintptr(policy), uintptr(unsafe.Pointer(&param)))
	return errnoOf(no)
}

// running returns how many threads of the machine run or could.
func (p *place) running() int {
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

// processorOf returns the processor that a thread ran on last, or -1.
func processorOf(tid int) int {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/stat")
	if err != nil {
		return -1
	}
	// The name in parentheses may hold anything; what follows begins with field 3.
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return -1
	}
	f := bytes.Fields(b[i+1:])
	if len(f) < 37 {
		return -1
	}
	v, err := strconv.Atoi(string(f[36]))
	if err != nil {
		return -1
	}
	return v
}
