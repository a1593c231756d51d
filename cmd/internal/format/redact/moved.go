package redact

import (
	"bytes"
	"regexp"
	"strings"
	"sync"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A process may move a secret in any pieces, of which a log shows the first bytes each. No pattern matches a piece.
// So what the calls have moved is left out as a whole: the lengths stay.

// moved replaces the bytes that a call of a log has moved, and reports whether there were any.
func (s *Set) moved(event string, d *posixtrace.SyscallData) (changed bool) {
	if s.keepsData {
		return false
	}
	name, _ := strings.CutPrefix(event, "syscall.")
	for i := range d.Args {
		if catalog.Moves(name, i) && leaveOut(&d.Args[i]) {
			changed = true
		}
	}
	return changed
}

// movedBy returns the text of a call with its arguments without the bytes that the call moves.
func (s *Set) movedBy(call string) string {
	name, _, _ := strings.Cut(call, "(")
	from, to := strings.IndexByte(call, '"'), strings.LastIndexByte(call, '"')
	if s.keepsData || from == to {
		return call
	}
	for i := range 6 {
		if catalog.Moves(name, i) {
			return call[:from+1] + Mark + call[to:]
		}
	}
	return call
}

// leaveOut replaces the bytes in an argument.
func leaveOut(a *posixtrace.SyscallArg) bool {
	switch {
	case a.String:
		if len(a.Value) == 0 || string(a.Value) == Mark {
			return false
		}
		a.Value, a.Cut = []byte(Mark), false
	case bytes.IndexByte(a.Value, '"') < 0: // an address
		return false
	case blocks().Match(a.Value):
		a.Value = text().ReplaceAllFunc(a.Value, func(b []byte) []byte {
			if len(b) == len(`""`) {
				return b
			}
			return []byte(`"` + Mark + `"`)
		})
	default:
		a.Value = []byte(Mark)
	}
	return true
}

const (
	textForm  = `"(?:[^"\\]|\\["\\])*"(?:\.\.\.)?`
	blockForm = `\[(?:\{(?:` + textForm + `|0x[0-9a-f]+|NULL), [0-9]+\}(?:, )?)*(?:\.\.\.)?\]`
	oneForm   = `\{(?:name=[^"]* )?iov=(?:` + blockForm + `|0x[0-9a-f]+|NULL)(?: control=[0-9]+)?(?: flags=[0-9A-Za-z_|]+)?\}`
)

// blocks matches an array of struct iovec, a struct msghdr and an array of struct mmsghdr as the tracer shows them.
// No quotes but those of texts are in a match.
var blocks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(?:` + blockForm + `|` + oneForm + `|\[(?:(?:` + oneForm + `|0x[0-9a-f]+)(?:, )?)*(?:\.\.\.)?\])$`)
})

var text = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(textForm) })
