//go:build linux && (amd64 || arm64)

package sys

import (
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// touchFaults writes to b[at] and reports whether that is a fault that reaches the Go runtime.
func touchFaults(b []byte, at int) bool { return faults(func() { b[at]++ }) }

func TestMappingBecomesZerosWhenFileIsCut(t *testing.T) {
	needFaultAddress(t)
	const page = 4096
	f := tempFile(t)
	if err := Allocate(f, 3*page); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		if err := f.Truncate(3*page - 100); err != nil {
			t.Fatal(err)
		}
		a, err := Map(f, 3*page-100, true)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Map(f, 3*page-100, true)
		if err != nil {
			t.Fatal(err)
		}
		foreign, err := unix.Mmap(int(f.Fd()), 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			t.Fatal(err)
		}
		ga, gb := GuardOf(a), GuardOf(b)
		ga.WhenCut((*atomic.Uint64)(unsafe.Pointer(&a[16])), 77)
		a[2*page]++
		a[8], b[9] = 1, 1
		if ga.Cut() || gb.Cut() {
			t.Error("Cut reports a cut of a whole file")
		}
		if ga.Run(func() { a[8] = 1 }) {
			t.Error("Run reports a cut before there is one")
		}
		if err := f.Truncate(page); err != nil {
			t.Fatal(err)
		}
		switch round {
		case 0:
		case 1: // as in a program that catches all signals
			c := make(chan os.Signal, 1)
			signal.Notify(c)
			defer signal.Stop(c)
		case 2:
			signal.Reset()
		}
		a[8] = 2
		if ga.Cut() {
			t.Error("Cut reports a cut before an access to the missing part")
		}
		if !ga.Run(func() { a[2*page+5] = 3 }) {
			t.Error("Run does not report the cut")
		}
		if !ga.Cut() || gb.Cut() || a[8] != 0 || a[2*page+5] != 3 || a[16] != 77 {
			t.Errorf("cut: %v %v; %d %d %d", ga.Cut(), gb.Cut(), a[8], a[2*page+5], a[16])
		}
		if b[8] != 2 {
			t.Errorf("another mapping of the file has %d, want 2", b[8])
		}
		// A fault in a mapping that is not ours goes to the Go runtime.
		if !touchFaults(foreign, page) {
			t.Error("a fault in a mapping of others does not reach the runtime")
		}
		if err := Unmap(a); err != nil {
			t.Fatal(err)
		}
		// So does a fault in a later mapping at the address of ours.
		again, err := unix.MmapPtr(int(f.Fd()), 0, unsafe.Pointer(&a[0]), 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED_NOREPLACE)
		if err != nil {
			t.Fatal(err)
		}
		if !touchFaults(unsafe.Slice((*byte)(again), 3*page), 2*page) {
			t.Error("a fault in a later mapping at the same address does not reach the runtime")
		}
		unix.MunmapPtr(again, 3*page)
		unix.Munmap(foreign)
		Unmap(b)
	}
}

// Several threads meet the end of the file at once.
func TestCutUnderSeveralThreads(t *testing.T) {
	const size = 64 << 10
	f := tempFile(t)
	for range 20 {
		if err := Allocate(f, size); err != nil {
			t.Fatal(err)
		}
		m, err := Map(f, size, true)
		if err != nil {
			t.Fatal(err)
		}
		const dead = 5
		state := (*atomic.Uint64)(unsafe.Pointer(&m[0]))
		g := GuardOf(m)
		g.WhenCut(state, dead)
		done := make(chan int)
		for range 4 {
			go func() {
				n := 0
				for ; state.Load() != dead; n++ {
					(*atomic.Uint64)(unsafe.Pointer(&m[n*8%size|8])).Add(1)
				}
				done <- n
			}()
		}
		if err := f.Truncate(0); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			<-done
		}
		if !g.Cut() {
			t.Error("Cut does not report the cut")
		}
		Unmap(m)
	}
	if n := countGuards(); n != 0 {
		t.Errorf("%d guards left", n)
	}
}

func countGuards() (n int) {
	for b := &guards; b != nil; b = b.next.Load() {
		for i := range b.all {
			if b.all[i].start.Load() != 0 {
				n++
			}
		}
	}
	return
}

// There are more mappings than guards in one block.
func TestGuardsBeyondOneBlock(t *testing.T) {
	const page, n = 4096, 3000
	f := tempFile(t)
	if err := Allocate(f, 2*page); err != nil {
		t.Fatal(err)
	}
	var list [n][]byte
	for i := range list {
		m, err := Map(f, 2*page, true)
		if err != nil {
			t.Fatal(err)
		}
		list[i] = m
	}
	if countGuards() != n {
		t.Errorf("%d guards, want %d", countGuards(), n)
	}
	if err := f.Truncate(page); err != nil {
		t.Fatal(err)
	}
	for i := n - 1; i >= 0; i-- {
		if list[i][page]++; !GuardOf(list[i]).Cut() {
			t.Fatalf("mapping %d", i)
		}
	}
	for _, m := range list {
		Unmap(m)
	}
	if n := countGuards(); n != 0 {
		t.Errorf("%d guards left", n)
	}
}

// A SIGBUS from elsewhere keeps its effect.
func TestForeignSIGBUSIsPassedOn(t *testing.T) {
	f := tempFile(t)
	f.Truncate(4096)
	m, err := Map(f, 4096, false)
	if err != nil {
		t.Fatal(err)
	}
	defer Unmap(m)
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGBUS)
	defer signal.Stop(c)
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGBUS); err != nil {
		t.Fatal(err)
	}
	<-c
}
