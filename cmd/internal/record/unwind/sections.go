package unwind

import (
	"encoding/binary"
	"io"
)

// Bounds of the sections of a file.
const (
	maxSections    = 4096
	maxNames       = 1 << 20
	sectionHeader  = 64
	maxSectionName = 32
)

// readSections finds the sections of a program's file. It returns zeros for a file that is none.
func readSections(f io.ReaderAt) (s sections) {
	le := binary.LittleEndian
	var h [elfHeader]byte
	if n, _ := f.ReadAt(h[:], 0); n < len(h) || le.Uint32(h[:]) != elfMagic || le.Uint16(h[4:]) != elfLittle64 {
		return s
	}
	at, size, count, names := le.Uint64(h[40:]), le.Uint16(h[58:]), int(le.Uint16(h[60:])), int(le.Uint16(h[62:]))
	if size != sectionHeader || count > maxSections || names >= count || at > 1<<62 {
		return s
	}
	list := make([]byte, count*sectionHeader)
	if n, _ := f.ReadAt(list, int64(at)); n < len(list) {
		return s
	}
	of := list[names*sectionHeader:]
	where, length := le.Uint64(of[24:]), le.Uint64(of[32:])
	if where > 1<<62 || length > maxNames {
		return s
	}
	text := make([]byte, length)
	n, _ := f.ReadAt(text, int64(where))
	text = text[:n]
	for ; len(list) >= sectionHeader; list = list[sectionHeader:] {
		address, size := le.Uint64(list[16:]), le.Uint64(list[32:])
		switch nameAt(text, le.Uint32(list)) {
		case ".text":
			s.text = address
		case ".gopclntab", ".data.rel.ro.gopclntab":
			s.goTable = address
		case ".go.module":
			s.goModule = address
		case ".eh_frame":
			s.frame, s.frameEnd = address, address+size
		}
	}
	return s
}

// nameAt returns the text up to a NUL, "" if it is longer than the name of any section of interest.
func nameAt(text []byte, at uint32) string {
	if uint64(at) >= uint64(len(text)) {
		return ""
	}
	text = text[at:]
	for i := range min(len(text), maxSectionName) {
		if text[i] == 0 {
			return string(text[:i])
		}
	}
	return ""
}
