//go:build linux

package hang_test

import (
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/record/hang"
)

// A look whose time is over reports what it has, says so, and calls no thread stuck.
func TestLimit(t *testing.T) {
	cmd := start(t, `
r, w = os.pipe()
for i in range(20):
    if not os.fork(): os.read(r, 1) # which it could write itself
os.wait()`)
	look := func(within time.Duration) *hang.Report {
		return hang.Look([]int{cmd.Process.Pid}, hang.Options{Pause: 20 * time.Millisecond, Within: within})
	}
	var r *hang.Report
	stuck := 0
	for end := time.Now().Add(20 * time.Second); stuck < 21 && time.Now().Before(end); {
		r, stuck = look(time.Hour), 0
		for _, o := range r.Threads {
			if o.Stuck {
				stuck++
			}
		}
	}
	if stuck < 21 {
		t.Fatalf("%d stuck:\n%s", stuck, r.AppendText(nil, 40))
	}
	for _, within := range []time.Duration{1, time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 22 * time.Millisecond} {
		r := look(within)
		said := hang.GivenUp(within)
		if !strings.Contains(strings.Join(r.Notes, "\n"), said) { // the machine is fast
			if within == 1 {
				t.Errorf("%v: notes %q", within, r.Notes)
			}
			continue
		}
		if len(r.Threads) == 0 || !strings.Contains(r.Headline(), said) {
			t.Errorf("%v: %d threads, %s", within, len(r.Threads), r.Headline())
		}
		for _, o := range r.Threads {
			if o.Stuck || o.Cycle || strings.Contains(o.For, "no process has") {
				t.Errorf("%v: %+v", within, o)
			}
		}
	}
}
