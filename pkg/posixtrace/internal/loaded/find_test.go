package loaded

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Find finds the program of this process, and the build id that its file has.
func TestFindSelf(t *testing.T) {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	defer maps.Close()
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	addr := uint64(reflect.ValueOf(TestFindSelf).Pointer())
	m, err := Find(maps, mem, addr)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if m.Path != exe || addr < m.Start || addr >= m.End || m.Removed {
		t.Errorf("Find(%#x) = %+v, want %s", addr, m, exe)
	}
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var notes []byte
	for _, p := range f.Progs {
		if p.Type == elf.PT_NOTE {
			b := make([]byte, p.Filesz)
			if _, err := p.ReadAt(b, 0); err != nil {
				t.Fatal(err)
			}
			notes = append(notes, b...)
		}
	}
	if want := BuildID(notes, f.ByteOrder); len(want) == 0 || !bytes.Equal(m.BuildID, want) {
		t.Errorf("build id %x, want %x", m.BuildID, want)
	}
}

const list = `55d0c0000000-55d0c0001000 r--p 00000000 fe:01 1234                       /usr/bin/a b (deleted)
55d0c0001000-55d0c0002000 r-xp 00001000 fe:01 1234                       /usr/bin/a b (deleted)
7f0000000000-7f0000001000 rwxp 00000000 00:00 0 
7f0000002000-7f0000003000 r-xp 00005000 fe:01 99                         /x/new\012line
7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0                          [vdso]
`

// Paths are those of the files, whatever their names.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		addr   uint64
		offset uint64
		path   string
		gone   bool
		err    error
	}{
		{0x55d0c0001fff, 0x1000, "/usr/bin/a b", true, nil},
		{0x55d0c0002000, 0, "", false, ErrUnmapped},
		{0x7f0000000000, 0, "", false, nil},
		{0x7f0000002010, 0x5000, "/x/new\nline", false, nil},
		{0x7ffd00000000, 0, "[vdso]", false, nil},
		{0x7ffd00001000, 0, "", false, ErrUnmapped},
		{0, 0, "", false, ErrUnmapped},
	} {
		m, err := Find(bytes.NewReader([]byte(list)), bytes.NewReader(nil), c.addr)
		if m.Path != c.path || m.Offset != c.offset || m.Removed != c.gone || err != c.err {
			t.Errorf("Find(%#x) = %+v, %v", c.addr, m, err)
		}
	}
}

// The GNU build id counts before that of the Go linker.
func TestBuildID(t *testing.T) {
	le := binary.LittleEndian
	one := func(owner string, kind uint32, value string) []byte {
		b := le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, uint32(len(owner))), uint32(len(value))), kind)
		b = append(append(b, owner...), value...)
		return append(b, make([]byte, -len(b)&3)...)
	}
	gnu, golang, other := one("GNU\x00", 3, "12345"), one("Go\x00\x00", 4, "a/b/c"), one("GNU\x00", 1, "abi")
	for i, c := range []struct {
		notes [][]byte
		want  string
	}{
		{[][]byte{golang, other, gnu}, "12345"},
		{[][]byte{other, golang}, "a/b/c"},
		{[][]byte{other}, ""},
		{[][]byte{gnu[:len(gnu)-4]}, ""},
		{[][]byte{one("GNU\x00", 3, string(make([]byte, 256)))}, ""},
	} {
		if got := BuildID(bytes.Join(c.notes, nil), le); string(got) != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
}

// FuzzFind reads lists of mappings and memory of any content.
func FuzzFind(f *testing.F) {
	f.Add([]byte(list), []byte(elf.ELFMAG), uint64(0x7f0000002010))
	head := append([]byte(elf.ELFMAG), 2, 1, 1, 0)
	head = append(head, make([]byte, 64-len(head))...)
	head[32], head[54], head[56] = 64, 56, 2
	load := binary.LittleEndian.AppendUint32(nil, uint32(elf.PT_NOTE))
	f.Add([]byte("0-1000 r-xp 0 0:1 1 /a\n"), append(head, append(load, make([]byte, 108)...)...), uint64(1))
	f.Fuzz(func(t *testing.T, maps, mem []byte, addr uint64) {
		m, err := Find(bytes.NewReader(maps), bytes.NewReader(mem), addr)
		if err == nil && (addr < m.Start || addr >= m.End || len(m.BuildID) > maxID) {
			t.Fatal(fmt.Sprint(m))
		}
	})
}

// The code of a process is what it may execute, each with the place of the start of its file.
func TestExecutable(t *testing.T) {
	got, err := Executable(strings.NewReader(list))
	want := []Code{
		{0x55d0c0001000, 0x55d0c0002000, 0x55d0c0000000},
		{0x7f0000000000, 0x7f0000001000, 0x7f0000000000},
		{0x7f0000002000, 0x7f0000003000, 0},
		{0x7ffd00000000, 0x7ffd00001000, 0x7ffd00000000},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%x, %v; want %x", got, err, want)
	}
}
