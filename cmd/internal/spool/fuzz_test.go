package spool

import (
	"bytes"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Whatever a line holds, what comes of it is an event that can be, and data escaped as
// on output come back as they were.
func FuzzLine(f *testing.F) {
	for _, s := range []string{
		"build.step\t4711\t1795169520.123456\tfile.c 12", "a\t1\t\t\\n\\x41\\", "\t1\t\t64", "a\t0\t\t", "a\tb",
		"a\t1\t1795169520,5\t\xff", "", "\t\t\t", "a\t1\t9999999999.9\t",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		raw := bytes.Clone(b)
		l, ok := parse(bytes.Clone(b))
		if ok && (len(l.name) == 0 || len(l.name) > posixtrace.EventNameMax || l.pid <= 0 || l.pid > maxPID || l.nanos < 0 || len(l.data) > len(b)) {
			t.Errorf("parse(%q) = %+v", raw, l)
		}
		if got := unescape(output.AppendEscaped(nil, raw)); !bytes.Equal(got, raw) {
			t.Errorf("%q comes back as %q", raw, got)
		}
	})
}
