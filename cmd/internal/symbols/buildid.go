package symbols

import (
	"debug/elf"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// maxNotes bounds a section of notes.
const maxNotes = 64 << 10

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
