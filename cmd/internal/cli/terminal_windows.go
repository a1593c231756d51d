package cli

import (
	"os"

	"golang.org/x/sys/windows"
	"golang.org/x/term"
)

// isTerminal reports whether f is a console. It has a console for output obey control sequences, which
// old ones do not do by themselves; one that cannot is taken for a file.
func isTerminal(f *os.File) bool {
	h := windows.Handle(f.Fd())
	var mode uint32
	if windows.GetConsoleMode(h, &mode) != nil {
		return false
	}
	if f == os.Stdin || mode&windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING != 0 {
		return true
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_PROCESSED_OUTPUT|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// terminalSize returns the columns and lines of a console, 0 where they are not known.
func terminalSize(fd uintptr) (columns, lines int) {
	columns, lines, err := term.GetSize(int(fd))
	if err != nil {
		return 0, 0
	}
	return columns, lines
}

// WasClosed returns false: whether the handle was closed when the process started is not known.
func WasClosed(*os.File) bool { return false }
