//go:build linux

package hang

import (
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/hostile"
)

func TestShort(t *testing.T) {
	for _, tt := range [][2]string{
		{"", ""}, {"pause()", "pause()"}, {"read(0, 0x1, 2)", "read(0, 0x1, 2)"},
		{`write(1<a,b>, "` + strings.Repeat(`,"\"`[:1]+`\"`, 40) + `", 8)`, "write(1<a,b>, ...)"},
		{"poll([{fd=3, events=POLLIN}, {fd=4}], 2, " + strings.Repeat("9", 60) + ")", "poll([{fd=3, events=POLLIN}, {fd=4}], 2, ...)"},
		{"open(" + strings.Repeat("9", 60) + ")", "open(" + strings.Repeat("9", 60) + ")"},
		{`open("`, `open("`}, {`open(\`, `open(\`}, {`"\`, `"\`},
	} {
		if got := short(tt[0]); got != tt[1] {
			t.Errorf("short(%q) = %q, want %q", tt[0], got, tt[1])
		}
	}
}

// Whatever processes are called, the report has as many lines as it may have, all of them harmless.
func TestReportIsHarmless(t *testing.T) {
	r := &Report{Notes: []string{"not seen"}}
	for i, text := range hostile.Texts() {
		r.Threads = append(r.Threads, Thread{PID: i, TID: i + i%2, Depth: i, Program: text, Args: []string{text, text}, Call: text, Wait: text, For: text,
			Note: text, Kind: Kind(i % 6), Since: time.Duration(i), Exact: i%3 == 0, ForPID: i + 1, ForTID: i + 1, Stuck: i%4 == 0, Cycle: i%8 == 0})
	}
	for _, most := range []int{0, 1, 2, 3, 4, 40, 1 << 20} {
		got := string(r.AppendText(nil, most))
		if at, found := hostile.Harmful(got, "\n"); found {
			t.Fatalf("%q at %d", got[max(0, at-20):at+1], at)
		}
		if n, want := strings.Count(got, "\n"), min(most, len(r.Threads)+2); n != want {
			t.Errorf("%d lines, want %d", n, want)
		}
	}
}
