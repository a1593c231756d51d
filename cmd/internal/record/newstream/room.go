package newstream

import (
	"fmt"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// leastStreamSize is the size that a stream without --stream-size may shrink to when space
// is short.
const leastStreamSize = 16 << 10

// RoomNotes returns notes about the space found for a new stream, one a line.
func RoomNotes(s *posixtrace.Stream, attr *posixtrace.Attr) (notes []string) {
	if got, err := s.Attr(); err == nil && got.StreamSize < attr.StreamSize {
		notes = append(notes, fmt.Sprintf("little room for streams: this one has %s, not %s", sizeWord(got.StreamSize), sizeWord(attr.StreamSize)))
	}
	made, err := s.MadeRoom()
	if err != nil || len(made) == 0 {
		return notes
	}
	var names []string
	for _, m := range made[:min(len(made), 5)] {
		names = append(names, m.Name)
	}
	text := strings.Join(names, ", ")
	if more := len(made) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return append(notes, "shut down to make room, their processes have ended: "+text)
}

// sizeWord formats a size as the options take it.
func sizeWord(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%dM", n>>20)
	}
	return fmt.Sprintf("%dK", n>>10)
}
