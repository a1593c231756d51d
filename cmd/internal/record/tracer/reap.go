//go:build linux

package tracer

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// A thread that executes a program ends the other threads of its process, and the kernel lets it go
// on when their tracer has waited for each of them. But PTRACE_SEIZE of a thread of that process
// waits for the execution. So while a seizure lasts, another thread of the tracer waits for those that
// have ended: wait4(2) covers the tracees of all threads of a process.

// Patience with a seizure before the ends of threads are waited for, and the pause between.
const (
	seizePatience = 5 * time.Millisecond
	reapPause     = 2 * time.Millisecond
)

// ending is the end of a thread that reapWhile has waited for.
type ending struct {
	tid    int
	status syscall.WaitStatus
	usage  usage
}

// seizeThread seizes a thread of a process. Threads of it that end meanwhile are as after wait.
func (t *tracer) seizeThread(pid, tid int) error {
	seized, reaped := make(chan struct{}), make(chan struct{})
	var ends []ending
	timer := time.AfterFunc(seizePatience, func() {
		defer close(reaped)
		ends = reapWhile(pid, t.thread, seized)
	})
	err := seize(tid, t.options())
	close(seized)
	if !timer.Stop() {
		<-reaped
	}
	for i := range ends {
		t.exited(ends[i].tid, ends[i].status, &ends[i].usage)
	}
	return err
}

// reapWhile waits for the threads of a process that a thread of this one traces and that have ended,
// until the channel is closed.
func reapWhile(pid, tracer int, seizing <-chan struct{}) (ends []ending) {
	for {
		tids, _ := threadsOf(pid)
		for _, tid := range tids {
			if running(tid) || procfs.Tracer(tid) != tracer {
				continue
			}
			e := ending{tid: tid, usage: usage{wanted: true}}
			e.usage.measure(tid)
			if got, err := syscall.Wait4(tid, &e.status, unix.WALL|unix.WNOHANG, &e.usage.Rusage); err == nil && got == tid {
				ends = append(ends, e)
			}
		}
		select {
		case <-seizing:
			return ends
		case <-time.After(reapPause):
		}
	}
}
