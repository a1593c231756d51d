package cli

import (
	"os"
	"slices"
	"syscall"
	"testing"
)

// Signals that come while Waiting calls f are there afterwards.
func TestWaitingGivesSignalsBack(t *testing.T) {
	want := []os.Signal{syscall.SIGTERM, syscall.SIGCHLD, syscall.SIGWINCH} // by number
	c := make(chan os.Signal, len(want))
	Waiting(c, func() {
		for _, s := range want {
			c <- s
		}
	}, func() { t.Error("it discards what f has done") })
	var got []os.Signal
	for len(c) > 0 {
		got = append(got, <-c)
	}
	slices.SortFunc(got, func(a, b os.Signal) int { return int(a.(syscall.Signal)) - int(b.(syscall.Signal)) })
	if !slices.Equal(got, want) {
		t.Errorf("the signals are %v, want %v", got, want)
	}
}

func TestSet(t *testing.T) {
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		n := 0
		s := Set(sig)
		for _, word := range s.Val {
			for ; word != 0; word &= word - 1 {
				n++
			}
		}
		if n != 1 || Set(sig) == Set(sig%64+1) {
			t.Errorf("the set of signal %d has %d members", sig, n)
		}
	}
}
