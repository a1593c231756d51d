//go:build linux

package tracer

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/record/unwind"
)

// Architecture is that of the programs whose stacks can be found.
var Architecture = unwind.AMD64

// readRegisters reads the registers of a stopped thread that may lead to its callers.
func readRegisters(tid int, r *unwind.Registers) bool {
	var u unix.PtraceRegs
	if ptrace(unix.PTRACE_GETREGS, tid, 0, uintptr(unsafe.Pointer(&u))) != nil {
		return false
	}
	r.PC = u.Rip
	for n, v := range [...]uint64{u.Rax, u.Rdx, u.Rcx, u.Rbx, u.Rsi, u.Rdi, u.Rbp, u.Rsp, u.R8, u.R9, u.R10, u.R11, u.R12, u.R13, u.R14, u.R15} {
		r.Set(n, v)
	}
	return true
}
