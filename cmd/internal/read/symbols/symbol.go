package symbols

import (
	"bytes"
	"cmp"
	"debug/elf"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// symbol is a function in a symbol table.
type symbol struct {
	address, size uint64
	name          uint32 // in the string table
	rank          uint8  // of several symbols of an address the one with the highest rank counts
}

// maxName bounds a name. Names of programs in C++ can have some thousand bytes.
const maxName = 4096

// readSymbols reads the functions of .symtab or, in a stripped file, of .dynsym.
func (f *file) readSymbols(e *elf.File) {
	for _, kind := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		s := e.SectionByType(kind)
		if s == nil || s.Size > maxSection || int(s.Link) >= len(e.Sections) || e.Sections[s.Link].Size > maxSection {
			continue
		}
		table, err := s.Data()
		if err != nil {
			continue
		}
		names, err := e.Sections[s.Link].Data()
		if err != nil {
			continue
		}
		if list := functions(e, table); len(list) > 0 {
			f.symbols, f.names, f.dynamic = list, names, kind == elf.SHT_DYNSYM
			return
		}
	}
}

// functions returns the functions of a symbol table, sorted by address.
func functions(e *elf.File, table []byte) (list []symbol) {
	size := elf.Sym64Size
	if e.Class == elf.ELFCLASS32 {
		size = elf.Sym32Size
	}
	for ; len(table) >= size; table = table[size:] {
		var s symbol
		var info byte
		var in elf.SectionIndex
		s.name = e.ByteOrder.Uint32(table)
		if e.Class == elf.ELFCLASS32 {
			s.address, s.size = uint64(e.ByteOrder.Uint32(table[4:])), uint64(e.ByteOrder.Uint32(table[8:]))
			info, in = table[12], elf.SectionIndex(e.ByteOrder.Uint16(table[14:]))
		} else {
			s.address, s.size = e.ByteOrder.Uint64(table[8:]), e.ByteOrder.Uint64(table[16:])
			info, in = table[4], elf.SectionIndex(e.ByteOrder.Uint16(table[6:]))
		}
		if in == elf.SHN_UNDEF || s.name == 0 || !isCode(e, info, in) {
			continue
		}
		s.rank = rank(info, s.size)
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b symbol) int {
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(a.rank, b.rank), cmp.Compare(a.size, b.size))
	})
	return list
}

// isCode reports whether a symbol may be that of a function. A function written in assembly often
// has no type.
func isCode(e *elf.File, info byte, in elf.SectionIndex) bool {
	switch elf.ST_TYPE(info) {
	case elf.STT_FUNC, elf.STT_GNU_IFUNC:
		return true
	case elf.STT_NOTYPE:
		return int(in) < len(e.Sections) && e.Sections[in].Flags&elf.SHF_EXECINSTR != 0
	}
	return false
}

func rank(info byte, size uint64) (r uint8) {
	if size > 0 {
		r |= 8
	}
	if elf.ST_TYPE(info) != elf.STT_NOTYPE {
		r |= 4
	}
	switch elf.ST_BIND(info) {
	case elf.STB_GLOBAL:
		r |= 2
	case elf.STB_WEAK:
		r |= 1
	}
	return r
}

// maxNested bounds how many symbols before an address are inspected: functions do not lie in each
// other, but labels lie in functions.
const maxNested = 64

// symbol returns the symbol that covers an address: the last before it with a size, or a label
// without size if none has one.
func (f *file) symbol(at uint64) (s symbol, ok bool) {
	i, _ := slices.BinarySearchFunc(f.symbols, at, func(s symbol, at uint64) int {
		if s.address <= at {
			return -1
		}
		return 1
	})
	sized := false // a function ends between the label and the address
	for n := 0; i > 0 && n < maxNested; n++ {
		i--
		switch c := f.symbols[i]; {
		case at-c.address < c.size:
			return c, true
		case c.size > 0:
			sized = true
		case !ok && !sized && !strings.HasPrefix(f.name(c), "$"): // a mapping symbol of arm64
			s, ok = c, true
		}
	}
	return s, ok
}

// find returns the address of a symbol, 0 if there is none.
func (f *file) find(name string) uint64 {
	for _, s := range f.symbols {
		if int(s.name) < len(f.names) && bytes.HasPrefix(f.names[s.name:], append([]byte(name), 0)) {
			return s.address
		}
	}
	return 0
}

// name returns the name of a symbol, cut if it is longer than maxName.
func (f *file) name(s symbol) string {
	if int(s.name) >= len(f.names) {
		return ""
	}
	b := f.names[s.name:]
	b = b[:min(len(b), maxName)]
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// readable returns the name of a function as its source has it, in C++ and Rust.
func readable(name string) string {
	if len(name) >= maxName {
		return name
	}
	return demangle.Filter(name, demangle.MaxLength(12))
}
