package symbols

import (
	"debug/elf"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// maxNotes bounds a section of notes.
const maxNotes = 64 << 10

// loadedID returns the build id among the notes that are loaded with a file, as a process sees
// it. The Go linker has its own note loaded, and leaves out the GNU one.
func loadedID(e *elf.File) []byte {
	var notes []byte
	for _, p := range e.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz > maxNotes || len(notes) > maxNotes {
			continue
		}
		b := make([]byte, p.Filesz)
		if n, _ := p.ReadAt(b, 0); n == len(b) {
			notes = append(notes, b...)
		}
	}
	return tool.BuildID(notes, e.ByteOrder)
}

// buildID returns the build id in the notes of a file, nil if it has none.
func buildID(e *elf.File) []byte {
	var notes []byte
	for _, s := range e.Sections {
		if s.Type != elf.SHT_NOTE || s.Size > maxNotes || len(notes) > maxNotes {
			continue
		}
		if b, err := s.Data(); err == nil {
			notes = append(notes, b...)
		}
	}
	return tool.BuildID(notes, e.ByteOrder)
}
