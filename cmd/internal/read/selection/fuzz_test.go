package selection

import (
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/internal/hostile"
)

// FuzzMoment parses times. Accepted values saturate, and errors are one line.
func FuzzMoment(f *testing.F) {
	for _, s := range append(hostile.Texts(),
		"+2562047h", "-2562047h", "-106751d", "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "23:59:60", "24:00:00", "1677-09-21T00:12:43Z") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 4096 {
			return
		}
		m, err := parse(s)
		if err != nil {
			if text := string(escape.AppendPrintable(nil, cli.Reason(err))); text == "" || strings.ContainsAny(text, "\n\r\x1b") {
				t.Fatalf("%q is refused with %q", s, text)
			}
			return
		}
		for _, first := range []int64{0, 1795169520e9, 1<<63 - 1, -1 << 63} {
			at := m.resolve(first, first)
			if m.kind == fromFirst && at < first || m.kind == fromLast && at > first {
				t.Fatalf("%q from %d is %d", s, first, at)
			}
		}
	})
}
