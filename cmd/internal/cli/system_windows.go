package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/windows"
)

// The shells of Windows pass patterns such as *.trace to a program, which expands them. The time zone
// of $TZ is not known to the system, and a pipe whose reader has ended sends no signal.

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

// setZone has times shown in the zone that $TZ names, if that is known.
func setZone() {
	if name, ok := os.LookupEnv("TZ"); ok {
		if zone, err := time.LoadLocation(name); err == nil {
			time.Local = zone
		}
	}
}

// IsPath reports whether an operand is a path and cannot be the name of a stream.
func IsPath(s string) bool { return strings.ContainsAny(s, `/\:`) }
