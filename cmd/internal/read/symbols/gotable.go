package symbols

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
)

// goTable is the table that each Go program has, also a stripped one: functions and lines.
type goTable struct{ table *gosym.Table }

// readGo reads the table of a Go program, nil if there is none. start is where its code starts, or
// 0: in a program with code in C, that is not the start of the section.
func readGo(e *elf.File, start uint64) *goTable {
	text := e.Section(".text")
	if text == nil {
		return nil
	}
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		data, err := section(e, name)
		if err != nil || len(data) == 0 {
			continue
		}
		h, ok := readGoHead(data, e.ByteOrder)
		if !ok || !h.sound() {
			return nil
		}
		switch {
		case start != 0:
		case h.start >= text.Addr && h.start-text.Addr < text.Size:
			start = h.start
		default:
			start = text.Addr
		}
		t, err := gosym.NewTable(nil, gosym.NewLineTable(data, start))
		if err != nil || len(t.Funcs) == 0 {
			return nil
		}
		return &goTable{t}
	}
	return nil
}

// place returns the function and the line of an address.
func (g *goTable) place(at uint64) (p Place, ok bool) {
	defer func() {
		if recover() != nil {
			p, ok = Place{}, false
		}
	}()
	file, line, f := g.table.PCToLine(at)
	if f == nil {
		return p, false
	}
	p = Place{Func: f.Name[:min(len(f.Name), maxName)], Offset: at - f.Entry}
	if file != "" && line > 0 {
		p.File, p.Line = file, line
	}
	return p, true
}

// goHead is the header of a table of Go 1.18 or later: a number for the version, the sizes of an
// instruction and of a pointer, and words of the latter size.
type goHead struct {
	order     binary.ByteOrder
	functions uint64
	start     uint64 // of the code; 0 in later versions
	names     []byte
	funcs     []byte // the functions; each has the place of its data, in the same part
}

// The numbers of the versions, of Go 1.18 and of Go 1.20.
const (
	goVersion118 = 0xfffffff0
	goVersion120 = 0xfffffff1
)

func readGoHead(b []byte, order binary.ByteOrder) (h goHead, ok bool) {
	if len(b) < 8 {
		return h, false
	}
	size := int(b[7])
	if v := order.Uint32(b); v != goVersion118 && v != goVersion120 || size != 4 && size != 8 || len(b) < 8+8*size {
		return h, false
	}
	word := func(i int) uint64 {
		if size == 4 {
			return uint64(order.Uint32(b[8+4*i:]))
		}
		return order.Uint64(b[8+8*i:])
	}
	h.order, h.functions, h.start = order, word(0), word(2)
	names, funcs := word(3), word(7)
	if names > uint64(len(b)) || funcs > uint64(len(b)) || h.functions > uint64(len(b)) {
		return h, false
	}
	h.names, h.funcs = b[names:], b[funcs:]
	return h, true
}

// sound reports whether package gosym can read the table at a cost that its size warrants. It
// allocates by the number of functions, and copies the name of each; names of a harmful table
// overlap.
func (h *goHead) sound() bool {
	const pair = 8 // where a function starts, and the place of its data
	if h.functions > uint64(len(h.funcs)/pair) {
		return false
	}
	room := 4 * len(h.names)
	for i := range int(h.functions) {
		data := uint64(h.order.Uint32(h.funcs[pair*i+4:]))
		if data+8 > uint64(len(h.funcs)) {
			return false
		}
		name := uint64(h.order.Uint32(h.funcs[data+4:]))
		if name >= uint64(len(h.names)) {
			return false
		}
		n := bytes.IndexByte(h.names[name:][:min(len(h.names)-int(name), room)], 0)
		if n < 0 {
			return false
		}
		room -= n
	}
	return true
}
