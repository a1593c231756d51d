package unwind

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// An image is the memory of a small process: a program without relocation at imageBase, of which
// every part is somewhere.
const (
	imageBase  = 0x10000
	imageText  = 0x1000 // functions of 0x100 bytes each
	imageCFI   = 0x2000 // .eh_frame
	imageHdr   = 0x3000 // .eh_frame_hdr
	imageNames = 0x4000 // the sections' names, then their headers
	imageStack = 0x5000
	imageSize  = 0x6000
)

type image struct{ b []byte }

// function is the CFI of a function: its instructions, and the letters of its CIE beside zR.
type function struct {
	code    []byte
	letters string
	common  []byte // instructions of the CIE; nil is those of each function's first instruction
}

// atEntry are the rules at the first instruction of a function of amd64: the CFA is rsp+8, and the
// return address is there.
var atEntry = []byte{opDefCFA, 7, 8, opOffset | 16, 1}

// newImage returns the image of a program with these functions.
func newImage(functions ...function) *image {
	m := &image{make([]byte, imageSize)}
	le := binary.LittleEndian
	copy(m.b, "\x7fELF\x02\x01\x01")
	le.PutUint64(m.b[32:], elfHeader)
	le.PutUint64(m.b[40:], imageNames+0x100)
	le.PutUint16(m.b[54:], programHeader)
	le.PutUint16(m.b[56:], 2)
	le.PutUint16(m.b[58:], sectionHeader)
	m.segment(0, segmentLoad, 0, imageSize)
	at := imageCFI
	var index []byte
	for i, f := range functions {
		cie := at
		at = m.entry(at, cie, i, f, true)
		fde := at
		at = m.entry(at, cie, i, f, false)
		index = le.AppendUint32(index, uint32(imageText+0x100*i-imageHdr))
		index = le.AppendUint32(index, uint32(int32(fde)-imageHdr))
	}
	copy(m.b[imageHdr:], []byte{1, encPC | encS4, encU4, encData | encS4})
	le.PutUint32(m.b[imageHdr+4:], uint32(0xfffffffc&(imageCFI-imageHdr-4)))
	le.PutUint32(m.b[imageHdr+8:], uint32(len(functions)))
	copy(m.b[imageHdr+12:], index)
	m.segment(1, segmentEHFrame, imageHdr, uint64(12+len(index)))
	return m
}

func (m *image) segment(i int, kind uint32, at, size uint64) {
	b := m.b[elfHeader+programHeader*i:]
	binary.LittleEndian.PutUint32(b, kind)
	put(b, 8, at, imageBase*0+at)
	put(b, 32, size, size)
}

// entry writes the CIE or the FDE of a function, and returns where the next entry goes.
func (m *image) entry(at, cie, i int, f function, common bool) int {
	le := binary.LittleEndian
	var e []byte
	if common {
		letters := "zR" + f.letters
		e = append(le.AppendUint32(e, 0), 1)
		e = append(append(e, letters...), 0)
		e = append(e, 1, 0x78, 16, 1, encAbsolute|encPC|encS4) // factors 1 and -8, column, size, encoding
		e = append(e, f.common...)
	} else {
		e = le.AppendUint32(e, uint32(at+4-cie))
		e = le.AppendUint32(e, uint32(imageText+0x100*i-(at+8)))
		e = le.AppendUint32(e, 0x100)
		e = append(append(e, 0), f.code...)
	}
	for len(e)%4 != 0 {
		e = append(e, opNop)
	}
	le.PutUint32(m.b[at:], uint32(len(e)))
	copy(m.b[at+4:], e)
	return at + 4 + len(e)
}

// without removes the index of the functions, so that they must be listed.
func (m *image) withoutIndex() *image {
	m.b[imageHdr+2], m.b[imageHdr+3] = encOmit, encOmit
	return m
}

// sections moves the CFI from a header in memory to the sections of the program's file.
func (m *image) sections() *image {
	le := binary.LittleEndian
	le.PutUint16(m.b[56:], 1)
	le.PutUint16(m.b[60:], 2)
	le.PutUint16(m.b[62:], 1)
	names := "\x00.eh_frame\x00.shstrtab\x00"
	copy(m.b[imageNames:], names)
	put(m.b[imageNames+0x100:], 16, imageCFI, imageCFI, 0x1000)
	le.PutUint32(m.b[imageNames+0x100:], 1)
	put(m.b[imageNames+0x140:], 16, 0, imageNames, uint64(len(names)))
	le.PutUint32(m.b[imageNames+0x140:], 11)
	return m
}

// text returns the address of a function, or of an instruction in it.
func text(i, offset int) uint64 { return imageBase + imageText + 0x100*uint64(i) + uint64(offset) }

const sp = imageBase + imageStack

// stack sets the words at the stack pointer.
func (m *image) stack(words ...uint64) *image {
	put(m.b, imageStack, words...)
	return m
}

func (m *image) target() *Target {
	return &Target{
		Space: NewSpace([]Code{{imageBase, imageBase + imageSize, imageBase}}),
		Read:  memoryOf(m.b),
		Exe:   func() File { return file{bytes.NewReader(m.b)} },
	}
}

// memoryOf returns the memory of a process that has data at imageBase, and nothing else.
func memoryOf(data []byte) Memory {
	return func(addr uint64, b []byte) int {
		if addr < imageBase || addr-imageBase >= uint64(len(data)) {
			return 0
		}
		return copy(b, data[addr-imageBase:])
	}
}

type file struct{ *bytes.Reader }

func (file) Close() error { return nil }

func put(b []byte, at int, values ...uint64) {
	for i, v := range values {
		binary.LittleEndian.PutUint64(b[at+8*i:], v)
	}
}

// walk walks the stack of a thread of amd64 with these registers.
func (m *image) walk(pc, sp, fp uint64) ([]Frame, End) {
	regs := Registers{PC: pc}
	regs.Set(AMD64.sp, sp)
	regs.Set(AMD64.fp, fp)
	return NewWalker(AMD64).Walk(m.target(), &regs, nil, 16)
}

func pcs(frames []Frame) (list []uint64) {
	for _, f := range frames {
		list = append(list, f.PC)
	}
	return list
}

func want(t *testing.T, frames []Frame, end End, wantEnd End, want ...uint64) {
	t.Helper()
	if got := pcs(frames); !slices.Equal(got, want) || end != wantEnd {
		t.Errorf("frames %x, end %d; want %x, %d", got, end, want, wantEnd)
	}
}
