#include "textflag.h"

// func syscall(number, a uintptr, b unsafe.Pointer, c uintptr) int
TEXT ·syscall(SB), NOSPLIT, $0-40
	MOVQ number+0(FP), AX
	MOVQ a+8(FP), DI
	MOVQ b+16(FP), SI
	MOVQ c+24(FP), DX
	XORL R10, R10
	XORL R8, R8
	XORL R9, R9
	SYSCALL
	MOVQ AX, ret+32(FP)
	RET
