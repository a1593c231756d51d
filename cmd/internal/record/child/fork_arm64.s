#include "textflag.h"

// func rawFork(number, flags uintptr) (pid, errno uintptr)
//
// The return address is in a register, so the child, which returns first, does not overwrite it.
TEXT ·rawFork(SB), NOSPLIT, $0-32
	MOVD number+0(FP), R8
	MOVD flags+8(FP), R0
	MOVD ZR, R1
	MOVD ZR, R2
	MOVD ZR, R3
	MOVD ZR, R4
	SVC
	CMN  $4095, R0
	BCC  ok
	NEG  R0, R0
	MOVD ZR, pid+16(FP)
	MOVD R0, errno+24(FP)
	RET
ok:
	MOVD R0, pid+16(FP)
	MOVD ZR, errno+24(FP)
	RET
