package symbols

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"
)

// file is what the package keeps of an ELF file.
type file struct {
	buildID []byte
	loaded  []byte // the build id that a process sees
	segment []segment
	symbols []symbol // sorted by address
	names   []byte   // the string table of symbols
	dynamic bool     // symbols are only those for the dynamic linker
	lines   *lines   // nil without debug information
	golang  *goTable // nil if it is no Go program
	link    string   // the name of the separate debug file, as the file has it
}

// segment is a part of the file that the kernel maps.
type segment struct{ offset, size, address uint64 }

// maxSection bounds the size of a section, uncompressed.
const maxSection = 256 << 20

var (
	errNotELF    = errors.New("not an ELF file")
	errMalformed = errors.New("malformed ELF file")
)

// readFile reads an ELF file. room is how many bytes of debug information it may keep, and is
// reduced by what it keeps.
func readFile(r io.ReaderAt, room *int64) (f *file, err error) {
	// The packages that parse the file return errors for what they expect to be wrong. Of
	// harmful files they promise nothing.
	defer func() {
		if recover() != nil {
			f, err = nil, errMalformed
		}
	}()
	e, err := elf.NewFile(r)
	if err != nil {
		if b := make([]byte, 4); readsShort(r, b) || string(b) != elf.ELFMAG {
			return nil, errNotELF
		}
		return nil, errMalformed
	}
	f = &file{buildID: buildID(e), loaded: loadedID(e), link: debugLink(e)}
	for _, p := range e.Progs {
		if p.Type == elf.PT_LOAD {
			f.segment = append(f.segment, segment{p.Off, p.Filesz, p.Vaddr})
		}
	}
	f.readSymbols(e)
	f.golang = readGo(e, f.find("runtime.text"))
	if f.golang == nil {
		f.lines = readLines(e, room)
	}
	return f, nil
}

func readsShort(r io.ReaderAt, b []byte) bool {
	n, _ := r.ReadAt(b, 0)
	return n < len(b)
}

// section returns the content of a section, nil if there is none. A section without content in
// the file, as a debug file has them, is none.
func section(e *elf.File, name string) ([]byte, error) {
	s := e.Section(name)
	if s == nil || s.Type == elf.SHT_NOBITS {
		return nil, nil
	}
	if s.Size > maxSection {
		return nil, fmt.Errorf("%s has %d MiB", name, s.Size>>20)
	}
	return s.Data()
}

// complete reports whether a separate debug file can add nothing.
func (f *file) complete() bool {
	return f.golang != nil || f.lines != nil && len(f.symbols) > 0 && !f.dynamic
}

// address returns the address, before the file is loaded, of the byte at an offset in it.
func (f *file) address(offset uint64) (uint64, bool) {
	i := slices.IndexFunc(f.segment, func(s segment) bool { return offset >= s.offset && offset-s.offset < s.size })
	if i < 0 {
		return 0, false
	}
	return offset - f.segment[i].offset + f.segment[i].address, true
}

// place returns what is known of an address in the file.
func (f *file) place(at uint64) (p Place) {
	if f.golang != nil {
		if p, ok := f.golang.place(at); ok {
			return p
		}
	}
	if s, ok := f.symbol(at); ok {
		p.Func, p.Offset = readable(f.name(s)), at-s.address
	}
	if f.lines != nil {
		p.File, p.Line = f.lines.find(at)
	}
	return p
}
