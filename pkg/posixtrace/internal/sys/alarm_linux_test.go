package sys

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// An alarm where timerfd_create(2) is refused.
func TestAlarmRefused(t *testing.T) {
	defer func(f func(int, int) (int, error)) { timerfdCreate = f }(timerfdCreate)
	timerfdCreate = func(int, int) (int, error) { return -1, unix.EPERM }
	TestAlarm(t)
}

func TestAlarm(t *testing.T) {
	a, err := NewAlarm()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []time.Duration{0, time.Microsecond, 5 * time.Millisecond} {
		begin := time.Now()
		if !a.Wait(d) {
			t.Fatal("Wait reports a Ring")
		}
		if took := time.Since(begin); took < d {
			t.Errorf("Wait(%v) took %v", d, took)
		}
	}

	// Ring and Wait in any order.
	for i := range 300 {
		a, err := NewAlarm()
		if err != nil {
			t.Fatal(err)
		}
		rung := make(chan struct{})
		go func() {
			defer close(rung)
			for range i {
				runtime.Gosched()
			}
			a.Ring()
		}()
		for a.Wait(time.Minute) {
			t.Fatal("Wait reports that the time has passed after Ring")
		}
		if a.Wait(time.Minute) {
			t.Fatal("a later Wait does not report Ring")
		}
		<-rung
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}

	// What cannot wait for the descriptor waits all the same.
	a.f.Close()
	begin := time.Now()
	a.Wait(20 * time.Millisecond)
	a.Ring()
	if a.Wait(time.Minute) || time.Since(begin) > 50*time.Second {
		t.Error("Wait on a closed alarm does not end with Ring")
	}
}
