package unwind

import "testing"

// outermost is a function without a caller.
var outermost = function{code: []byte{opUndefined, 16}, common: atEntry}

// pushed is a function that has pushed rbx, 16 bytes of its own below.
var pushed = function{code: []byte{opAdvance | 1, opDefCFAOffset, 16, opOffset | 3, 2, opAdvance | 4, opDefCFAOffset, 32}, common: atEntry}

// pointed is a function with a frame pointer.
var pointed = function{code: []byte{opAdvance | 4, opDefCFA, 6, 16, opOffset | 6, 2}, common: atEntry}

// The CFI of each function leads to its caller, whether an index lists the functions, or the CFI
// itself, in memory or in the program's file.
func TestWalk(t *testing.T) {
	for name, m := range map[string]*image{
		"index":    newImage(pushed, pointed, outermost),
		"list":     newImage(pushed, pointed, outermost).withoutIndex(),
		"sections": newImage(pushed, pointed, outermost).sections(),
	} {
		t.Run(name, func(t *testing.T) {
			// pushed: 16 bytes, rbx, return; pointed: 8 bytes, rbp, return.
			m.stack(1, 2, 3, text(1, 0x20), 4, sp+0x100, text(2, 0x10))
			frames, end := m.walk(text(0, 0x10), sp, sp+5*8)
			want(t, frames, end, Outermost, text(1, 0x20), text(2, 0x10))
			for _, f := range frames {
				if f.Guessed || f.Interrupted {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// The rules are those of the instruction: before a push there is one word less.
func TestWalkRows(t *testing.T) {
	m := newImage(pushed, outermost).stack(text(1, 8), text(1, 8), text(1, 8), text(1, 8))
	for _, c := range []struct {
		offset int
		words  uint64
	}{{1, 0}, {2, 1}, {5, 1}, {6, 3}} {
		m.stack(1, 2, 3, 4)
		put(m.b, imageStack+int(8*c.words), text(1, 8))
		frames, end := m.walk(text(0, c.offset), sp, 0)
		want(t, frames, end, Outermost, text(1, 8))
	}
}

// A stack that is deeper than asked for ends there.
func TestWalkDeep(t *testing.T) {
	m := newImage(function{common: atEntry})
	for i := range 32 {
		put(m.b, imageStack+8*i, text(0, 0x10))
	}
	frames, end := m.walk(text(0, 0x10), sp, 0)
	if len(frames) != 16 || end != TooDeep {
		t.Errorf("%d frames, end %d", len(frames), end)
	}
}

// The frames before one that cannot be followed count.
func TestWalkLost(t *testing.T) {
	for name, c := range map[string]struct {
		f   function
		ret uint64
		end End
	}{
		"no code there":         {pushed, 5, Unknown},
		"end of the stack":      {pushed, 0, Outermost},
		"register unknown":      {function{code: []byte{opDefCFA, 12, 0}, common: atEntry}, 0, Lost},
		"stack shrinks":         {function{code: []byte{opDefCFA, 7, 0}, common: atEntry}, 0, Lost},
		"memory unreadable":     {function{code: []byte{opDefCFAOffset, 0xff, 0xff, 0x7f}, common: atEntry}, 0, Lost},
		"unknown instruction":   {function{code: []byte{0x3f}, common: atEntry}, 0, Lost},
		"restore without state": {function{code: []byte{opRestoreState}, common: atEntry}, 0, Lost},
		"no rule for the CFA":   {function{common: []byte{opOffset | 16, 1}}, 0, Lost},
		"endless expression":    {function{code: []byte{opDefCFAExpr, 3, exprSkip, 0xfd, 0xff}, common: atEntry}, 0, Lost},
		"division":              {function{code: []byte{opDefCFAExpr, 3, 0x31, 0x30, 0x1b}, common: atEntry}, 0, Lost},
		"empty expression":      {function{code: []byte{opDefCFAExpr, 0}, common: atEntry}, 0, Lost},
	} {
		t.Run(name, func(t *testing.T) {
			m := newImage(pushed, c.f).stack(1, 2, 3, text(1, 0x10), 1, 2, 3, c.ret)
			frames, end := m.walk(text(0, 0x10), sp, 0)
			want(t, frames, end, c.end, text(1, 0x10))
		})
	}
}

// A walk ends that would be too much work.
func TestWalkExhausted(t *testing.T) {
	const callers = 64
	for name, c := range map[string]struct {
		instructions int
		exhausted    bool
	}{"little": {10, false}, "much": {3600, true}} {
		t.Run(name, func(t *testing.T) {
			common := append([]byte{}, atEntry...)
			for range c.instructions / 2 {
				common = append(common, opRememberState, opRestoreState)
			}
			m := newImage(function{common: common})
			for i := range callers {
				put(m.b, imageStack+8*i, text(0, 0x10+i))
			}
			regs := Registers{PC: text(0, 8)}
			regs.Set(AMD64.sp, sp)
			w := NewWalker(AMD64)
			frames, end := w.Walk(m.target(), &regs, nil, callers)
			if w.Exhausted() != c.exhausted || c.exhausted && (end != Lost || len(frames) == 0) || !c.exhausted && len(frames) != callers {
				t.Errorf("%d frames, end %d, exhausted %v", len(frames), end, w.Exhausted())
			}
		})
	}
}

// An expression says where the CFA is, or a register.
func TestWalkExpression(t *testing.T) {
	// CFA = rsp + 8*2 + 8; rbx is at rsp; the return address is where CFA-8 says.
	m := newImage(function{common: atEntry, code: []byte{
		opDefCFAExpr, 8, exprBreg + 7, 8, exprLit + 2, exprLit + 3, exprShl, exprPlus, exprNop, exprNop,
		opExpr, 3, 2, exprBreg + 7, 0,
		opValExpr, 12, 4, exprBreg + 7, 0, exprDeref, exprNop,
	}}, function{common: []byte{opDefCFA, 3, 8, opOffset | 16, 1}}, function{common: []byte{opDefCFA, 12, 16, opOffset | 16, 1}}, outermost)
	m.stack(sp+0x40, 0, text(1, 8))
	put(m.b, imageStack+0x40, text(2, 8))
	put(m.b, imageStack+0x48, text(3, 8))
	frames, end := m.walk(text(0, 8), sp, 0)
	want(t, frames, end, Outermost, text(1, 8), text(2, 8), text(3, 8))
}

// A signal interrupts an instruction; its handler's caller is the code that returns from it.
func TestWalkSignal(t *testing.T) {
	handler := function{common: atEntry}
	for name, returns := range map[string]function{
		"by its code": {},
		"by its CFI": {letters: "S", common: []byte{
			opDefCFAExpr, 4, exprBreg + 7, 0xa0, 1, exprDeref,
			opExpr, 16, 3, exprBreg + 7, 0xa8, 1,
			opExpr, 6, 3, exprBreg + 7, 0xf8, 0,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newImage(handler, handler, pointed, outermost)
			start := 0
			if returns.letters != "" {
				m = newImage(handler, returns, pointed, outermost)
				start = 1 // the CFI of such code starts before it
			} else {
				copy(m.b[imageText+0x100:], AMD64.signalReturn[0])
			}
			m.stack(text(1, start))
			context := imageStack + 8 + int(AMD64.context)
			put(m.b, context+8*10, sp+0x300)
			put(m.b, context+8*15, sp+0x280)
			put(m.b, context+8*16, text(2, 4)) // the first instruction with a frame pointer
			put(m.b, imageStack+0x300, 0, text(3, 8))
			frames, end := m.walk(text(0, 8), sp, 0)
			want(t, frames, end, Outermost, text(1, start), text(2, 4), text(3, 8))
			if len(frames) != 3 || frames[0].Interrupted || !frames[1].Interrupted || frames[2].Interrupted {
				t.Errorf("%+v", frames)
			}
		})
	}
}

// Without CFI, a frame pointer leads to the caller if there is a call.
func TestWalkPointer(t *testing.T) {
	m := newImage()
	for _, at := range []uint64{text(1, 0x10), text(2, 0x10)} {
		m.b[at-imageBase-5] = 0xe8
	}
	m.stack(sp+0x20, text(1, 0x10))
	put(m.b, imageStack+0x20, 0, text(2, 0x10))
	frames, end := m.walk(text(0, 8), sp-8, sp)
	want(t, frames, end, Outermost, text(1, 0x10), text(2, 0x10))
	for _, f := range frames {
		if !f.Guessed {
			t.Errorf("%+v", f)
		}
	}
	m.b[text(2, 0x10)-imageBase-5] = 0
	frames, end = m.walk(text(0, 8), sp-8, sp)
	want(t, frames, end, Lost, text(1, 0x10))
	frames, end = m.walk(text(0, 8), sp+8, sp) // the frame would be below the stack pointer
	want(t, frames, end, Lost)
	frames, end = m.walk(text(0, 8), sp, 0)
	want(t, frames, end, Lost)
}

// The sections count only if the file is the module's.
func TestWalkOtherFile(t *testing.T) {
	m := newImage(pushed, outermost).sections().stack(1, 2, 3, text(1, 8))
	target := m.target()
	m.b[40]++ // in memory
	frames, end := NewWalker(AMD64).Walk(target, &Registers{PC: text(0, 0x10)}, nil, 16)
	want(t, frames, end, Lost)
}

func TestIsCall(t *testing.T) {
	for _, c := range []struct {
		code string
		is   bool
	}{
		{"\x90\x90\xe8\x01\x02\x03\x04", true},
		{"\x90\x90\x90\x90\x90\xff\xd0", true},         // *%rax
		{"\x90\x90\x90\x90\x41\xff\xd4", true},         // *%r12
		{"\x90\x90\x90\x90\xff\x50\x10", true},         // *16(%rax)
		{"\x90\x90\x90\xff\x54\x24\x10", true},         // *16(%rsp)
		{"\x90\xff\x15\x01\x02\x03\x04", true},         // *x(%rip)
		{"\x90\xff\x90\x01\x02\x03\x04", true},         // *x(%rax)
		{"\xff\x94\x24\x01\x02\x03\x04", true},         // *x(%rsp)
		{"\x90\x90\x90\x90\xff\x14\x24", true},         // *(%rsp)
		{"\x90\x90\x90\x90\x90\xff\xe0", false},        // jmp *%rax
		{"\x90\x90\x90\x90\x90\x90\x90", false},        //
		{"\x90\xe8\x01\x02\x03\x04\x90", false},        // an instruction after the call
		{"\x90\x90\x90\x90\xff\x10\x90", false},        //
		{"\xe8\x01\x02\x03\x04", false},                // too short
		{"\x90\x90\x90\x90\x90\x90\xff\x50", false},    //
		{"\x90\x90\xe9\x01\x02\x03\x04", false},        // jmp
		{"\x00\x00\x00\x00\x90\x90\x90\xff\xd0", true}, //
	} {
		if got := isCallAMD64([]byte(c.code)); got != c.is {
			t.Errorf("% x: %v", c.code, got)
		}
	}
	for code, is := range map[string]bool{
		"\x00\x00\x00\x00\x01\x00\x00\x94": true, "\x00\x00\x00\x00\x60\x00\x3f\xd6": true, "\x60\x00\x1f\xd6": false, "\xc0\x03\x5f\xd6": false,
		"\x1f\x09\x3f\xd6": true,
	} {
		if got := isCallARM64([]byte(code)); got != is {
			t.Errorf("% x: %v", code, got)
		}
	}
}

// What is known of code whose mapping is the same lasts.
func TestRenewed(t *testing.T) {
	m := newImage(pushed, outermost).stack(1, 2, 3, text(1, 8))
	target := m.target()
	regs := Registers{PC: text(0, 0x10)}
	regs.Set(AMD64.sp, sp)
	w := NewWalker(AMD64)
	w.Walk(target, &regs, nil, 16)
	code := target.Space.code
	if n := target.Space.Renewed([]Code{code[0]}); n != target.Space {
		t.Error("without a change, there is another space")
	}
	n := target.Space.Renewed([]Code{code[0], {1 << 40, 1<<40 + 4096, 0}})
	if len(n.steps) != len(target.Space.steps) || len(n.steps) == 0 || len(n.modules) != 1 {
		t.Errorf("%d steps, %d modules", len(n.steps), len(n.modules))
	}
	moved := code[0]
	moved.Base++
	if n := target.Space.Renewed([]Code{moved}); len(n.steps) != 0 || len(n.modules) != 0 {
		t.Errorf("%d steps, %d modules of another file", len(n.steps), len(n.modules))
	}
}
