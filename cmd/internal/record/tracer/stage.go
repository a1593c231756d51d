//go:build linux

package tracer

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
)

// Enter lets the tracer at the other end of stage trace the calling process, and sets the filter.
// The caller must execute the command next, on the same thread, since the filter belongs to that
// thread. If the tracer is gone, Enter does nothing. The child of a fork has child.Entry instead.
func Enter(stage int) {
	runtime.LockOSThread() // and never unlock
	defer unix.Close(stage)
	// Under Yama, only ancestors may trace without this permission.
	unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0)
	here := fmt.Sprintf("%d %d", os.Getpid(), unix.Gettid())
	if child.SendPacket(stage, child.StageHere, []byte(here)) != nil {
		return
	}
	answer, data := child.ReceivePacket(stage)
	unix.Prctl(unix.PR_SET_PTRACER, 0, 0, 0, 0)
	if answer != child.StageGo {
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
	child.SendPacket(stage, child.StageSet, []byte(strconv.Itoa(n)))
}
