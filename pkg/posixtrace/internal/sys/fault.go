//go:build linux && (amd64 || arm64)

package sys

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Truncating a file that a process maps makes the kernel send SIGBUS to the process when it touches
// the missing part. A traced program must not die of that, and a check before each access would
// cost more than an event. So this package's handler runs before that of the Go runtime. For an
// address within a mapping made by Map it replaces the mapping by zeros and lets the program go on;
// it passes every other signal on unchanged. It costs nothing while nothing is wrong.

// Guard is a mapping that the handler watches. The handler reads it without a lock: start is set
// last and cleared first.
type Guard struct {
	start atomic.Uintptr
	end   atomic.Uintptr
	word  atomic.Uintptr // address of a word that the handler sets, or 0
	value atomic.Uint64  // the value that it sets
	cut   atomic.Uint64  // 1: the file was cut short
}

// guardBlock has as many guards as most programs need. A program with more mappings chains another
// block. Blocks are never freed.
type guardBlock struct {
	all  [1024]Guard // busHandler knows the sizes
	next atomic.Pointer[guardBlock]
}

var (
	guards  guardBlock
	guardMu sync.Mutex
	//lint:ignore U1000 read by assembly
	oldBus  uintptr // the previous handler
	guardOn = sync.OnceValue(catchBus)
)

// busHandler is the handler. Only the kernel calls it.
//
//lint:ignore U1000 called by the kernel
func busHandler()

func busHandlerAddr() uintptr

// sigaction is the kernel's struct.
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

// catchBus installs the handler in front of the previous one. It keeps that one's return path,
// stack and mask, since it may pass the signal on.
func catchBus() bool {
	const bytes = unsafe.Sizeof(sigaction{}.mask)
	var old sigaction
	if _, _, no := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGBUS), 0, uintptr(unsafe.Pointer(&old)), bytes, 0, 0); no != 0 {
		return false
	}
	const siginfo = 4
	if old.handler <= 1 || old.flags&siginfo == 0 { // no handler to pass the signal on to
		return false
	}
	oldBus = old.handler
	old.handler = busHandlerAddr()
	_, _, no := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGBUS), uintptr(unsafe.Pointer(&old)), 0, bytes, 0, 0)
	return no == 0
}

// protect adds a guard for a mapping.
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

// freeGuard returns a free guard, from a new block if all are in use.
func freeGuard() *Guard {
	if g := findGuard(0); g != nil {
		return g
	}
	// Not on the Go heap, whose layout the handler does not know.
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

// findGuard returns the guard of the mapping at start, or with 0 a free one, or nil.
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

// GuardOf returns the guard of a mapping made by Map, valid until Unmap; nil if it has none.
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

// unprotect frees the guard of a mapping. It comes before munmap, after which other memory may be
// at the address.
func unprotect(mem []byte) {
	guardMu.Lock()
	defer guardMu.Unlock()
	if g := guardOf(mem); g != nil {
		g.start.Store(0)
	}
}

// WhenCut makes the handler store value in a 64-bit word of the mapping when it has replaced the
// mapping by zeros because its file was cut short.
func (g *Guard) WhenCut(word *atomic.Uint64, value uint64) {
	if g == nil {
		return
	}
	g.value.Store(value)
	g.word.Store(uintptr(unsafe.Pointer(word)))
	if g.Cut() { // before the two stores
		word.Store(value)
	}
}

// Cut reports whether the file was found to have been cut short. A caller that asks after it has
// read the mapping knows whether it read the file.
func (g *Guard) Cut() bool { return g != nil && g.cut.Load() != 0 }

// Run calls f, which accesses the mapping, and reports whether the file was found to have been cut
// short, before f or during it. The handler serves a mapping that has a Guard. Without one (g is
// nil) a fault ends f: the runtime turns it into a panic, which Run recovers.
func (g *Guard) Run(f func()) (cut bool) {
	if g == nil {
		return faults(f)
	}
	f()
	return g.Cut()
}
