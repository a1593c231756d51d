package unwind

import "encoding/binary"

// maxRegisters is the number of registers of the larger architecture, with one for the return address.
const maxRegisters = 33

// Registers are those of a frame, by their numbers in DWARF.
type Registers struct {
	PC    uint64
	value [maxRegisters]uint64
	known uint64 // a bit for each
}

// Set sets a register.
func (r *Registers) Set(n int, v uint64) {
	if n >= 0 && n < maxRegisters {
		r.value[n] = v
		r.known |= 1 << n
	}
}

func (r *Registers) get(n int) (uint64, bool) {
	if n < 0 || n >= maxRegisters || r.known&(1<<n) == 0 {
		return 0, false
	}
	return r.value[n], true
}

func (r *Registers) forget(n int) {
	if n >= 0 && n < maxRegisters {
		r.known &^= 1 << n
	}
}

// Arch is what differs between architectures.
type Arch struct {
	sp, fp, ret int    // registers; ret is the column of the return address in CFI
	saved       uint64 // the registers that a function restores before it returns
	link        bool   // a call puts the return address in register ret, not on the stack
	code        uint64 // the bits of an address of code: the others may be a signature of it

	// isCall reports whether the code before an address ends with a call. b ends at the address, and
	// has callBytes bytes.
	isCall func(b []byte) bool
	// A signal handler returns to code that makes the call sigreturn(2), in one of these forms.
	signalReturn [][]byte
	context      uint64 // where the registers are then, above the stack pointer
	contextOrder []int8 // their numbers
}

// At returns the registers of which only the instruction pointer and the stack pointer are known.
func (a *Arch) At(pc, sp uint64) (r Registers) {
	r.PC = pc
	r.Set(a.sp, sp)
	return r
}

const callBytes = 7

// The architectures.
var (
	AMD64 = &Arch{
		sp: 7, fp: 6, ret: 16, code: 1<<63 - 1,
		saved:        1<<3 | 1<<6 | 1<<7 | 1<<12 | 1<<13 | 1<<14 | 1<<15,
		isCall:       isCallAMD64,
		signalReturn: [][]byte{{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}, {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05}}, // mov $15, %rax; syscall
		context:      40,                                                                                         // ucontext_t.uc_mcontext
		contextOrder: []int8{8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, pcRegister},
	}
	ARM64 = &Arch{
		sp: 31, fp: 29, ret: 30, code: 1<<48 - 1, link: true,
		saved:        0x7ff<<19 | 1<<31,
		isCall:       isCallARM64,
		signalReturn: [][]byte{{0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}}, // mov x8, #139; svc #0
		context:      128 + 176 + 8,                                        // behind siginfo_t
		contextOrder: []int8{
			0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
			25, 26, 27, 28, 29, 30, 31, pcRegister,
		},
	}
)

// pcRegister stands for the instruction pointer.
const pcRegister = -2

// isCallAMD64 knows the direct call, and the indirect one with each form of its operand.
func isCallAMD64(b []byte) bool {
	if len(b) < callBytes {
		return false
	}
	b = b[len(b)-callBytes:]
	if b[2] == 0xe8 {
		return true
	}
	for _, n := range []int{2, 3, 4, 6, 7} { // its length
		if b[callBytes-n] == 0xff && lengthOfCall(b[callBytes-n+1]) == n {
			return true
		}
	}
	return false
}

// lengthOfCall returns the length of an indirect call with this ModRM byte, 0 if it is no call.
func lengthOfCall(modrm byte) int {
	if modrm>>3&7 != 2 {
		return 0
	}
	mod, rm := modrm>>6, modrm&7
	n := 2
	switch mod {
	case 1:
		n += 1
	case 2:
		n += 4
	}
	if mod != 3 && rm == 4 {
		n++ // a SIB byte
	}
	if mod == 0 && rm == 5 {
		n += 4 // relative to the instruction
	}
	return n
}

// isCallARM64 knows bl, blr, and blr with a signed address.
func isCallARM64(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	op := binary.LittleEndian.Uint32(b[len(b)-4:])
	return op&0xfc000000 == 0x94000000 || op&0xfffffc1f == 0xd63f0000 || op&0xfefff800 == 0xd63f0800
}
