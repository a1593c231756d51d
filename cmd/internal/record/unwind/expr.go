package unwind

import "math/bits"

// Bounds of an expression: its stack, and how many operations it executes. It can jump.
const (
	maxStack = 64
	maxSteps = 512
)

// Operations.
const (
	exprAddr    = 0x03
	exprDeref   = 0x06
	exprConst1u = 0x08 // signed and unsigned numbers of 1, 2, 4 and 8 bytes
	exprConst8s = 0x0f
	exprConstu  = 0x10
	exprConsts  = 0x11
	exprDup     = 0x12
	exprDrop    = 0x13
	exprOver    = 0x14
	exprPick    = 0x15
	exprSwap    = 0x16
	exprRot     = 0x17
	exprAbs     = 0x19
	exprAnd     = 0x1a
	exprMinus   = 0x1c
	exprMul     = 0x1e
	exprNeg     = 0x1f
	exprNot     = 0x20
	exprOr      = 0x21
	exprPlus    = 0x22
	exprPlusU   = 0x23
	exprShl     = 0x24
	exprShr     = 0x25
	exprShra    = 0x26
	exprXor     = 0x27
	exprBra     = 0x28
	exprEq      = 0x29
	exprGe      = 0x2a
	exprGt      = 0x2b
	exprLe      = 0x2c
	exprLt      = 0x2d
	exprNe      = 0x2e
	exprSkip    = 0x2f
	exprLit     = 0x30 // the numbers 0 to 31
	exprReg     = 0x50 // no value, but a register
	exprBreg    = 0x70 // registers 0 to 31, and an offset
	exprBregx   = 0x92
	exprDeref2  = 0x94 // of less than a word
	exprNop     = 0x96
)

// machine evaluates an expression.
type machine struct {
	regs  *Registers
	code  cursor
	first uint64 // where the code starts
	stack []uint64
	bad   bool
}

// evaluate returns the value of an expression. With push, it starts with a number on its stack.
func evaluate(code cursor, regs *Registers, push bool, number uint64) (uint64, bool) {
	var room [maxStack]uint64
	m := &machine{regs: regs, code: code, first: code.addr, stack: room[:0]}
	if push {
		m.push(number)
	}
	for steps := 0; m.code.addr < m.code.end; steps++ {
		m.step(m.code.byte())
		if m.bad || m.code.bad || steps > maxSteps {
			return 0, false
		}
	}
	v := m.pop()
	return v, !m.bad && !m.code.bad
}

func (m *machine) push(v uint64) {
	if len(m.stack) >= maxStack {
		m.bad = true
		return
	}
	m.stack = append(m.stack, v)
}

func (m *machine) pop() (v uint64) {
	n := len(m.stack)
	if n == 0 {
		m.bad = true
		return 0
	}
	v, m.stack = m.stack[n-1], m.stack[:n-1]
	return v
}

// pick pushes a copy of the number n places below the top.
func (m *machine) pick(n int) {
	if n >= len(m.stack) {
		m.bad = true
		return
	}
	m.push(m.stack[len(m.stack)-1-n])
}

func (m *machine) step(op uint8) {
	switch {
	case exprConst1u <= op && op <= exprConst8s:
		size := 1 << ((op - exprConst1u) / 2)
		v := m.code.number(size)
		if op&1 != 0 { // signed
			shift := 64 - 8*size
			v = uint64(int64(v<<shift) >> shift)
		}
		m.push(v)
	case exprLit <= op && op < exprReg:
		m.push(uint64(op - exprLit))
	case exprBreg <= op && op < exprBreg+32:
		m.base(uint64(op - exprBreg))
	case op == exprBregx:
		m.base(m.code.uleb())
	case exprAbs <= op && op <= exprShra && op != exprPlusU || op == exprXor || exprEq <= op && op <= exprNe:
		m.calculate(op)
	default:
		m.other(op)
	}
}

// base pushes the sum of a register and an offset.
func (m *machine) base(register uint64) {
	offset := uint64(m.code.sleb())
	v, ok := m.regs.get(int(min(register, maxRegisters)))
	m.bad = m.bad || !ok
	m.push(v + offset)
}

func (m *machine) other(op uint8) {
	switch op {
	case exprAddr:
		m.push(m.code.number(8))
	case exprConstu:
		m.push(m.code.uleb())
	case exprConsts:
		m.push(uint64(m.code.sleb()))
	case exprDeref:
		v, ok := m.code.from.word(m.pop())
		m.bad = m.bad || !ok
		m.push(v)
	case exprDeref2:
		size := uint(m.code.byte())
		v, ok := m.code.from.word(m.pop())
		m.bad = m.bad || !ok || size == 0 || size > 8
		m.push(v << (64 - 8*size) >> (64 - 8*size))
	case exprDup:
		m.pick(0)
	case exprOver:
		m.pick(1)
	case exprPick:
		m.pick(int(m.code.byte()))
	case exprDrop:
		m.pop()
	case exprSwap:
		a, b := m.pop(), m.pop()
		m.push(a)
		m.push(b)
	case exprRot:
		a, b, c := m.pop(), m.pop(), m.pop()
		m.push(a)
		m.push(c)
		m.push(b)
	case exprPlusU:
		m.push(m.pop() + m.code.uleb())
	case exprSkip:
		m.jump(true)
	case exprBra:
		m.jump(m.pop() != 0)
	case exprNop:
	default:
		m.bad = true
	}
}

// jump moves on by an offset, within the expression, if the condition holds.
func (m *machine) jump(taken bool) {
	by := uint64(int64(int16(m.code.number(2))))
	if !taken {
		return
	}
	to := m.code.addr + by
	if to < m.first || to > m.code.end {
		m.bad = true
		return
	}
	m.code.addr = to
}

// calculate replaces the operands on the stack by a result.
func (m *machine) calculate(op uint8) {
	b := m.pop()
	switch op {
	case exprAbs:
		if int64(b) < 0 {
			b = -b
		}
		m.push(b)
		return
	case exprNeg:
		m.push(-b)
		return
	case exprNot:
		m.push(^b)
		return
	}
	a := m.pop()
	switch op {
	case exprAnd:
		m.push(a & b)
	case exprMinus:
		m.push(a - b)
	case exprMul:
		_, low := bits.Mul64(a, b)
		m.push(low)
	case exprOr:
		m.push(a | b)
	case exprPlus:
		m.push(a + b)
	case exprShl:
		m.push(a << min(b, 64))
	case exprShr:
		m.push(a >> min(b, 64))
	case exprShra:
		m.push(uint64(int64(a) >> min(b, 64)))
	case exprXor:
		m.push(a ^ b)
	default:
		m.compare(op, int64(a), int64(b))
	}
}

func (m *machine) compare(op uint8, a, b int64) {
	var is bool
	switch op {
	case exprEq:
		is = a == b
	case exprGe:
		is = a >= b
	case exprGt:
		is = a > b
	case exprLe:
		is = a <= b
	case exprLt:
		is = a < b
	case exprNe:
		is = a != b
	default: // a division, which no compiler needs here
		m.bad = true
	}
	v := uint64(0)
	if is {
		v = 1
	}
	m.push(v)
}
