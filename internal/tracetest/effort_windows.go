package tracetest

import (
	"syscall"
	"time"
)

// spent is the processor time of this process.
func spent() time.Duration {
	process, err := syscall.GetCurrentProcess()
	var created, ended, system, user syscall.Filetime
	if err == nil {
		err = syscall.GetProcessTimes(process, &created, &ended, &system, &user)
	}
	if err != nil {
		panic(err)
	}
	ticks := func(t syscall.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
	return time.Duration(100 * (ticks(system) + ticks(user)))
}
