package tracer

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Enter makes the calling process traced, by the tracer at the other end of stage.
// The caller executes the command next, on the thread on which it calls this: the
// filter, if there is one, is that thread's. Without a tracer nothing happens.
func Enter(stage int) {
	runtime.LockOSThread() // for ever
	enter(stage, stageHere)
}

// enter has the calling thread traced and sets its filter. It tells the tracer by what
// that it is going to execute the command, or to start it.
func enter(stage int, what byte) {
	defer unix.Close(stage)
	// Where only ancestors may trace (yama), the tracer needs leave.
	unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0)
	here := fmt.Sprintf("%d %d", os.Getpid(), unix.Gettid())
	if send(stage, what, []byte(here)) != nil {
		return
	}
	answer, data := receive(stage)
	unix.Prctl(unix.PR_SET_PTRACER, 0, 0, 0, 0)
	if answer != stageGo {
		return
	}
	p, err := parseProgram(data)
	if err == nil && len(p) > 0 {
		err = install(p)
	}
	n := 0
	if err != nil {
		n = int(unix.EINVAL)
		if no, ok := err.(syscall.Errno); ok {
			n = int(no)
		}
	}
	send(stage, stageSet, []byte(strconv.Itoa(n)))
}
