//go:build linux && (amd64 || arm64)

package sys

import (
	"math/bits"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"unsafe"
)

// Ticks reads the processor's time stamp counter. It costs about 9 ns.
func Ticks() uint64

// Self returns the kernel's id of the calling thread, the address that the
// caller of Self returns to, which lies in its own caller, and the number of the
// scheduler's processor, a hint that is outdated at once. FastSelf must have
// reported true before, and the caller must be a function that is never inlined.
func Self() (tid, pc uint64, processor int)

// Outer returns the address that the caller of Self's caller returns to, one
// call farther up than Self's. That function, too, must not have been inlined. Unlike
// SlowSelf it sees the wrapper in which the compiler puts a call by go or defer.
// FastSelf must have reported true, and the caller compared an answer.
func Outer() uint64

func mword(off uintptr) uint64

// The runtime keeps its thread's id in its m structure, one load away, and the
// number of its processor another; gettid(2) costs ten times a whole event.
// Where in m, no release promises: findSelf looks for both, and what it finds
// must hold on two threads. Only assembly reads what is found.
var (
	//lint:ignore U1000 read by assembly
	mID uintptr // offset of the thread's id in m
	//lint:ignore U1000 read by assembly
	mP uintptr // offset of the pointer to the processor, whose first member is its number
	//lint:ignore U1000 read by assembly
	hop bool // the caller's frame is one up
)

// FastSelf reports whether Self can be used. The first call finds out.
var FastSelf = sync.OnceValue(findSelf)

//go:noinline
func probe() (tid, pc, want uint64) {
	tid, pc, _ = Self()
	var pcs [1]uintptr
	runtime.Callers(2, pcs[:])
	return tid, pc, uint64(pcs[0])
}

func findSelf() bool {
	// A goroutine may change its processor in the middle of it.
	for range 8 {
		if findOnce() {
			return true
		}
	}
	return false
}

func findOnce() bool {
	type answer struct {
		tid  uint64
		hits uint64  // bit i: word i of m holds the thread's id
		ps   uint64  // bit i: word i of m points to the processor
		hops [2]bool // which setting of hop leads to the caller
	}
	ask := func() (a answer) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		a.tid = uint64(syscall.Gettid())
		for i := range words {
			w := mword(uintptr(i) * 8)
			if w == a.tid {
				a.hits |= 1 << i
			}
			if pointsToProcessor(w) {
				a.ps |= 1 << i
			}
		}
		for i := range a.hops {
			hop = i == 1
			_, pc, want := probe()
			a.hops[i] = pc == want
		}
		return
	}
	first := ask()
	second := make(chan answer)
	runtime.LockOSThread() // so that the other one runs on another thread
	go func() { second <- ask() }()
	s := <-second
	runtime.UnlockOSThread()
	hits, ps := first.hits&s.hits, first.ps&s.ps
	if first.tid == s.tid || hits == 0 || ps == 0 {
		return false
	}
	mID = uintptr(bits.TrailingZeros64(hits)) * 8
	mP = uintptr(bits.TrailingZeros64(ps)) * 8
	switch {
	case first.hops[0] && s.hops[0]:
		hop = false
	case first.hops[1] && s.hops[1]:
		hop = true
	default:
		return false
	}
	for range 16 {
		if _, pc, want := probe(); pc != want {
			return false
		}
		// A hint may be outdated, but not every time.
		if _, _, p := Self(); p == Processor() {
			return true
		}
	}
	return false
}

// words is how many words of m are looked at.
const words = 64

// pointsToProcessor reports whether w is the address of a p structure, which
// begins with the number of the processor and the state "running". It is asked
// of words that may be anything; a bad address is a fault that is caught.
func pointsToProcessor(w uint64) (yes bool) {
	if w&7 != 0 || w < 1<<16 || w>>47 != 0 {
		return false
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	p := *(**[2]uint32)(unsafe.Pointer(&w))
	id, state := p[0], p[1]
	const running = 1
	return int(id) == Processor() && state == running
}
