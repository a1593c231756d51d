//go:build !linux && !windows

package cli

import (
	"os"

	"golang.org/x/term"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// terminalSize returns the columns and lines of a terminal, 0 where they are not known.
func terminalSize(fd uintptr) (columns, lines int) {
	columns, lines, err := term.GetSize(int(fd))
	if err != nil {
		return 0, 0
	}
	return columns, lines
}

// WasClosed returns false: whether the descriptor was closed when the process started is not known.
func WasClosed(*os.File) bool { return false }
