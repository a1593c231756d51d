package sys

import "testing"

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
