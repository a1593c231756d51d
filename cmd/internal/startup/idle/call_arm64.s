#include "textflag.h"

// func syscall(number, a uintptr, b unsafe.Pointer, c uintptr) int
TEXT ·syscall(SB), NOSPLIT, $0-40
	MOVD number+0(FP), R8
	MOVD a+8(FP), R0
	MOVD b+16(FP), R1
	MOVD c+24(FP), R2
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD ZR, R5
	SVC
	MOVD R0, ret+32(FP)
	RET
