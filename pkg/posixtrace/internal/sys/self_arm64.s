//go:build linux

#include "textflag.h"

// func Ticks() uint64
TEXT ·Ticks(SB), NOSPLIT|NOFRAME, $0-8
	MRS  CNTVCT_EL0, R0
	MOVD R0, ret+0(FP)
	RET

// func Self() (tid, pc uint64, processor int, ticks uint64)
TEXT ·Self(SB), NOSPLIT|NOFRAME, $0-32
	MOVD ·gM(SB), R1
	MOVD (g)(R1), R2 // g.m
	MOVD ·mID(SB), R1
	MOVD (R2)(R1), R3
	MOVD R3, tid+0(FP)
	MOVD ·mP(SB), R1
	MOVD (R2)(R1), R3 // m.p
	CBZ  R3, none
	MOVW 0(R3), R3    // its id
none:
	MOVD R3, processor+16(FP)
	MOVD R29, R2
	MOVBU ·hop(SB), R0
	CBZ  R0, here
	MOVD 0(R2), R2
here:
	MOVD 8(R2), R2
	MOVD R2, pc+8(FP)
	MRS  CNTVCT_EL0, R0
	MOVD R0, ticks+24(FP)
	RET

// func Outer() uint64
//
// As Self, and then the frame above.
TEXT ·Outer(SB), NOSPLIT|NOFRAME, $0-8
	MOVD R29, R2
	MOVBU ·hop(SB), R0
	CBZ  R0, here
	MOVD 0(R2), R2
here:
	MOVD 0(R2), R2
	MOVD 8(R2), R2
	MOVD R2, ret+0(FP)
	RET

// func gAddr() uint64
TEXT ·gAddr(SB), NOSPLIT|NOFRAME, $0-8
	MOVD g, ret+0(FP)
	RET

// func peek(addr uint64) uint64
TEXT ·peek(SB), NOSPLIT|NOFRAME, $0-16
	MOVD addr+0(FP), R2
	MOVD (R2), R2
	MOVD R2, ret+8(FP)
	RET
