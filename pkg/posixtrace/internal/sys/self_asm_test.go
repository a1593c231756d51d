//go:build linux && (amd64 || arm64)

package sys

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// FastSelf is false, and nothing faults, whatever part of the runtime is not as expected.
func TestUnknownRuntime(t *testing.T) {
	mem, err := unix.Mmap(-1, 0, 4*4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	page := func(i int) uint64 { return uint64(uintptr(unsafe.Pointer(&mem[i*4096]))) }
	word := func(addr uint64) *uint64 { return (*uint64)(unsafe.Pointer(&mem[addr-page(0)])) }
	// Page 0 has random words, page 1 pointers to what may not be touched, page 2 is
	// what stands before that, page 3 may not be touched.
	for a := page(0); a < page(1); a += 8 {
		*word(a) = rand.Uint64()
	}
	for a := page(1); a < page(2); a += 8 {
		*word(a) = page(3) + a%4096
	}
	if err := unix.Mprotect(mem[3*4096:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	*word(page(2)) = page(3) - 8
	g := func(addr uint64) func() { return func() { askG = func() uint64 { return addr } } }
	wrong := map[string]func(){
		"g is nothing":             g(0),
		"g is small":               g(8),
		"g is not mapped":          g(1 << 20),
		"g is no address":          g(0xdead << 48),
		"g is odd":                 g(page(2) + 1),
		"g may not be touched":     g(page(3)),
		"g ends":                   g(page(3) - 8),
		"g is noise":               g(page(0)),
		"m may not be touched":     g(page(1)),
		"m ends":                   g(page(2) - 48),
		"m is g":                   func() { askG = func() uint64 { *word(page(2) + 48) = page(2); return page(2) } },
		"m is elsewhere":           func() { askG = func() uint64 { *word(page(2) + 72) = peek(gAddr() + 48); return page(2) } },
		"m has no thread":          func() { askThread = func() int { return syscall.Gettid() ^ 1<<30 } },
		"m has one thread":         func() { askThread = func() int { return 1 } },
		"m has no processor":       func() { askProcessor = func() int { return -1 } },
		"the processor is another": func() { askProcessor = func() int { return Processor() + 1 } },
		"no frame is there":        func() { askFrame = func() (tid, pc, want uint64) { return 0, peek(page(3)), 1 } },
		"another caller":           func() { askFrame = func() (tid, pc, want uint64) { return 0, 1, 2 } },
		"nothing is there":         func() { askFrame = func() (tid, pc, want uint64) { return 0, peek(0), 1 } },
	}
	tracetest.Need(t, FastSelf(), "a Go release whose layout Self knows")
	was := [3]uintptr{gM, mID, mP}
	wasHop := hop
	for name, assume := range wrong {
		t.Run(name, func(t *testing.T) {
			defer func() {
				askG, askThread, askProcessor, askFrame = gAddr, syscall.Gettid, Processor, probe
				gM, mID, mP, hop = was[0], was[1], was[2], wasHop
			}()
			clear(mem[2*4096+8 : 3*4096])
			assume()
			if findSelf() {
				t.Error("findSelf accepts them")
			}
		})
	}
	if on := debug.SetPanicOnFault(false); on {
		t.Error("faults still become panics")
	}
	if !findSelf() {
		t.Error("findSelf fails on the real runtime")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if tid, _, _, _ := Self(); int(tid) != syscall.Gettid() {
		t.Errorf("thread %d, want %d", tid, syscall.Gettid())
	}
}
