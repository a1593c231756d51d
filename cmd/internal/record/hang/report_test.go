//go:build linux

package hang

import (
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/hostile"
)

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
