package sys

import (
	"runtime"
	"testing"
	"time"
)

// The processor's counter is a clock only where the kernel keeps time by it.
func TestKeepsTime(t *testing.T) {
	for _, c := range []struct {
		source, arch string
		want         bool
	}{
		{"tsc", "amd64", true}, {"hpet", "amd64", false}, {"acpi_pm", "amd64", false}, {"kvm-clock", "amd64", false},
		{"hyperv_clocksource_tsc_page", "amd64", false}, {"xen", "amd64", false}, {"", "amd64", false}, {"tsc", "386", false},
		{"arch_sys_counter", "arm64", true}, {"tsc", "arm64", false}, {"arch_sys_counter", "riscv64", false},
	} {
		if got := keepsTime(c.source, c.arch); got != c.want {
			t.Errorf("keepsTime(%q, %s) = %v", c.source, c.arch, got)
		}
	}
}

// The two readings of Pair belong together, and rise.
func TestPairReadingsAgree(t *testing.T) {
	t0, m0 := Pair()
	for range 100 {
		runtime.Gosched()
		t1, m1 := Pair()
		if t1 < t0 || m1 < m0 {
			t.Fatalf("%d, %d after %d, %d", t1, m1, t0, m0)
		}
		t0, m0 = t1, m1
	}
	before := Monotonic()
	time.Sleep(2 * time.Millisecond)
	if d := Monotonic() - before; d < 2e6 || d > 60e9 {
		t.Errorf("2 ms are %d ns", d)
	}
}
