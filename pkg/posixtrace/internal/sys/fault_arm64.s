#include "textflag.h"

// func busHandlerAddr() uintptr
TEXT ·busHandlerAddr(SB), NOSPLIT|NOFRAME, $0-8
	MOVD $·busHandler(SB), R0
	MOVD R0, ret+0(FP)
	RET

// func busHandler()
//
// The kernel calls it as a C function: R0 signal, R1 *siginfo, R2 context. No Go is
// running. On return the kernel restores all registers from the context; the handler that it may
// jump to needs those three.
TEXT ·busHandler(SB), NOSPLIT|NOFRAME|TOPFRAME, $0-0
	MOVW 8(R1), R9 // si_code
	CMPW $2, R9    // BUS_ADRERR
	BNE  pass
	MOVD 16(R1), R9 // si_addr
	MOVD $·guards(SB), R10
block:
	MOVD $1024, R11
next:
	MOVD 0(R10), R12 // start
	CBZ  R12, other
	CMP  R12, R9
	BLO  other
	MOVD 8(R10), R13 // end
	CMP  R13, R9
	BHS  other
	MOVD 0(R10), R14 // still the same one
	CMP  R14, R12
	BEQ  found
other:
	ADD  $40, R10
	SUBS $1, R11
	BNE  next
	MOVD 0(R10), R10 // next block
	CBNZ R10, block
pass:
	MOVD ·oldBus(SB), R9
	JMP  (R9)

found:
	MOVD $1, R9
	MOVD R9, 32(R10) // cut, before any thread can read zeros
	// mmap(start, end-start, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_FIXED|MAP_ANONYMOUS, -1, 0)
	MOVD R0, R14
	MOVD R1, R15
	MOVD R2, R16
	MOVD R12, R0
	SUB  R12, R13, R1
	MOVD $3, R2
	MOVD $0x32, R3
	MOVD $-1, R4
	MOVD $0, R5
	MOVD $222, R8
	SVC
	CMN  $4095, R0
	BCS  failed
	MOVD 16(R10), R11 // word
	CBZ  R11, done
	MOVD 24(R10), R12 // value
	MOVD R12, 0(R11)
done:
	RET

failed:
	MOVD R14, R0
	MOVD R15, R1
	MOVD R16, R2
	JMP  pass
