package sys

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// needFaultAddress skips a test where the Go runtime does not learn the address of a bus error: qemu does
// not write it where the runtime reads it on arm64.
func needFaultAddress(t *testing.T) {
	t.Helper()
	tracetest.Only(t, runtime.GOARCH != "arm64" || os.Getenv(tracetest.EmulatorVar) == "", "on a processor of this kind")
}

// A mapping without a guard reports a cut through a panic that Run recovers.
func TestRunWithoutGuard(t *testing.T) {
	needFaultAddress(t)
	f := tempFile(t)
	if err := f.Truncate(4096); err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	var g *Guard
	var sum byte
	read := func() { sum += m[100] }
	if g.Run(read) {
		t.Error("Run reports a cut of a whole file")
	}
	if err := f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if !g.Run(read) {
		t.Error("Run does not report the cut")
	}
	defer func() {
		if recover() == nil {
			t.Error("Run swallows a panic that is no fault")
		}
	}()
	g.Run(func() { sum = m[:0][sum] })
}
