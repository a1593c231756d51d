package procfs

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"golang.org/x/sys/unix"
)

func TestNumber(t *testing.T) {
	v, rest := number([]byte("12 345\n"))
	w, end := number(rest)
	if v != 12 || string(rest) != "345\n" || w != 345 || len(end) != 0 {
		t.Errorf("%d, %q, %d, %q", v, rest, w, end)
	}
}

// burn uses the processor until the kernel has counted it.
func burn(t *testing.T, used func() time.Duration) {
	t.Helper()
	before := used()
	for deadline := time.Now().Add(time.Minute); used() < before+2*tick; {
		if time.Now().After(deadline) {
			t.Fatal("the kernel counts no processor time")
		}
	}
}

// The processor time of this process is not that of others.
func TestDescribe(t *testing.T) {
	m := MachineNow(os.Getpid())
	tracetest.Need(t, m.known, "/proc/stat")
	burn(t, func() time.Duration { return min(used(os.Getpid())-m.own, MachineNow().busy-m.busy) })
	var with, without posixtrace.ExitData
	m.Describe(&with)
	all := Machine{known: true, busy: m.busy, idle: m.idle}
	all.Describe(&without)
	if with.Others >= without.Others {
		t.Errorf("others used %v with this process, %v without", without.Others, with.Others)
	}
	var none posixtrace.ExitData
	new(Machine).Describe(&none)
	if none.Others != 0 || none.Idle != 0 {
		t.Errorf("of a moment that was not measured: %+v", none)
	}
}

func TestDelay(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ran := func() time.Duration { ran, _ := Delay(unix.Gettid()); return ran }
	tracetest.Need(t, ran() > 0, "/proc/PID/schedstat")
	burn(t, ran)
	if ran, waited := Delay(1 << 22); ran != 0 || waited != 0 {
		t.Errorf("a thread that does not exist ran %v and waited %v", ran, waited)
	}
	if n := Processors(unix.Gettid()); n < 1 || n > runtime.NumCPU() {
		t.Errorf("%d processors of %d", n, runtime.NumCPU())
	}
}
