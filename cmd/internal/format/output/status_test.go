package output

import (
	"syscall"
	"testing"
)

// The numbers are those of Linux on every system: a log may be from there.
func TestErrorText(t *testing.T) {
	for number, want := range map[syscall.Errno]string{
		0:    "none",
		13:   "Permission denied",
		28:   "No space left on device",
		4000: "Errno 4000",
	} {
		if got := ErrorText(number); got != want {
			t.Errorf("ErrorText(%d) = %q, want %q", number, got, want)
		}
	}
	if got := MissedText(protoNoSupport); got == ErrorText(protoNoSupport) {
		t.Errorf("a stream of another version is missed for %q", got)
	}
	if got := MissedText(13); got != ErrorText(13) {
		t.Errorf("MissedText(13) = %q", got)
	}
}
