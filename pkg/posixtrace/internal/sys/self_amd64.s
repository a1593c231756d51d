//go:build linux

#include "textflag.h"

// func Ticks() uint64
TEXT ·Ticks(SB), NOSPLIT|NOFRAME, $0-8
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET

// func Self() (tid, pc uint64, processor int, ticks uint64)
//
// The counter comes last: what is before it runs while the exchange of the event before completes,
// what is behind it does not.
//
// BP is the frame of the Go function that called this one, or of a wrapper that the linker put
// between them; hop says which.
TEXT ·Self(SB), NOSPLIT|NOFRAME, $0-32
	MOVQ TLS, CX
	MOVQ 0(CX)(TLS*1), CX
	MOVQ ·gM(SB), DX
	MOVQ (CX)(DX*1), CX // g.m
	MOVQ ·mID(SB), DX
	MOVQ (CX)(DX*1), DX
	MOVQ DX, tid+0(FP)
	MOVQ ·mP(SB), DX
	MOVQ (CX)(DX*1), DX // m.p
	TESTQ DX, DX
	JEQ  none
	MOVLQSX 0(DX), DX   // its id
none:
	MOVQ DX, processor+16(FP)
	MOVQ BP, CX
	CMPB ·hop(SB), $0
	JEQ  here
	MOVQ 0(CX), CX
here:
	MOVQ 8(CX), CX
	MOVQ CX, pc+8(FP)
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ticks+24(FP)
	RET

// func Outer() uint64
//
// As Self, and then the frame above.
TEXT ·Outer(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ BP, CX
	CMPB ·hop(SB), $0
	JEQ  here
	MOVQ 0(CX), CX
here:
	MOVQ 0(CX), CX
	MOVQ 8(CX), CX
	MOVQ CX, ret+0(FP)
	RET

// func gAddr() uint64
TEXT ·gAddr(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ TLS, CX
	MOVQ 0(CX)(TLS*1), CX
	MOVQ CX, ret+0(FP)
	RET

// func peek(addr uint64) uint64
TEXT ·peek(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ addr+0(FP), CX
	MOVQ (CX), CX
	MOVQ CX, ret+8(FP)
	RET
