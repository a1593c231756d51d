package child

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Entry gets a command traced from its first instruction: before it executes the command, its
// process asks the tracer at the other end of a socket to trace it, and sets the filter that the
// tracer sends. If the tracer is gone, the command runs untraced.
type Entry struct {
	stage   uintptr
	hello   [1 + 2*(maxDigits+1)]byte
	answer  [1 + sizeOfInstruction*unix.BPF_MAXINSNS]byte
	program program
	set     [2]byte
}

const sizeOfInstruction = 8

// program is a struct sock_fprog. The field filter is no pointer, so that a child may set it.
type program struct {
	length uint16
	filter uintptr
}

// NewEntry returns the entry by the socket stage.
func NewEntry(stage int) *Entry { return &Entry{stage: uintptr(stage)} }

// enter is in a child.
//
//go:nosplit
//go:norace
func (e *Entry) enter() {
	// Under Yama, only ancestors may trace without this permission.
	syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0, 0)
	traced, n := e.ask()
	syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_PTRACER, 0, 0, 0, 0, 0)
	if !traced {
		return
	}
	e.set[0], e.set[1] = StageSet, '0'
	if n > 1 && !e.filter((n-1)/sizeOfInstruction) {
		e.set[1] = '1'
	}
	e.send(unsafe.Pointer(&e.set[0]), len(e.set))
}

// ask asks to be traced. It returns the length of the answer.
//
//go:nosplit
//go:norace
func (e *Entry) ask() (traced bool, n uintptr) {
	pid, _, _ := syscall.RawSyscall(unix.SYS_GETPID, 0, 0, 0)
	e.hello[0] = StageHere
	end := putNumber(e.hello[:], 1, uint64(pid))
	e.hello[end] = ' '
	end = putNumber(e.hello[:], end+1, uint64(pid))
	if !e.send(unsafe.Pointer(&e.hello[0]), end) {
		return false, 0
	}
	for {
		n, _, no := syscall.RawSyscall(unix.SYS_READ, e.stage, uintptr(unsafe.Pointer(&e.answer[0])), unsafe.Sizeof(e.answer))
		if no != unix.EINTR && no != unix.ECONNRESET {
			return no == 0 && n > 0 && e.answer[0] == StageGo, n
		}
	}
}

//go:nosplit
//go:norace
func (e *Entry) send(data unsafe.Pointer, n int) bool {
	for {
		_, _, no := syscall.RawSyscall6(unix.SYS_SENDTO, e.stage, uintptr(data), uintptr(n), unix.MSG_NOSIGNAL, 0, 0)
		if no != unix.EINTR {
			return no == 0
		}
	}
}

// filter sets the filter, as tracer.Enter does.
//
//go:nosplit
//go:norace
func (e *Entry) filter(length uintptr) bool {
	e.program.length, e.program.filter = uint16(length), uintptr(unsafe.Pointer(&e.answer[1]))
	no := e.seccomp()
	if no == unix.EACCES {
		// Without privilege, a filter requires no_new_privs, which disables set-uid programs.
		syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
		no = e.seccomp()
	}
	return no == 0
}

//go:nosplit
//go:norace
func (e *Entry) seccomp() syscall.Errno {
	// Kernels before 4.17 do not know the flag.
	_, _, no := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, uintptr(unsafe.Pointer(&e.program)))
	if no == unix.EINVAL {
		_, _, no = syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&e.program)))
	}
	return no
}
