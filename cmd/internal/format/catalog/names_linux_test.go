package catalog

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestErrnoNames compares the tables with Go's, which has no texts of the latest numbers.
func TestErrnoNames(t *testing.T) {
	for n := -2; n < 5000; n++ {
		e := syscall.Errno(n)
		if got, want := ErrnoName(n), unix.ErrnoName(e); n >= 0 && got != want {
			t.Errorf("name of error %d: %q, want %q", n, got, want)
		}
		if got, want := ErrnoText(n), e.Error(); n > 0 && (n < int(unix.EHWPOISON) || n >= len(errors)) && got != want {
			t.Errorf("text of error %d: %q, want %q", n, got, want)
		}
		if got, want := SignalName(n), unix.SignalName(syscall.Signal(n)); n > 0 && got != want {
			t.Errorf("name of signal %d: %q, want %q", n, got, want)
		}
	}
	if ErrnoName(-2) != "" || SignalName(-2) != "" || ErrnoText(0) != "errno 0" {
		t.Error("a number below 1 has a name")
	}
}
