package unwind

import (
	"cmp"
	"slices"
)

// Code is a mapping that a process may execute.
type Code struct {
	Start, End uint64
	Base       uint64 // where the start of its file is in memory, 0 if nowhere
}

// Space is the address space of a process. It keeps what has been found out about its code. Processes
// that have the same code at the same addresses may share it: it never changes but for that.
type Space struct {
	code    []Code
	modules map[uint64]*module // by base; nil is no module
	steps   map[place]*step
}

// Bounds of what a Space keeps.
const (
	maxPlaces  = 4096
	maxModules = 1024
)

// NewSpace returns the address space of a process with this code, sorted by address.
func NewSpace(code []Code) *Space {
	return &Space{code: code, modules: make(map[uint64]*module), steps: make(map[place]*step)}
}

// Renewed returns the address space after the process has changed its mappings to these. It knows what s
// knows of those that are the same. Without a change, it is s.
func (s *Space) Renewed(code []Code) *Space {
	if slices.Equal(s.code, code) {
		return s
	}
	n := NewSpace(code)
	same := make(map[uint64]bool) // a mapping, by its start
	for i := range code {
		if c, ok := s.find(code[i].Start); ok && *c == code[i] {
			same[c.Start] = true
			if m, ok := s.modules[c.Base]; ok {
				n.modules[c.Base] = m
			}
		}
	}
	for p, st := range s.steps {
		if c, ok := s.find(p.instruction()); ok && same[c.Start] {
			n.steps[p] = st
		}
	}
	return n
}

// Has reports whether there is code at an address.
func (s *Space) Has(addr uint64) bool {
	_, ok := s.find(addr)
	return ok
}

func (s *Space) find(addr uint64) (c *Code, ok bool) {
	i, exact := slices.BinarySearchFunc(s.code, addr, func(c Code, addr uint64) int { return cmp.Compare(c.Start, addr) })
	if !exact {
		i--
	}
	if i < 0 || addr >= s.code[i].End {
		return nil, false
	}
	return &s.code[i], true
}

// place is an address of an instruction: one that comes next, or one behind a call.
type place struct {
	pc   uint64
	next bool
}

// instruction is the address of the instruction that counts: of the call, since the one behind it may
// be in the next function.
func (p place) instruction() uint64 {
	if p.next {
		return p.pc
	}
	return p.pc - 1
}

// step is what is known of a place.
type step struct {
	row     *rules // of CFI; nil if it has none
	golang  bool   // it is in a function of Go, with:
	flags   uint8
	size    uint64 // how far the stack pointer is below the caller's
	returns bool   // from a signal handler
	call    bool   // it is behind a call
}

func (w *Walker) keep(p place, st *step) {
	if len(w.space.steps) >= maxPlaces {
		clear(w.space.steps)
	}
	w.space.steps[p] = st
	w.Learned += 2
	if st.row != nil {
		w.Learned += len(st.row.list)
	}
}

func (w *Walker) keepModule(base uint64, m *module) {
	if len(w.space.modules) >= maxModules {
		clear(w.space.modules)
	}
	w.space.modules[base] = m
	w.Learned += 2
	if m != nil {
		w.Learned += len(m.scan) / 4
	}
}
