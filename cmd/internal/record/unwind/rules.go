package unwind

// rule says how to find the value that a register had in the caller.
type rule struct {
	kind   uint8
	number int64  // an offset from the CFA, or a register
	expr   cursor // of kinds with an expression
}

const (
	ruleDefault   = iota // the same value, if functions preserve the register
	ruleUndefined        // it is lost
	ruleSame             // the same value
	ruleOffset           // it is at CFA + number
	ruleValue            // it is CFA + number
	ruleRegister         // it is in another register
	ruleExpr             // it is at the address that expr yields
	ruleValueExpr        // it is what expr yields
	ruleCFA              // of the CFA: register number + offset
	ruleCFAByExpr        // of the CFA: what expr yields
)

// row is the rules for an address. The CFA is the stack pointer that the caller has after the call.
type row struct {
	cfa    rule
	offset int64
	rules  [maxRegisters]rule
	column int // of the return address
	signal bool
}

const (
	// maxDepth bounds how many rows remember_state keeps.
	maxDepth = 16
	// rowWork is the work to copy a row.
	rowWork = 64
)

// program executes the instructions of an entry.
type program struct {
	e    *entry
	row  row
	init row // after the instructions of the CIE
	kept []row
	pc   uint64
}

// Instructions. The first three have an operand in their low six bits.
const (
	opAdvance = 0x40
	opOffset  = 0x80
	opRestore = 0xc0

	opNop                 = 0x00
	opSetLoc              = 0x01
	opAdvance1            = 0x02
	opAdvance2            = 0x03
	opAdvance4            = 0x04
	opOffsetExtended      = 0x05
	opRestoreExtended     = 0x06
	opUndefined           = 0x07
	opSameValue           = 0x08
	opRegister            = 0x09
	opRememberState       = 0x0a
	opRestoreState        = 0x0b
	opDefCFA              = 0x0c
	opDefCFARegister      = 0x0d
	opDefCFAOffset        = 0x0e
	opDefCFAExpr          = 0x0f
	opExpr                = 0x10
	opOffsetExtendedSF    = 0x11
	opDefCFASF            = 0x12
	opDefCFAOffsetSF      = 0x13
	opValOffset           = 0x14
	opValOffsetSF         = 0x15
	opValExpr             = 0x16
	opNegateRAState       = 0x2d // of arm64: return addresses are signed from here on
	opGNUArgsSize         = 0x2e
	opGNUNegativeOffsetEx = 0x2f
)

// rowAt returns the rules of an entry for an address in its function.
func (e *entry) rowAt(at, data uint64) (row, bool) {
	m := &program{e: e, pc: e.start}
	m.row.column = int(min(e.column, maxRegisters))
	m.row.signal = e.signal
	c := e.common.program
	if !m.run(&c, ^uint64(0), data) {
		return row{}, false
	}
	m.init, m.pc = m.row, e.start
	c = e.program
	if !m.run(&c, at, data) {
		return row{}, false
	}
	return m.row, true
}

// run executes instructions until one is for code behind an address.
func (m *program) run(c *cursor, at, data uint64) bool {
	for c.addr < c.end && !c.bad {
		op := c.byte()
		low := uint64(op & 0x3f)
		switch op & 0xc0 {
		case opAdvance:
			m.pc += low * m.e.codeFactor
		case opOffset:
			m.set(low, rule{kind: ruleOffset, number: int64(c.uleb()) * m.e.dataFactor})
		case opRestore:
			m.restore(low)
		default:
			if !m.extended(op, c, data) {
				return false
			}
		}
		if m.pc > at {
			return true
		}
	}
	return !c.bad
}

func (m *program) set(register uint64, r rule) {
	if register < maxRegisters {
		m.row.rules[register] = r
	}
}

func (m *program) restore(register uint64) {
	if register < maxRegisters {
		m.row.rules[register] = m.init.rules[register]
	}
}

// extended executes an instruction without an operand in its code.
func (m *program) extended(op uint8, c *cursor, data uint64) bool {
	factor := m.e.dataFactor
	switch op {
	case opNop, opNegateRAState:
	case opSetLoc:
		m.pc = c.pointer(m.e.encoding, data)
	case opAdvance1:
		m.pc += c.number(1) * m.e.codeFactor
	case opAdvance2:
		m.pc += c.number(2) * m.e.codeFactor
	case opAdvance4:
		m.pc += c.number(4) * m.e.codeFactor
	case opOffsetExtended:
		m.set(c.uleb(), rule{kind: ruleOffset, number: int64(c.uleb()) * factor})
	case opOffsetExtendedSF:
		m.set(c.uleb(), rule{kind: ruleOffset, number: c.sleb() * factor})
	case opGNUNegativeOffsetEx:
		m.set(c.uleb(), rule{kind: ruleOffset, number: -int64(c.uleb()) * factor})
	case opRestoreExtended:
		m.restore(c.uleb())
	case opUndefined:
		m.set(c.uleb(), rule{kind: ruleUndefined})
	case opSameValue:
		m.set(c.uleb(), rule{kind: ruleSame})
	case opRegister:
		m.set(c.uleb(), rule{kind: ruleRegister, number: int64(c.uleb())})
	case opValOffset:
		m.set(c.uleb(), rule{kind: ruleValue, number: int64(c.uleb()) * factor})
	case opValOffsetSF:
		m.set(c.uleb(), rule{kind: ruleValue, number: c.sleb() * factor})
	case opExpr:
		m.set(c.uleb(), rule{kind: ruleExpr, expr: c.part(c.uleb())})
	case opValExpr:
		m.set(c.uleb(), rule{kind: ruleValueExpr, expr: c.part(c.uleb())})
	case opGNUArgsSize:
		c.uleb()
	default:
		return m.state(op, c)
	}
	return true
}

// state executes an instruction on the CFA or on the whole row.
func (m *program) state(op uint8, c *cursor) bool {
	switch op {
	case opRememberState:
		if len(m.kept) >= maxDepth || !c.from.spend(rowWork) {
			return false
		}
		m.kept = append(m.kept, m.row)
	case opRestoreState:
		if len(m.kept) == 0 || !c.from.spend(rowWork) {
			return false
		}
		m.row, m.kept = m.kept[len(m.kept)-1], m.kept[:len(m.kept)-1]
	case opDefCFA:
		m.row.cfa = rule{kind: ruleCFA, number: int64(c.uleb())}
		m.row.offset = int64(c.uleb())
	case opDefCFASF:
		m.row.cfa = rule{kind: ruleCFA, number: int64(c.uleb())}
		m.row.offset = c.sleb() * m.e.dataFactor
	case opDefCFARegister:
		m.row.cfa = rule{kind: ruleCFA, number: int64(c.uleb())}
	case opDefCFAOffset:
		m.row.offset = int64(c.uleb())
	case opDefCFAOffsetSF:
		m.row.offset = c.sleb() * m.e.dataFactor
	case opDefCFAExpr:
		m.row.cfa = rule{kind: ruleCFAByExpr, expr: c.part(c.uleb())}
	default:
		return false
	}
	return true
}
