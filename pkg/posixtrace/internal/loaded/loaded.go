// Package loaded finds the files whose code a process has mapped, and their build ids.
package loaded

import (
	"bytes"
	"encoding/binary"
)

// Notes with a build id: the owner's name and the type.
const (
	gnuOwner, gnuBuildID = "GNU\x00", 3
	goOwner, goBuildID   = "Go\x00\x00", 4
)

// maxID bounds a build id. That of the Go linker, which takes the place of a missing GNU one, is a text.
const maxID = 255

// BuildID returns the build id among the notes of a file, the GNU one if there are two; nil if there
// is none. The notes are untrusted.
func BuildID(notes []byte, order binary.ByteOrder) (id []byte) {
	const head = 12 // sizes of the owner and of the content, and the type
	for len(notes) >= head {
		owner, size, kind := order.Uint32(notes), order.Uint32(notes[4:]), order.Uint32(notes[8:])
		notes = notes[head:]
		content := (uint64(owner) + 3) &^ 3
		end := content + (uint64(size)+3)&^3
		if content+uint64(size) > uint64(len(notes)) {
			break
		}
		name, value := notes[:owner], notes[content:content+uint64(size)]
		if 0 < size && size <= maxID {
			switch {
			case string(name) == gnuOwner && kind == gnuBuildID:
				return bytes.Clone(value)
			case string(name) == goOwner && kind == goBuildID:
				id = bytes.Clone(value)
			}
		}
		notes = notes[min(end, uint64(len(notes))):]
	}
	return id
}
