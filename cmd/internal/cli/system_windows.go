package cli

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/windows"
)

// The shells of Windows pass patterns such as *.trace to a program, which expands them. Package time
// does not look at $TZ, and a pipe whose reader has ended sends no signal.

// expand replaces operands with * or ?, which no file name has there, by the names that match. An
// operand that matches nothing stays as it is, as in a shell.
func expand(operands []string) (list []string) {
	for _, s := range operands {
		if strings.ContainsAny(s, "*?") && !strings.HasPrefix(s, `\\?\`) {
			// A bracket is a part of a name, not of a pattern.
			if names, err := filepath.Glob(strings.ReplaceAll(s, "[", "[[]")); err == nil && len(names) > 0 {
				list = append(list, names...)
				continue
			}
		}
		list = append(list, s)
	}
	return list
}

// readerGone reports whether a write failed because nothing reads the other end of a pipe.
func readerGone(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}

// setNamedZone has times shown in a zone, and reports whether it is known.
func setNamedZone(name string) bool {
	zone, err := time.LoadLocation(name)
	if err == nil {
		time.Local = zone
	}
	return err == nil
}

// IsPath reports whether an operand is a path and cannot be the name of a stream.
func IsPath(s string) bool { return strings.ContainsAny(s, `/\:`) }
