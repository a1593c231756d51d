#include "textflag.h"

// func rawFork(number, flags uintptr) (pid, errno uintptr)
//
// The child returns first, on the stack that it shares with its parent, and overwrites the return
// address. The parent keeps a copy in a register.
TEXT ·rawFork(SB), NOSPLIT|NOFRAME, $0-32
	MOVQ number+0(FP), AX
	MOVQ flags+8(FP), DI
	XORL SI, SI
	XORL DX, DX
	XORL R10, R10
	XORL R8, R8
	POPQ R12
	SYSCALL
	PUSHQ R12
	CMPQ AX, $0xfffffffffffff001
	JLS  ok
	NEGQ AX
	MOVQ $0, pid+16(FP)
	MOVQ AX, errno+24(FP)
	RET
ok:
	MOVQ AX, pid+16(FP)
	MOVQ $0, errno+24(FP)
	RET
