//go:build linux

package tracer

import (
	"os"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// usage is what a thread has used: of the first of a process, the whole process, but for the delay.
type usage struct {
	syscall.Rusage
	wanted     bool          // measure reads the rest
	delay      time.Duration // of this thread alone: the kernel does not add up those that have ended
	processors int           // that it might use; 0 if the delay is unknown
}

// measure reads what the kernel forgets when it has reported the end of a thread.
func (u *usage) measure(tid int) {
	if !u.wanted {
		return
	}
	var ran time.Duration
	u.processors = 0
	if ran, u.delay = procfs.Delay(tid); ran > 0 {
		u.processors = procfs.Processors(tid)
	}
}

// delayed adds the delay of a thread that has ended to that of its process.
func (t *tracer) delayed(pid int, by time.Duration) {
	if by == 0 {
		return
	}
	if t.delays == nil {
		t.delays = make(map[int]time.Duration)
	}
	t.delays[pid] += by
}

// exitData returns the data of the end of a process. If the first thread's delay is unknown, so is that
// of the others.
func (t *tracer) exitData(k *task, status syscall.WaitStatus, u *usage) posixtrace.ExitData {
	d := posixtrace.NewExitData(status, &u.Rusage)
	if u.processors > 0 {
		d.RunDelay, d.Processors = u.delay+t.delays[k.pid], u.processors
	}
	if k.pid == t.command {
		t.machine.Describe(&d)
	}
	return d
}

// measureMachine notes what the machine has done until the command starts.
func (t *tracer) measureMachine() {
	if t.cfg.Want.Proc {
		t.machine = procfs.MachineNow(os.Getpid(), os.Getppid())
	}
}
