package tracer

import (
	"testing"

	"golang.org/x/sys/unix"
)

// The number of a call is read from the code before it only where that loads it as a constant.
func TestCallIn(t *testing.T) {
	for _, tt := range []struct {
		code string
		want int
	}{
		{"\x00\x00\xb8\xe6\x00\x00\x00\x0f\x05", unix.SYS_CLOCK_NANOSLEEP},
		{"\x48\xc7\xc0\xca\x00\x00\x00\x0f\x05", unix.SYS_FUTEX},
		{"\x00\x00\x89\xf8\x90\x90\x90\x0f\x05", -1}, // mov %edi, %eax
		{"\x00\x00\xb8\xe6\x00\x00\x00\x0f\x34", -1}, // sysenter
		{"\x00\x00\xb8\xff\xff\xff\xff\x0f\x05", -1},
		{"\xb8\x07\x00\x00\x00\x0f\x05", unix.SYS_POLL},
		{"\x0f\x05", -1},
		{"", -1},
	} {
		if got := callIn([]byte(tt.code)); got != tt.want {
			t.Errorf("callIn(% x) = %d, want %d", tt.code, got, tt.want)
		}
	}
}
