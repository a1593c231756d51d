package cli

import "github.com/posixtrace/posixtrace/cmd/internal/format/escape"

// Guard makes w escape what a CI system would take for a command in untrusted text. lines is set if lines
// may begin with such text. w must be empty.
func (w *Writer) Guard(n escape.Notation, lines bool) {
	w.guard = escape.Guard{Notation: n, Lines: lines}
}

// Harmless returns lines with the commands of CI systems escaped.
func Harmless(text []byte) []byte { return escape.Commands(text, true) }
