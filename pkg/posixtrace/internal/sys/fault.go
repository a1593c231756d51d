//go:build linux && (amd64 || arm64)

package sys

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A file that is mapped can be cut short by whoever may write to it, and the kernel then
// kills every process that touches what is gone: SIGBUS. A traced program must not die of
// that, and asking before each access would cost more than an event. So the signal is
// caught: our handler stands before that of the Go runtime and, if the address is one of
// a mapping made by Map, puts zeros in the place of the mapping and lets the program go
// on. Everything else it passes on as it came. While nothing is wrong it costs nothing.

// Guard is a mapping that the handler looks after. The handler reads it without a lock:
// start is set last and cleared first.
type Guard struct {
	start atomic.Uintptr
	end   atomic.Uintptr
	word  atomic.Uintptr // address of the word to be set, or 0
	value atomic.Uint64  // and to what
	cut   atomic.Uint64  // 1: it has happened
}

// guardBlock is as many as most programs ever need. There is another behind it for those
// that have more; blocks never go away.
type guardBlock struct {
	all  [1024]Guard // busHandler knows the sizes
	next atomic.Pointer[guardBlock]
}

var (
	guards  guardBlock
	guardMu sync.Mutex
	//lint:ignore U1000 read by assembly
	oldBus  uintptr // the handler that was there before
	guardOn = sync.OnceValue(catchBus)
)

// busHandler is the handler. It is called by the kernel alone.
//
//lint:ignore U1000 called by the kernel
func busHandler()

func busHandlerAddr() uintptr

// sigaction is the kernel's.
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

// catchBus puts the handler before the one there is. The way back from it, its stack and
// what it masks remain those of the old one, to which it may hand over.
func catchBus() bool {
	const bytes = unsafe.Sizeof(sigaction{}.mask)
	var old sigaction
	if _, _, no := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGBUS), 0, uintptr(unsafe.Pointer(&old)), bytes, 0, 0); no != 0 {
		return false
	}
	const siginfo = 4
	if old.handler <= 1 || old.flags&siginfo == 0 { // nobody to hand over to
		return false
	}
	oldBus = old.handler
	old.handler = busHandlerAddr()
	_, _, no := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGBUS), uintptr(unsafe.Pointer(&old)), 0, bytes, 0, 0)
	return no == 0
}

// protect begins to look after a mapping.
func protect(mem []byte) {
	if len(mem) == 0 || !guardOn() {
		return
	}
	guardMu.Lock()
	defer guardMu.Unlock()
	g := freeGuard()
	if g == nil {
		return
	}
	base := uintptr(unsafe.Pointer(&mem[0]))
	page := uintptr(unix.Getpagesize())
	g.word.Store(0)
	g.cut.Store(0)
	g.end.Store(base + (uintptr(len(mem))+page-1)&^(page-1))
	g.start.Store(base)
}

// freeGuard finds or makes room for one more.
func freeGuard() *Guard {
	if g := findGuard(0); g != nil {
		return g
	}
	// Not of Go's memory, which the handler knows nothing about.
	mem, err := MapAnon(int(unsafe.Sizeof(guardBlock{})))
	if err != nil {
		return nil
	}
	b := &guards
	for b.next.Load() != nil {
		b = b.next.Load()
	}
	more := (*guardBlock)(unsafe.Pointer(&mem[0]))
	b.next.Store(more)
	return &more.all[0]
}

// findGuard returns the one of the mapping at start, or with 0 a free one, or nil.
func findGuard(start uintptr) *Guard {
	for b := &guards; b != nil; b = b.next.Load() {
		for i := range b.all {
			if b.all[i].start.Load() == start {
				return &b.all[i]
			}
		}
	}
	return nil
}

// GuardOf returns what looks after a mapping made by Map, until Unmap; nil if nothing does.
func GuardOf(mem []byte) *Guard {
	guardMu.Lock()
	defer guardMu.Unlock()
	return guardOf(mem)
}

func guardOf(mem []byte) *Guard {
	if len(mem) == 0 {
		return nil
	}
	return findGuard(uintptr(unsafe.Pointer(&mem[0])))
}

// unprotect ends what protect began. It comes before the unmapping: other memory may be
// at the address afterwards.
func unprotect(mem []byte) {
	guardMu.Lock()
	defer guardMu.Unlock()
	if g := guardOf(mem); g != nil {
		g.start.Store(0)
	}
}

// WhenCut has a 64-bit word of the mapping be value once the mapping consists of zeros
// because its file was cut short.
func (g *Guard) WhenCut(word *atomic.Uint64, value uint64) {
	if g == nil {
		return
	}
	g.value.Store(value)
	g.word.Store(uintptr(unsafe.Pointer(word)))
	if g.Cut() { // perhaps before that
		word.Store(value)
	}
}

// Cut reports whether the file was found to have been cut short. Who asks after having
// looked at the mapping knows whether what he saw was the file.
func (g *Guard) Cut() bool { return g != nil && g.cut.Load() != 0 }

// Run calls f, which accesses the mapping, and reports whether the file was found to have been
// cut short, before f or during it. The handler serves a mapping that has a Guard. Of one that has
// none (g is nil) a fault ends f: the runtime turns it into a panic, which Run recovers.
func (g *Guard) Run(f func()) (cut bool) {
	if g == nil {
		return faults(f)
	}
	f()
	return g.Cut()
}
