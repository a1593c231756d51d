package unwind

import "bytes"

// stepAt returns what is known of a place.
func (w *Walker) stepAt(p place) *step {
	if st := w.space.steps[p]; st != nil {
		return st
	}
	st, lasts := w.learn(p)
	if lasts && !w.pages.spent() {
		w.keep(p, st)
	}
	return st
}

// learn finds out about a place. What it finds does not last if the process may write other code there.
func (w *Walker) learn(p place) (st *step, lasts bool) {
	st = &step{}
	at := p.instruction()
	c, ok := w.space.find(at)
	if !ok {
		return st, false
	}
	st.call = !p.next && w.isCall(p.pc)
	st.returns = !p.next && w.returnsFromSignal(p.pc)
	var m *module
	if c.Base != 0 {
		m = w.module(c.Base)
	}
	if m == nil {
		return st, false
	}
	if e, ok := m.find(&w.pages, at); ok {
		if row, ok := e.rowAt(at, m.header); ok {
			st.row = row.short()
			return st, true
		}
	}
	if m.golang != nil {
		st.size, st.flags, st.golang = m.golang.distance(&w.pages, at)
		st.golang = st.golang || st.flags&(goTop|goWriteSP) != 0
	}
	return st, true
}

// isCall reports whether there is a call before an address.
func (w *Walker) isCall(pc uint64) bool {
	var b [callBytes]byte
	return pc > callBytes && w.pages.fill(pc-callBytes, b[:]) && w.arch.isCall(b[:])
}

// returnsFromSignal reports whether the code at an address makes the call sigreturn(2), or has just
// made it.
func (w *Walker) returnsFromSignal(pc uint64) bool {
	var b [16]byte
	for _, code := range w.arch.signalReturn {
		have := b[:len(code)]
		if w.pages.fill(pc, have) && bytes.Equal(have, code) {
			return true
		}
		if w.pages.fill(pc-uint64(len(code)), have) && bytes.Equal(have, code) {
			return true
		}
	}
	return false
}

// module returns the module at base, nil if there is none.
func (w *Walker) module(base uint64) *module {
	m, ok := w.space.modules[base]
	if ok {
		return m
	}
	m = readModule(&w.pages, base)
	if m != nil {
		w.addSections(m, base)
	}
	if !w.pages.spent() {
		w.keepModule(base, m)
	}
	return m
}

// addSections adds what the program's file has to the module that it is: Go programs and programs
// that are linked statically have no .eh_frame_hdr.
func (w *Walker) addSections(m *module, base uint64) {
	if w.exe == nil {
		return
	}
	f := w.exe()
	if f == nil {
		return
	}
	defer f.Close()
	var head, have [elfHeader]byte
	if n, _ := f.ReadAt(head[:], 0); n < len(head) || !w.pages.fill(base, have[:]) || head != have {
		return // the module is another file
	}
	s := readSections(f)
	if s.frame != 0 && m.header == 0 {
		m.scanFrom(&w.pages, s.frame+m.bias, s.frameEnd+m.bias)
	}
	m.golang = readGo(&w.pages, &s, m.bias)
}
