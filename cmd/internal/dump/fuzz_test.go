package dump

import (
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// FuzzDumpValues parses speeds and formats. Accepted values are within bounds, and
// errors are one line.
func FuzzDumpValues(f *testing.F) {
	for _, s := range append(hostile.Texts(),
		"%t%D%p%i%n%d%x%a%c%q%%\\n\\t\\\\", "%", "\\", "%-5d", "0.000001", "1000000000", "1e3", "..") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 4096 {
			return
		}
		refused := func(err error) {
			t.Helper()
			if text := string(escape.AppendPrintable(nil, cli.Reason(err))); text == "" || strings.ContainsAny(text, "\n\r\x1b") {
				t.Fatalf("%q is refused with %q", s, text)
			}
		}
		if speed, err := parseSpeed(s); err != nil {
			refused(err)
		} else if speed < 1e-6 || speed > 1e9 {
			t.Fatalf("%q is accepted as a speed", s)
		}
		if form, err := output.NewFormat(s, &output.Text{}); err != nil {
			refused(err)
		} else {
			form.Append(nil, output.NewSource(func(posixtrace.EventID) string { return s }), &posixtrace.Record{Data: []byte(s)})
		}
	})
}
