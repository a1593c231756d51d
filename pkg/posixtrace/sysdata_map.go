package posixtrace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"sync"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/loaded"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
)

// MapData is the data of EventProcMap: a part of a file that a process has mapped, with which the
// address of an event becomes a function and a line. It is recorded when the first event with such
// an address is, or before. Extension.
type MapData struct {
	Start, End uint64 // the addresses
	Offset     uint64 // the place in the file of the byte at Start
	Path       string // of the file; "" for memory without a file
	BuildID    []byte // of the file, nil if it has none
	Removed    bool   // the path was another file's by then, or none's
	First      bool   // the first of the program that the process executes: what it mapped before is gone
	Parent     int    // unless 0, the rest is zero: the process has the mappings of this one, which created it

	// Of a mapping that the process has noted itself (Selection.Mappings):
	Program uint64        // a number of the program: it changes when the process executes another one; or 0
	Err     syscall.Errno // unless 0, why the process could not read its mappings; the addresses are all there are
}

const (
	mapDataSize = 3*8 + 4 + 2 + 2
	mapOwnSize  = 8 + 4 + 4

	mapRemoved = 1 << 0
	mapFirst   = 1 << 1
	mapOwn     = 1 << 2

	maxBuildID = 255
)

// Append appends the encoded form.
func (d *MapData) Append(b []byte) []byte {
	le := binary.LittleEndian
	for _, v := range [...]uint64{d.Start, d.End, d.Offset} {
		b = le.AppendUint64(b, v)
	}
	flags := uint16(0)
	if d.Removed {
		flags |= mapRemoved
	}
	if d.First {
		flags |= mapFirst
	}
	if d.Program != 0 || d.Err != 0 {
		flags |= mapOwn
	}
	id := d.BuildID[:min(len(d.BuildID), maxBuildID)]
	b = le.AppendUint32(b, uint32(d.Parent))
	b = le.AppendUint16(b, flags)
	b = le.AppendUint16(b, uint16(len(id)))
	if flags&mapOwn != 0 {
		b = le.AppendUint64(b, d.Program)
		b = le.AppendUint64(b, uint64(uint32(d.Err)))
	}
	return append(append(b, id...), d.Path...)
}

// DecodeMap decodes the data of EventProcMap. If the record was truncated, the path may be
// incomplete. Errors: EINVAL malformed data.
func DecodeMap(data []byte) (d MapData, err error) {
	le := binary.LittleEndian
	if len(data) < mapDataSize {
		return d, einval("DecodeMap", "proc.map data of %d bytes", len(data))
	}
	d.Start, d.End, d.Offset = le.Uint64(data), le.Uint64(data[8:]), le.Uint64(data[16:])
	d.Parent = int(int32(le.Uint32(data[24:])))
	flags, n := le.Uint16(data[28:]), int(le.Uint16(data[30:]))
	d.Removed, d.First = flags&mapRemoved != 0, flags&mapFirst != 0
	if data = data[mapDataSize:]; flags&mapOwn != 0 {
		if len(data) < mapOwnSize {
			return MapData{}, einval("DecodeMap", "proc.map data of %d bytes", len(data)+mapDataSize)
		}
		d.Program, d.Err = le.Uint64(data), syscall.Errno(le.Uint32(data[8:]))
		data = data[mapOwnSize:]
	}
	if n > len(data) || n > maxBuildID {
		return MapData{}, einval("DecodeMap", "build id of %d bytes", n)
	}
	if n > 0 {
		d.BuildID = bytes.Clone(data[:n])
	}
	d.Path = string(data[n:])
	return d, nil
}

// ownMaps returns what this process has mapped when it first becomes a writer of a stream: its
// program and, with cgo, the libraries.
var ownMaps = sync.OnceValue(func() *stream.Maps {
	program := programNumber()
	found, err := readOwnMaps()
	var list []stream.Mapping
	for i := range found {
		m := &found[i]
		d := MapData{
			Start: m.Start, End: m.End, Offset: m.Offset, Path: m.Path, BuildID: m.BuildID, Removed: m.Removed,
			Program: program,
		}
		list = append(list, stream.Mapping{Start: d.Start, End: d.End, Data: d.Append(nil)})
	}
	if err != nil {
		d := MapData{End: math.MaxUint64, Program: program, Err: syscall.EIO}
		errors.As(err, &d.Err)
		list = []stream.Mapping{{End: d.End, Data: d.Append(nil)}}
	}
	t := new(stream.Maps)
	t.Set(list)
	return t
})

func readOwnMaps() ([]loaded.Mapping, error) {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	defer maps.Close()
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil, err
	}
	defer mem.Close()
	return loaded.All(maps, mem, stream.MaxMaps)
}

// Entries of the auxiliary vector: AT_ENTRY, AT_RANDOM, AT_SYSINFO_EHDR.
const (
	auxEntry  = 9
	auxRandom = 25
	auxVDSO   = 33
)

// programNumber returns a number that differs, most likely, from that of any other program that
// this process executes, and that all runtimes in this program agree on. It is made of addresses that
// the kernel chooses for each program, and of no secret. libposixtrace/mappings.c has it, too.
func programNumber() uint64 {
	b, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return 0
	}
	n := uint64(0)
	for _, want := range [...]uint64{auxVDSO, auxEntry, auxRandom} {
		v := uint64(0)
		for b := b; len(b) >= 16; b = b[16:] {
			if binary.NativeEndian.Uint64(b) == want {
				v = binary.NativeEndian.Uint64(b[8:])
			}
		}
		n = (n ^ v) * 0x9e3779b97f4a7c15
	}
	return n
}

// A frame of a stack is a number of seven bits to a byte, the low ones first: the difference of its
// address from that of the frame before it, and two flags. Callers are often near each other.
const (
	frameInterrupted = 1 << 0
	frameGuessed     = 1 << 1
	frameFlags       = 2
	frameMask        = 1<<62 - 1 // of an address

	maxStackSize = 1<<16 - 1
)

// appendStack appends the length of the frames, and the frames.
func appendStack(b []byte, frames []SyscallFrame) []byte {
	at := len(b)
	b = append(b, 0, 0)
	from := uint64(0)
	for i := range frames {
		f := &frames[i]
		by := int64((f.Address-from)<<frameFlags) >> frameFlags
		v := uint64(by<<1^by>>63) << frameFlags
		if f.Interrupted {
			v |= frameInterrupted
		}
		if f.Guessed {
			v |= frameGuessed
		}
		next := binary.AppendUvarint(b, v)
		if len(next)-at-2 > maxStackSize {
			break
		}
		b, from = next, f.Address
	}
	binary.LittleEndian.PutUint16(b[at:], uint16(len(b)-at-2))
	return b
}

// decodeStack decodes the stack at the start of data, and returns what follows it. Of a stack that is
// incomplete it decodes what there is.
func (d *SyscallData) decodeStack(data []byte) []byte {
	if len(data) < 2 {
		d.StackCut = true
		return nil
	}
	n := int(binary.LittleEndian.Uint16(data))
	data = data[2:]
	if n > len(data) {
		n, d.StackCut = len(data), true
	}
	from := uint64(0)
	for list := data[:n]; len(list) > 0; {
		v, size := binary.Uvarint(list)
		if size <= 0 {
			d.StackCut = true
			break
		}
		list = list[size:]
		by := v >> frameFlags
		from = (from + (by>>1 ^ -(by & 1))) & frameMask
		d.Stack = append(d.Stack, SyscallFrame{Address: from, Interrupted: v&frameInterrupted != 0, Guessed: v&frameGuessed != 0})
	}
	return data[n:]
}
