package cli

import (
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"

	"github.com/posixtrace/posixtrace/internal/hostile"
)

// FuzzValues parses sizes, numbers and durations. Accepted values are within bounds, and
// errors are one line.
func FuzzValues(f *testing.F) {
	for _, s := range append(hostile.Texts(),
		"9223372036854775807", "9223372036854775808", "2147483648K", "8589934592G", "-9223372036854775808", "18446744073709551616",
		"250ms", "1.5s", "106751d", "106752d", "2562047h47m16.854775807s", "1e9s", ".", "1h1h", "0x1p3s",
		"4194304", "4194305", "99999999999999999999:") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 4096 {
			return
		}
		bounds := func(ok bool, err error) {
			t.Helper()
			if err == nil && !ok {
				t.Fatalf("%q is accepted", s)
			}
			if err == nil {
				return
			}
			if text := string(escape.AppendPrintable(nil, Reason(err))); text == "" || strings.ContainsAny(text, "\n\r\x1b") {
				t.Fatalf("%q is refused with %q", s, text)
			}
		}
		size, err := ParseSize(s)
		bounds(size >= 0, err)
		n, err := ParseDigits(s)
		bounds(n >= 0, err)
		d, err := ParseDuration(s)
		bounds(d >= 0, err)
		args := &Args{Given: []Given{{"last", s}, {"pid", s}}}
		last, err := args.Count("last", 1)
		bounds(last >= 0, err)
		pid, err := args.PID("pid", 1)
		bounds(pid > 0, err)
	})
}
