//go:build linux

package hang_test

import (
	"os"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/record/hang"
	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// Look of 300 processes takes no longer than ptrace-run delays a signal for it.
func TestTime(t *testing.T) {
	tracetest.Only(t, tracetest.Full(), "with POSIXTRACE_FULL: other tests take the processors")
	cmd := start(t, `
for i in range(150):
    r, w = os.pipe(); keeps(1000, w); os.close(w)
    if not os.fork(): os.read(r, 1)
    os.close(r)
open("ready", "w")
time.sleep(1000)
`)
	tracetest.Wait(t, "300 processes", func() bool {
		_, err := os.Stat(cmd.Dir + "/ready")
		return err == nil
	})
	least := time.Hour
	for i := 0; i < 20 && least > 500*time.Millisecond; i++ {
		at := time.Now()
		if r := hang.Look([]int{cmd.Process.Pid}, hang.Options{}); len(r.Threads) < 300 {
			t.Fatalf("%d threads", len(r.Threads))
		}
		least = min(least, time.Since(at))
	}
	t.Log(least)
	if least > 500*time.Millisecond {
		t.Errorf("the fastest look takes %v", least)
	}
}
