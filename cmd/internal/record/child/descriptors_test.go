package child

import (
	"testing"

	"golang.org/x/sys/unix"
)

// One high inherited descriptor does not make FreeDescriptor return high ones.
func TestFreeDescriptor(t *testing.T) {
	fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 200)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	got := FreeDescriptor()
	if got >= 200 {
		t.Errorf("%d although only %d is in use up there", got, fd)
	}
	for n := got - descriptorRoom + 1; n < got+descriptorRoom; n++ {
		if _, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0); err == nil {
			t.Errorf("descriptor %d, near %d, is in use", n, got)
		}
	}
}
