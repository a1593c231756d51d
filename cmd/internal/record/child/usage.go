package child

import (
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// Usage is what a command has used, with the children for which it waited.
type Usage struct {
	syscall.Rusage
	Delay      time.Duration // for which it waited for a processor, 0 if unknown
	Processors int64         // that it might use; 0 if Delay is unknown
}

// complete adds what was read before the end of the command was waited for.
func (u *Usage) complete(ran, waited time.Duration, processors int) {
	// The kernel knows the delay of the first thread alone. It is the command's if that thread has done
	// the work.
	const most = 0.9
	all := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	if waited > 0 && float64(ran) >= most*float64(all) {
		u.Delay, u.Processors = waited, int64(processors)
	}
}

// Reap waits for the end of a child that has ended, as WaitID does.
func Reap(pid, options int, u *Usage) (syscall.WaitStatus, error) {
	ran, waited := procfs.Delay(pid)
	processors := procfs.Processors(pid)
	status, err := WaitID(pid, options, &u.Rusage)
	u.complete(ran, waited, processors)
	return status, err
}
