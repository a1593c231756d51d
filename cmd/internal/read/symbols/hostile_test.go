package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// part is a section of a made file.
type part struct {
	name  string
	kind  elf.SectionType
	flags elf.SectionFlag
	addr  uint64
	link  uint32
	entry uint64
	data  []byte
}

// image returns an ELF file with these sections, of which .shstrtab is the last, and one segment at
// address 0x1000 that has the whole file.
func image(parts ...part) []byte {
	var names, body bytes.Buffer
	names.WriteByte(0)
	parts = append(parts, part{name: ".shstrtab", kind: elf.SHT_STRTAB})
	le := binary.LittleEndian
	const start = 64 + 56
	head := make([]byte, 64) // the empty first section
	for i, p := range parts {
		at := uint64(names.Len())
		names.WriteString(p.name + "\x00")
		if i == len(parts)-1 {
			p.data = names.Bytes()
		}
		h := le.AppendUint32(nil, uint32(at))
		h = le.AppendUint32(h, uint32(p.kind))
		for _, v := range []uint64{uint64(p.flags), p.addr, start + uint64(body.Len()), uint64(len(p.data))} {
			h = le.AppendUint64(h, v)
		}
		h = le.AppendUint32(h, p.link)
		h = le.AppendUint32(h, 0)
		h = le.AppendUint64(le.AppendUint64(h, 1), p.entry)
		head = append(head, h...)
		body.Write(p.data)
	}
	b := append([]byte(elf.ELFMAG), 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	b = le.AppendUint16(le.AppendUint16(b, uint16(elf.ET_EXEC)), uint16(elf.EM_X86_64))
	b = le.AppendUint64(le.AppendUint32(b, 1), 0x1000)
	b = le.AppendUint64(le.AppendUint64(b, 64), start+uint64(body.Len()))
	b = le.AppendUint32(b, 0)
	for _, v := range []int{64, 56, 1, 64, len(parts) + 1, len(parts)} {
		b = le.AppendUint16(b, uint16(v))
	}
	b = le.AppendUint32(le.AppendUint32(b, uint32(elf.PT_LOAD)), 5)
	size := uint64(start + body.Len() + len(head))
	for _, v := range []uint64{0, 0x1000, 0x1000, size, size, 0x1000} {
		b = le.AppendUint64(b, v)
	}
	return append(append(b, body.Bytes()...), head...)
}

func code() part {
	return part{name: ".text", kind: elf.SHT_PROGBITS, flags: elf.SHF_EXECINSTR, addr: 0x2000, data: make([]byte, 4096)}
}

// symtab returns a symbol table of n functions, one each 16 bytes, all with this name.
func symtab(n int, name string) []part {
	var b []byte
	le := binary.LittleEndian
	for i := range n {
		b = append(le.AppendUint32(b, 1), byte(elf.STT_FUNC), 0, 1, 0)
		b = le.AppendUint64(le.AppendUint64(b, 0x2000+16*uint64(i)), 16)
	}
	return []part{code(), {name: ".symtab", kind: elf.SHT_SYMTAB, link: 3, entry: 24, data: b}, {name: ".strtab", kind: elf.SHT_STRTAB, data: []byte("\x00" + name + "\x00")}}
}

// pcln returns Go's table with these functions, each of 16 bytes. count is the number in its header.
func pcln(names string, at []int, count uint64) []byte {
	le := binary.LittleEndian
	b := append(le.AppendUint32(nil, goVersion120), 0, 0, 1, 8)
	const head = 8 + 8*8
	namesAt := uint64(head)
	filesAt := namesAt + uint64(len(names))
	funcsAt := filesAt + 8
	for _, v := range []uint64{count, 1, 0, namesAt, filesAt, filesAt, filesAt, funcsAt} {
		b = le.AppendUint64(b, v)
	}
	b = append(b, names...)
	b = append(b, "\x00f.go\x00\x00\x00"...)
	table := 8*len(at) + 4
	var funcs []byte
	for i, n := range at {
		b = le.AppendUint32(b, uint32(16*i))
		b = le.AppendUint32(b, uint32(table+len(funcs)))
		funcs = le.AppendUint32(funcs, uint32(16*i))
		funcs = le.AppendUint32(funcs, uint32(n))
		funcs = append(funcs, make([]byte, 36)...)
	}
	b = le.AppendUint32(b, uint32(16*len(at)))
	return append(b, funcs...)
}

func goPart(data []byte) part { return part{name: ".gopclntab", kind: elf.SHT_PROGBITS, data: data} }

// debugParts returns DWARF of n units that all name tables of .debug_abbrev which overlap.
func debugParts(n, step int) []part {
	le := binary.LittleEndian
	var info []byte
	for i := range n {
		info = le.AppendUint32(info, 8)
		info = le.AppendUint16(info, 4)
		info = le.AppendUint32(info, uint32(i*step))
		info = append(info, 8, 0)
	}
	abbrev := bytes.Repeat([]byte{1, 0x11, 0, 0, 0}, n)
	return []part{
		code(),
		{name: ".debug_abbrev", kind: elf.SHT_PROGBITS, data: abbrev},
		{name: ".debug_info", kind: elf.SHT_PROGBITS, data: info},
		{name: ".debug_line", kind: elf.SHT_PROGBITS, data: make([]byte, 64)},
	}
}

// Reading a harmful file allocates little more than its size, whatever it claims.
func TestHostileFiles(t *testing.T) {
	long := strings.Repeat("_ZN1a", 200_000)
	many := make([]int, 20_000)
	for i := range many {
		many[i] = i
	}
	for _, c := range []struct {
		name  string
		parts []part
	}{
		{"symbols that share a name of a megabyte", symtab(20_000, long)},
		{"a Go table with too many functions", []part{code(), goPart(pcln("\x00a\x00", []int{1}, 1<<31))}},
		{"a Go table with names that overlap", []part{code(), goPart(pcln(long+"\x00", many, uint64(len(many))))}},
		{"units with tables that overlap", debugParts(200_000, 5)},
		{"a section of nothing", []part{code(), {name: ".symtab", kind: elf.SHT_SYMTAB, link: 99}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := image(c.parts...)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			room := int64(64 << 20)
			f, err := readFile(bytes.NewReader(b), &room)
			if err == nil {
				if p := f.place(0x2008); len(p.Func) > maxName {
					t.Errorf("a name of %d bytes", len(p.Func))
				}
			}
			runtime.ReadMemStats(&after)
			if got, most := after.TotalAlloc-before.TotalAlloc, uint64(32*len(b)+4<<20); got > most {
				t.Errorf("%d bytes allocated for a file of %d", got, len(b))
			}
		})
	}
}

// The made files above are read: what the tests refuse is not their form.
func TestMadeFiles(t *testing.T) {
	room := int64(1 << 20)
	f, err := readFile(bytes.NewReader(image(symtab(4, "_ZN4some4nameEv")...)), &room)
	if err != nil {
		t.Fatal(err)
	}
	if p := f.place(0x2018); p.Func != "some::name()" || p.Offset != 8 {
		t.Errorf("place = %+v", p)
	}
	f, err = readFile(bytes.NewReader(image(code(), goPart(pcln("\x00main.main\x00main.f\x00", []int{1, 11}, 2)))), &room)
	if err != nil {
		t.Fatal(err)
	}
	if p := f.place(0x2018); p.Func != "main.f" || p.Offset != 8 {
		t.Errorf("place = %+v", p)
	}
	if _, err := unitHeads(debugParts(3, 5)[2].data, debugParts(3, 5)[1].data, binary.LittleEndian); err != nil {
		t.Error(err)
	}
}

// Each reason why a file has no names is its own.
func TestReasons(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	note := func(id string) part {
		le := binary.LittleEndian
		b := le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, 4), uint32(len(id))), 3)
		return part{name: ".note.gnu.build-id", kind: elf.SHT_NOTE, data: append(append(b, "GNU\x00"...), id...)}
	}
	whole := image(append(symtab(4, "f"), note("12345678"))...)
	good := write("good", whole)
	for _, c := range []struct {
		what string
		o    Object
		want string
	}{
		{"found", Object{Path: good, BuildID: []byte("12345678")}, ""},
		{"another build id", Object{Path: good, BuildID: []byte("87654321")}, "the file has another build id now: it was 3837363534333231"},
		{"removed", Object{Path: filepath.Join(dir, "none"), BuildID: []byte("12345678")}, "no such file or directory"},
		{"no ELF", Object{Path: write("text", []byte("#!/bin/sh\n"))}, "not an ELF file"},
		{"cut", Object{Path: write("cut", whole[:100])}, "malformed ELF file"},
		{"a directory", Object{Path: dir}, "not a regular file"},
		{"a device", Object{Path: "/dev/zero"}, "not a regular file"},
		{"newer, without build id", Object{Path: write("newer", image(symtab(4, "f")...)), Mapped: 1e18}, "the file has changed since, and has no build id"},
		{"beyond the file", Object{Path: good, Offset: 1 << 40}, "the mapping is no part of the file's program"},
	} {
		t.Run(c.what, func(t *testing.T) {
			if c.o.End == 0 {
				c.o.Start, c.o.End = 0x7000, 0x7000+uint64(len(whole))
			}
			p, err := NewTable().Find(&c.o, 0x7000+0x1008) // 0x2008 in the file's own addresses
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.want || err == nil && (p.Func != "f" || p.Offset != 8) {
				t.Errorf("Find = %+v, %q, want %q", p, got, c.want)
			}
		})
	}
}

// Names are those of the source, in C++ and Rust.
func TestReadable(t *testing.T) {
	for name, want := range map[string]string{
		"_ZNSt6vectorIiSaIiEE9push_backEOi":                    "std::vector<int, std::allocator<int> >::push_back(int&&)",
		"_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE": "core::fmt::Formatter::write_str",
		"_RNvCs1234_7mycrate3foo":                              "mycrate::foo",
		"main":                                                 "main",
		"main.(*server[...]).serve":                            "main.(*server[...]).serve",
		strings.Repeat("x", maxName):                           strings.Repeat("x", maxName),
		"_Z" + strings.Repeat("I", 3000):                       "_Z" + strings.Repeat("I", 3000),
	} {
		if got := readable(name); got != want {
			t.Errorf("readable(%.60q) = %.60q, want %.60q", name, got, want)
		}
	}
}

// FuzzSymbols reads files of any content.
func FuzzSymbols(f *testing.F) {
	f.Add(image(symtab(3, "_ZN4some4nameEv")...))
	f.Add(image(code(), goPart(pcln("\x00main.main\x00main.f\x00", []int{1, 11}, 2))))
	f.Add(image(debugParts(3, 5)...))
	if b, err := os.ReadFile(filepath.Join("testdata", "small")); err == nil {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		room := int64(16 << 20)
		file, err := readFile(bytes.NewReader(b), &room)
		if err != nil {
			return
		}
		for _, s := range file.symbols[:min(len(file.symbols), 50)] {
			if p := file.place(s.address); len(p.Func) > 2*maxName {
				t.Errorf("a name of %d bytes", len(p.Func))
			}
		}
		for at := range uint64(64) {
			file.place(0x1000 + 64*at)
		}
	})
}
