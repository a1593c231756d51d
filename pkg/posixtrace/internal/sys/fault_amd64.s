#include "textflag.h"

// func busHandlerAddr() uintptr
TEXT ·busHandlerAddr(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ ·busHandler(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func busHandler()
//
// The kernel calls it as a C function: DI signal, SI *siginfo, DX context. No Go is
// running. On return the kernel restores all registers from the context; the handler that it may
// jump to needs those three.
TEXT ·busHandler(SB), NOSPLIT|NOFRAME|TOPFRAME, $0-0
	CMPL 8(SI), $2 // si_code: BUS_ADRERR
	JNE  pass
	MOVQ 16(SI), AX // si_addr
	LEAQ ·guards(SB), BX
block:
	MOVL $1024, CX
next:
	MOVQ 0(BX), R10 // start
	TESTQ R10, R10
	JEQ  other
	CMPQ AX, R10
	JCS  other
	MOVQ 8(BX), R11 // end
	CMPQ AX, R11
	JCC  other
	CMPQ R10, 0(BX) // still the same one
	JEQ  found
other:
	ADDQ $40, BX
	DECL CX
	JNE  next
	MOVQ 0(BX), BX // next block
	TESTQ BX, BX
	JNE  block
pass:
	MOVQ ·oldBus(SB), AX
	JMP  AX

found:
	MOVQ $1, 32(BX) // cut, before any thread can read zeros
	// mmap(start, end-start, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_FIXED|MAP_ANONYMOUS, -1, 0)
	MOVQ DI, R12
	MOVQ SI, R13
	MOVQ DX, R14
	MOVQ R10, DI
	MOVQ R11, SI
	SUBQ R10, SI
	MOVL $3, DX
	MOVL $0x32, R10
	MOVQ $-1, R8
	XORL R9, R9
	MOVL $9, AX
	SYSCALL
	CMPQ AX, $-4095
	JCC  failed
	MOVQ 16(BX), CX // word
	TESTQ CX, CX
	JEQ  done
	MOVQ 24(BX), DX // value
	MOVQ DX, 0(CX)
done:
	RET

failed:
	MOVQ R12, DI
	MOVQ R13, SI
	MOVQ R14, DX
	JMP  pass
