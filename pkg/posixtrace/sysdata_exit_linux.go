package posixtrace

import (
	"syscall"
	"time"
)

// NewExitData returns the data of EventProcExit for a process, from the results of wait4(2).
func NewExitData(status syscall.WaitStatus, u *syscall.Rusage) ExitData {
	d := ExitData{
		User:       time.Duration(u.Utime.Nano()),
		System:     time.Duration(u.Stime.Nano()),
		MaxRSS:     int64(u.Maxrss) << 10,
		MinorFault: int64(u.Minflt),
		MajorFault: int64(u.Majflt),
		BlocksIn:   int64(u.Inblock),
		BlocksOut:  int64(u.Oublock),
		Voluntary:  int64(u.Nvcsw),
		Involunt:   int64(u.Nivcsw),
	}
	if status.Signaled() {
		d.Signal, d.CoreDumped = int(status.Signal()), status.CoreDump()
	} else {
		d.Status = status.ExitStatus()
	}
	return d
}
