//go:build linux

package tracer

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/record/unwind"
)

// Architecture is that of the programs whose stacks can be found.
var Architecture = unwind.ARM64

// readRegisters reads the registers of a stopped thread that may lead to its callers.
func readRegisters(tid int, r *unwind.Registers) bool {
	var u unix.PtraceRegs
	io := unix.Iovec{Base: (*byte)(unsafe.Pointer(&u)), Len: uint64(unsafe.Sizeof(u))}
	if ptrace(unix.PTRACE_GETREGSET, tid, setGeneral, uintptr(unsafe.Pointer(&io))) != nil {
		return false
	}
	r.PC = u.Pc
	for n, v := range u.Regs {
		r.Set(n, v)
	}
	r.Set(31, u.Sp)
	return true
}
