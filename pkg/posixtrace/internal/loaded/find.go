package loaded

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Mapping is the part of an address space that contains an address.
type Mapping struct {
	Start, End uint64
	Offset     uint64 // the place in the file of the byte at Start
	Path       string // of the file; "" for memory without a file, a name such as [vdso] for the kernel's
	Removed    bool   // the file has been removed or replaced
	BuildID    []byte // nil if the file has none
}

// ErrUnmapped means that an address is in no mapping.
var ErrUnmapped = errors.New("not mapped")

// All returns the executable mappings of files, at most so many. maps and mem are as for Find.
func All(maps io.Reader, mem io.ReaderAt, most int) (list []Mapping, err error) {
	lines := 0
	err = each(maps, func(line []byte, e *entry, base uint64) bool {
		lines++
		if e.executable {
			if m, ok := e.ofFile(line, mem, base); ok {
				list = append(list, m)
			}
		}
		return len(list) < most && lines < maxLines
	})
	return list, err
}

// maxLines bounds how many mappings All reads: a process may have 65,530.
const maxLines = 16 << 10

// Find returns the mapping with an address. maps has the mappings as /proc/PID/maps lists them, mem the
// memory. The start of the file that is mapped is expected before its code, as the kernel and the
// dynamic linker map it; without it the build id stays unknown.
func Find(maps io.Reader, mem io.ReaderAt, addr uint64) (m Mapping, err error) {
	found := false
	err = each(maps, func(line []byte, e *entry, base uint64) bool {
		if addr >= e.Start && addr < e.End {
			found = true
			m, _ = e.ofFile(line, mem, base)
		}
		return addr >= e.End // the mappings are in the order of their addresses
	})
	if err == nil && !found {
		err = ErrUnmapped
	}
	return m, err
}

// each calls f for each mapping until f returns false. base is where the start of its file is in memory,
// 0 if nowhere.
func each(maps io.Reader, f func(line []byte, e *entry, base uint64) bool) error {
	var base uint64
	var of []byte // the file of the last mapping
	in := bufio.NewReaderSize(maps, 16<<10)
	for {
		line, err := readLine(in)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		e, ok := parse(line)
		if !ok {
			continue
		}
		if !bytes.Equal(e.file, of) {
			of, base = append(of[:0], e.file...), 0
		}
		if e.Offset == 0 {
			base = e.Start
		}
		if !f(line, &e, base) {
			return nil
		}
	}
}

// ofFile completes the mapping with what mem has about its file. ok is false if it has none.
func (e *entry) ofFile(line []byte, mem io.ReaderAt, base uint64) (m Mapping, ok bool) {
	m = e.Mapping
	m.Path, m.Removed = pathOf(line)
	ok = m.Path != "" && m.Path[0] == '/'
	if ok && base != 0 {
		m.BuildID = IDInMemory(mem, base)
	}
	return m, ok
}

// maxLine bounds a line of maps: a path is shorter.
const maxLine = 8 << 10

func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	for err == bufio.ErrBufferFull {
		_, err = in.ReadSlice('\n')
	}
	if len(line) > maxLine {
		line = line[:maxLine]
	}
	return bytes.TrimSuffix(line, []byte{'\n'}), err
}

// entry is a line of maps.
type entry struct {
	Mapping
	file       []byte // device and number
	executable bool
}

// parse parses a line: start-end permissions offset device number path.
func parse(line []byte) (e entry, ok bool) {
	f := bytes.Fields(line)
	if len(f) < 5 {
		return e, false
	}
	start, end, ok := bytes.Cut(f[0], []byte{'-'})
	var errs [3]error
	e.Start, errs[0] = strconv.ParseUint(string(start), 16, 64)
	e.End, errs[1] = strconv.ParseUint(string(end), 16, 64)
	e.Offset, errs[2] = strconv.ParseUint(string(f[2]), 16, 64)
	e.executable = bytes.IndexByte(f[1], 'x') >= 0
	at := bytes.Index(line, f[3])
	e.file = line[at : at+len(f[3])+1+len(f[4])]
	return e, ok && errors.Join(errs[:]...) == nil
}

// pathOf returns the path at the end of a line of maps, and whether the file has lost that name.
func pathOf(line []byte) (path string, removed bool) {
	for range 5 {
		_, rest, ok := bytes.Cut(line, []byte{' '})
		if !ok {
			return "", false
		}
		line = rest
	}
	line = bytes.TrimLeft(line, " ")
	return PathOf(string(bytes.ReplaceAll(line, []byte(`\012`), []byte{'\n'})))
}

// PathOf returns the path in the name of a mapping, and whether the file has lost that path.
func PathOf(name string) (path string, removed bool) {
	return strings.CutSuffix(name, " (deleted)")
}

// Bounds for what a process has at the start of a mapped file.
const (
	maxHeaders = 64
	maxNotes   = 4 << 10
)

// IDInMemory returns the build id of a file that is mapped at base, from the notes in memory: the
// file of that name may be another one by now.
func IDInMemory(mem io.ReaderAt, base uint64) []byte {
	var head [64]byte
	if n, _ := mem.ReadAt(head[:], int64(base)); n < len(head) || string(head[:4]) != elf.ELFMAG {
		return nil
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	wide := elf.Class(head[elf.EI_CLASS]) == elf.ELFCLASS64
	at, size, count := uint64(order.Uint32(head[28:])), order.Uint16(head[42:]), order.Uint16(head[44:])
	if wide {
		at, size, count = order.Uint64(head[32:]), order.Uint16(head[54:]), order.Uint16(head[56:])
	}
	if size < 32 || wide && size < 56 {
		return nil
	}
	table := make([]byte, int(size)*int(min(count, maxHeaders)))
	n, _ := mem.ReadAt(table, int64(base+at))
	var bias uint64
	var places [][2]uint64 // of notes: address and length
	for table = table[:n]; len(table) >= int(size); table = table[size:] {
		kind, offset, address, length := elf.ProgType(order.Uint32(table)), uint64(order.Uint32(table[4:])), uint64(order.Uint32(table[8:])), uint64(order.Uint32(table[16:]))
		if wide {
			offset, address, length = order.Uint64(table[8:]), order.Uint64(table[16:]), order.Uint64(table[32:])
		}
		switch {
		case kind == elf.PT_LOAD && offset == 0:
			bias = base - address
		case kind == elf.PT_NOTE && length <= maxNotes:
			places = append(places, [2]uint64{address, length})
		}
	}
	var notes []byte
	for _, p := range places {
		b := make([]byte, p[1])
		if n, _ := mem.ReadAt(b, int64(p[0]+bias)); n == len(b) {
			notes = append(notes, b...)
		}
	}
	return BuildID(notes, order)
}
