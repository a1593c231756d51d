package posixtrace

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	// sandbox: asks for an id, refuses itself, on pain of death, the system calls by which a program
	// comes to a stream, and records.
	helpers["sandbox"] = func([]string) {
		s, err := Create(0, nil)
		logCheck(err == nil, "Create: %v", err)
		logCheck(s.Start() == nil, "Start")
		id, err := OpenEventID("sandboxed")
		logCheck(err == nil, "OpenEventID: %v", err)
		calls := []uint32{unix.SYS_OPENAT, unix.SYS_FLOCK, unix.SYS_FSTAT}
		prog := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
		for i, nr := range calls {
			prog = append(prog, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jt: uint8(len(calls) - i)})
		}
		prog = append(prog,
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS})
		fp := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
		const n = 100
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // the filter is this thread's, which ends with the goroutine
			err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
			logCheck(err == nil, "no_new_privs: %v", err)
			_, _, no := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fp)))
			logCheck(no == 0, "seccomp: %v", no)
			for range n {
				Event(id, []byte("x"))
			}
		}()
		<-done
		got := 0
		for {
			ev, _, err := s.TryNext(nil)
			if err != nil {
				break
			}
			if ev.ID == id {
				got++
			}
		}
		logCheck(got == n, "%d events of %d", got, n)
		logCheck(s.Shutdown() == nil, "Shutdown")
		fmt.Println("ok")
	}
}

// A program that enters a sandbox after it has asked for its event types, and before its first event,
// goes on to run and is traced.
func TestSandbox(t *testing.T) {
	logHelper(t, nil, "sandbox")
}
