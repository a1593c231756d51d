package unwind

import (
	"io"
	"slices"
)

// Frame is a caller.
type Frame struct {
	PC          uint64 // where it goes on: behind its call
	Interrupted bool   // by a signal: PC is the instruction that comes next
	Guessed     bool   // found by a frame pointer alone
}

// Walker walks stacks. It is not safe for concurrent use.
type Walker struct {
	// Learned is how much was added to Spaces, in units of about 100 bytes.
	Learned int
	// Lacked says that the last walk has met a register that is not known.
	Lacked bool
	// Go says that the last walk has met code of Go.
	Go bool

	arch  *Arch
	pages pages
	space *Space
	exe   func() File
}

// Exhausted reports whether the last walk has ended because it reached the bound of its work.
func (w *Walker) Exhausted() bool { return w.pages.spent() }

// File is the program's file.
type File interface {
	io.ReaderAt
	io.Closer
}

// NewWalker returns a Walker.
func NewWalker(a *Arch) *Walker { return &Walker{arch: a} }

// Target is the thread whose stack is walked.
type Target struct {
	Space *Space
	Read  Memory
	Exe   func() File // opens the program's file, returns nil if it cannot be read; may be nil
}

// End says why a walk has ended.
type End uint8

const (
	Outermost End = iota // the last frame has no caller
	TooDeep              // there are more frames
	Lost                 // the caller of the last frame cannot be found
	Unknown              // the caller of the last frame would be in code that the Space does not know
)

// Walk appends the callers of a thread with these registers, the innermost first, until there are max
// frames.
func (w *Walker) Walk(t *Target, regs *Registers, frames []Frame, max int) ([]Frame, End) {
	w.space, w.exe, w.pages.read = t.Space, t.Exe, t.Read
	w.pages.begin()
	w.Lacked, w.Go = false, false
	r, last := *regs, known
	if !w.space.Has(r.PC) && !w.space.Has(r.PC-1) {
		return frames, Unknown
	}
	for {
		next, found := w.caller(&r, last)
		switch {
		case found == atEnd:
			return frames, Outermost
		case found == lost:
			return frames, Lost
		case next.PC == 0:
			return frames, Outermost
		case !w.space.Has(next.PC) && !w.space.Has(next.PC-1):
			return frames, Unknown
		case len(frames) >= max:
			return frames, TooDeep
		}
		frames = append(frames, Frame{PC: next.PC, Interrupted: found == bySignal, Guessed: found == guessed})
		r, last = next, found
	}
}

// how says how a caller was found.
type how uint8

const (
	lost how = iota
	atEnd
	known
	bySignal // by the return from a signal handler
	guessed
)

// caller returns the registers that the caller of a frame has after the call. last is how the frame was
// found.
func (w *Walker) caller(r *Registers, last how) (next Registers, found how) {
	st := w.stepAt(place{r.PC, last == bySignal})
	w.Go = w.Go || st.golang
	switch {
	case st.returns: // also if what precedes it has CFI
		next, found = w.byContext(r)
	case st.row != nil:
		next, found = w.byRow(r, st.row)
	case st.golang && st.flags&goTop != 0:
		return next, atEnd
	case st.golang && st.flags&goWriteSP != 0: // it has switched stacks
	case st.golang:
		next, found = w.byGo(r, st.size)
	default:
		next, found = w.byPointer(r, last == guessed)
	}
	next.PC &= w.arch.code
	if (found == known || found == guessed) && !w.above(r, &next) ||
		found == guessed && !w.stepAt(place{pc: next.PC}).call {
		found = lost
	}
	return next, found
}

// above reports whether the caller's frame is above this one, as stacks grow. A frame pointer may lead
// to another stack.
func (w *Walker) above(r, next *Registers) bool {
	from, ok := r.get(w.arch.sp)
	to, have := next.get(w.arch.sp)
	return !ok || !have || to > from || to == from && w.arch.link && next.PC != r.PC
}

// rules are a row, without the rules that are the default.
type rules struct {
	cfa    rule
	offset int64
	list   []registerRule
	column int
	signal bool
}

type registerRule struct {
	register int
	rule
}

func (r *row) short() *rules {
	s := &rules{cfa: r.cfa, offset: r.offset, column: r.column, signal: r.signal}
	for i, rule := range r.rules {
		if rule.kind != ruleDefault {
			s.list = append(s.list, registerRule{i, rule})
		}
	}
	return s
}

// byRow applies CFI.
func (w *Walker) byRow(r *Registers, row *rules) (next Registers, found how) {
	cfa, ok := w.cfa(r, row)
	if !ok {
		return next, lost
	}
	next = *r
	if !row.signal {
		next.known &= w.arch.saved
	}
	next.Set(w.arch.sp, cfa)
	end := false
	for i := range row.list {
		rule := &row.list[i]
		v, ok := w.value(r, &rule.rule, cfa, rule.register)
		if ok {
			next.Set(rule.register, v)
		} else {
			next.forget(rule.register)
			end = end || rule.kind == ruleUndefined && rule.register == row.column
		}
	}
	from := &next
	if w.arch.link && !slices.ContainsFunc(row.list, func(l registerRule) bool { return l.register == row.column }) {
		from = r // the return address is still in its register
	}
	if next.PC, ok = from.get(row.column); !ok {
		if end {
			return next, atEnd
		}
		w.Lacked = true
		return next, lost
	}
	if row.signal {
		return next, bySignal
	}
	next.forget(row.column)
	return next, known
}

func (w *Walker) cfa(r *Registers, row *rules) (uint64, bool) {
	if row.cfa.kind == ruleCFAByExpr {
		at, ok := evaluate(w.here(row.cfa.expr), r, false, 0)
		w.Lacked = w.Lacked || !ok
		return at, ok
	}
	v, ok := r.get(int(min(uint64(row.cfa.number), maxRegisters)))
	w.Lacked = w.Lacked || !ok
	return v + uint64(row.offset), ok && row.cfa.kind == ruleCFA
}

// value returns the value that a register had in the caller.
func (w *Walker) value(r *Registers, rule *rule, cfa uint64, register int) (uint64, bool) {
	switch rule.kind {
	case ruleSame:
		return r.get(register)
	case ruleOffset:
		return w.pages.word(cfa + uint64(rule.number))
	case ruleValue:
		return cfa + uint64(rule.number), true
	case ruleRegister:
		return r.get(int(min(uint64(rule.number), maxRegisters)))
	case ruleExpr:
		at, ok := evaluate(w.here(rule.expr), r, true, cfa)
		if !ok {
			return 0, false
		}
		return w.pages.word(at)
	case ruleValueExpr:
		return evaluate(w.here(rule.expr), r, true, cfa)
	}
	return 0, false
}

// here returns a cursor that reads by this walker.
func (w *Walker) here(c cursor) cursor {
	c.from = &w.pages
	return c
}

// byContext takes the registers that the kernel has saved for the return from a signal handler.
func (w *Walker) byContext(r *Registers) (next Registers, found how) {
	at, ok := r.get(w.arch.sp)
	if !ok {
		return next, lost
	}
	at += w.arch.context
	for i, register := range w.arch.contextOrder {
		v, ok := w.pages.word(at + 8*uint64(i))
		if !ok {
			return next, lost
		}
		if register == pcRegister {
			next.PC = v
		} else {
			next.Set(int(register), v)
		}
	}
	return next, bySignal
}

// byGo unwinds a frame of Go code.
func (w *Walker) byGo(r *Registers, size uint64) (next Registers, found how) {
	sp, ok := r.get(w.arch.sp)
	if !ok {
		return next, lost
	}
	fp, haveFP := r.get(w.arch.fp)
	if w.arch.link {
		next.Set(w.arch.sp, sp+size)
		if next.PC, ok = r.get(w.arch.ret); size > 0 {
			next.PC, ok = w.pages.word(sp)
			fp, haveFP = w.pages.word(sp - 8)
		}
	} else {
		next.Set(w.arch.sp, sp+size+8)
		next.PC, ok = w.pages.word(sp + size)
		if size >= 8 {
			fp, haveFP = w.pages.word(sp + size - 8)
		}
	}
	if haveFP {
		next.Set(w.arch.fp, fp)
	}
	if !ok {
		return next, lost
	}
	return next, known
}

// byPointer follows the frame pointer: at its place is that of the caller, and the return address
// behind it. A chain of them ends with 0.
func (w *Walker) byPointer(r *Registers, chain bool) (next Registers, found how) {
	fp, ok := r.get(w.arch.fp)
	w.Lacked = w.Lacked || !ok
	if chain && ok && fp == 0 {
		return next, atEnd
	}
	if !ok || fp == 0 || fp%8 != 0 {
		return next, lost
	}
	sp, haveSP := r.get(w.arch.sp)
	above, ok := w.pages.word(fp)
	ret, have := w.pages.word(fp + 8)
	if !ok || !have || haveSP && fp < sp {
		return next, lost
	}
	next.PC = ret
	next.Set(w.arch.fp, above)
	if !w.arch.link {
		next.Set(w.arch.sp, fp+16)
	}
	return next, guessed
}
