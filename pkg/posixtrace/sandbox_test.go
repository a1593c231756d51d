package posixtrace

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"unsafe"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"golang.org/x/sys/unix"
)

func init() {
	// sandbox: opens an event type, enters a sandbox that kills it for a system call that connects
	// it to a stream, and records.
	tracetest.Helpers["sandbox"] = func([]string) {
		s, err := Create(0, nil)
		tracetest.Check(err == nil, "Create: %v", err)
		tracetest.Check(s.Start() == nil, "Start")
		id, err := OpenEventID("sandboxed")
		tracetest.Check(err == nil, "OpenEventID: %v", err)
		const n = sandboxed
		done := make(chan struct{})
		go func() {
			defer close(done)
			enterSandbox()
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
		tracetest.Check(got == n, "%d events of %d", got, n)
		tracetest.Check(s.Shutdown() == nil, "Shutdown")
		fmt.Println("ok")
	}
	// It records nothing and makes no other call before.
	tracetest.Helpers[earlyHelper] = func([]string) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			enterSandbox()
			for range sandboxed {
				Event(EventUnnamed, []byte("x"))
			}
		}()
		<-done
	}
}

const sandboxed = 100 // events

// earlyHelper is the helper connected to its stream before main.
const earlyHelper = "sandbox-early"

// enterSandbox makes the system calls that connect a program to a stream deadly for the calling
// thread, which ends with the goroutine.
func enterSandbox() {
	const (
		nr      = 0         // offset of the call's number in struct seccomp_data
		mmapped = 16 + 4*8  // and of mmap's descriptor, which is the low half here
		none    = 1<<32 - 1 // -1: memory, which the Go runtime needs
		ld      = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		jeq     = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	)
	prog := []unix.SockFilter{
		{Code: ld, K: nr},
		{Code: jeq, K: unix.SYS_OPENAT, Jt: 6},
		{Code: jeq, K: unix.SYS_FLOCK, Jt: 5},
		{Code: jeq, K: unix.SYS_FSTAT, Jt: 4},
		{Code: jeq, K: unix.SYS_MMAP, Jf: 2},
		{Code: ld, K: mmapped},
		{Code: jeq, K: none, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS},
	}
	fp := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	runtime.LockOSThread()
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	tracetest.Check(err == nil, "no_new_privs: %v", err)
	_, _, no := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fp)))
	tracetest.Check(no == 0, "seccomp: %v", no)
}

// A program that enters a sandbox after opening its event types, before its first event, is
// traced.
func TestSandbox(t *testing.T) {
	tracetest.RunHelper(t, nil, "sandbox")
}

// So is a program that enters it at the start of main, if $PTRACE_STREAM leads to its stream.
func TestSandboxBeforeFirstCall(t *testing.T) {
	s, err := Create(0, &Attr{Inheritance: InheritChildren})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	info, err := s.Info()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), tracetest.Quick, tracetest.HelperVar+"="+earlyHelper, "PTRACE_STREAM="+info.Path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := 0
	for {
		ev, _, err := s.TryNext(nil)
		if err != nil {
			break
		}
		if ev.ID == EventUnnamed && ev.PID == cmd.Process.Pid {
			got++
		}
	}
	if got != sandboxed {
		t.Errorf("%d events of %d", got, sandboxed)
	}
}
