package tracer

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// occupy keeps the processor that it runs on busy until stop is set, and returns its thread.
func occupy(t *testing.T, stop *atomic.Bool) (tid int) {
	t.Helper()
	started := make(chan int)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		var all, one unix.CPUSet
		unix.SchedGetaffinity(0, &all)
		for cpu := range len(all) * 64 {
			if all.IsSet(cpu) {
				one.Set(cpu)
				break
			}
		}
		unix.SchedSetaffinity(0, &one)
		started <- unix.Gettid()
		for !stop.Load() {
		}
	}()
	return <-started
}

// A tracer that shares a processor with a thread which never sleeps becomes an ordinary thread again, though
// it gets no processor time to do so.
func TestStarvingTracerIsFreed(t *testing.T) {
	var stop atomic.Bool
	defer stop.Store(true)
	busy := occupy(t, &stop)
	type state struct {
		enabled, near, freed bool
		policy               uintptr
		home, now            unix.CPUSet
	}
	result := make(chan state)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		var p placement
		var s state
		p.init()
		if s.enabled = p.enabled; s.enabled {
			p.moveNear(busy)
			s.near = p.near
			for start := time.Now(); s.near && !p.freed.Load() && time.Since(start) < time.Minute; {
			}
		}
		s.freed = p.freed.Load()
		s.policy, _, _ = unix.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, 0, 0, 0)
		s.home = p.home
		unix.SchedGetaffinity(0, &s.now)
		result <- s
	}()
	s := <-result
	tracetest.Only(t, s.enabled, "with two processors, CAP_SYS_NICE and CONFIG_SCHED_INFO")
	if !s.near || !s.freed || s.policy != unix.SCHED_NORMAL || s.now != s.home {
		t.Errorf("moved there: %v, freed: %v, policy %d, processors %v of %v", s.near, s.freed, s.policy, s.now.Count(), s.home.Count())
	}
}

// Before the tracer sleeps it looks for a stop again and again.
func TestAwaitLooksBeforeItSleeps(t *testing.T) {
	defer func() { awaitStop = wait }()
	looks := 0
	awaitStop = func(_ *syscall.WaitStatus, _ *usage, flags int) (int, syscall.Errno) {
		if flags&unix.WNOHANG != 0 {
			looks++
			return 0, 0
		}
		return 7, 0
	}
	var tr tracer
	if tid, _ := tr.await(nil, nil); tid != 7 || looks != 0 {
		t.Errorf("thread %d, %d looks, want 7 and none", tid, looks)
	}
	tr.placement.spin = spinMost
	if tid, _ := tr.await(nil, nil); tid != 7 || looks < 2 {
		t.Errorf("thread %d, %d looks, want 7 and several", tid, looks)
	}
	tr.held = make([]held, 1)
	if tid, _ := tr.await(nil, nil); tid != 0 {
		t.Errorf("thread %d while a thread is held, want 0", tid)
	}
}
