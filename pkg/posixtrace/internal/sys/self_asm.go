//go:build linux && (amd64 || arm64)

package sys

import (
	"math/bits"
	"runtime"
	"sync"
	"syscall"
)

// Ticks reads the processor's time stamp counter. It costs about 9 ns.
func Ticks() uint64

// Self returns the kernel's id of the calling thread, the return address of Self's caller, which is
// in the caller's caller, the number of the scheduler's processor, a hint that is outdated at
// once, and the time stamp counter, as Ticks. FastSelf must have returned true, and the caller must
// be a function that is never inlined.
func Self() (tid, pc uint64, processor int, ticks uint64)

// Outer returns the return address one frame above that of Self. The function of that frame, too,
// must never be inlined. Unlike SlowSelf, Outer sees the wrapper in which the compiler puts a call
// by go or defer. FastSelf must have returned true, and the caller must have verified a result.
func Outer() uint64

// gAddr returns the address of the runtime's structure of the calling goroutine.
func gAddr() uint64

// peek returns the word at an address. It takes and returns no pointers, since the garbage
// collector would examine them, whatever they are.
func peek(addr uint64) uint64

// The runtime keeps its thread's id in its m structure, two loads away, and the number of its
// processor in another; gettid(2) costs ten times a whole event. No release promises these places,
// nor that a frame pointer leads to the caller's frame. findSelf searches for all of them,
// protected from faults, and requires that its findings hold on two threads. If anything is not as
// expected callers use gettid(2) and a stack walk. Only assembly reads the findings.
var (
	gM uintptr = 48 // offset in g of the pointer to m
	//lint:ignore U1000 read by assembly
	mID uintptr // offset of the thread's id in m
	//lint:ignore U1000 read by assembly
	mP uintptr // offset of the pointer to the processor, whose first member is its number
	//lint:ignore U1000 read by assembly
	hop bool // the caller's frame is one up
)

// The functions that findSelf calls. Tests replace them to simulate another runtime.
var (
	askG         = gAddr
	askProcessor = Processor
	askThread    = syscall.Gettid
	askFrame     = probe
)

// FastSelf reports whether Self can be used. The first call searches.
var FastSelf = sync.OnceValue(findSelf)

//go:noinline
func probe() (tid, pc, want uint64) {
	tid, pc, _, _ = Self()
	var pcs [1]uintptr
	runtime.Callers(2, pcs[:])
	return tid, pc, uint64(pcs[0])
}

func findSelf() bool {
	// First try the offset of m in every release so far, then all others. A goroutine may
	// change its processor in the middle of the search.
	const usual = 48
	for range 8 {
		if findOnce(usual) {
			return true
		}
	}
	for off := range uintptr(gWords) {
		if findOnce(off * 8) {
			return true
		}
	}
	return false
}

// findOnce searches with the pointer to m at offset off in g.
func findOnce(off uintptr) bool {
	type answer struct {
		tid  uint64
		hits uint64  // bit i: word i of m holds the thread's id
		ps   uint64  // bit i: word i of m points to the processor
		hops [2]bool // which setting of hop leads to the caller
	}
	both := func(ask func(*answer)) (a [2]answer) {
		locked := func(a *answer) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			runtimeError(func() { ask(a) })
		}
		done := make(chan bool)
		runtime.LockOSThread() // so that the other one runs on another thread
		defer runtime.UnlockOSThread()
		locked(&a[0])
		go func() {
			locked(&a[1])
			close(done)
		}()
		<-done
		return a
	}
	a := both(func(a *answer) {
		a.tid = uint64(askThread())
		m := peek(askG() + uint64(off))
		if !plausible(m) {
			return
		}
		for i := range mWords {
			w := peek(m + uint64(i)*8)
			if w == a.tid {
				a.hits |= 1 << i
			}
			if pointsToProcessor(w) {
				a.ps |= 1 << i
			}
		}
	})
	hits, ps := a[0].hits&a[1].hits, a[0].ps&a[1].ps
	if a[0].tid == a[1].tid || hits == 0 || ps == 0 {
		return false
	}
	gM = off
	mID = uintptr(bits.TrailingZeros64(hits)) * 8
	mP = uintptr(bits.TrailingZeros64(ps)) * 8
	for i := range 2 {
		hop = i == 1
		a := both(func(a *answer) {
			tid, pc, want := askFrame()
			a.hops[i] = pc == want && int(tid) == askThread()
		})
		if a[0].hops[i] && a[1].hops[i] {
			return runtimeError(verify) == nil && verified
		}
	}
	return false
}

var verified bool // by verify

// verify compares the results of the fast functions with those of the slow ones.
func verify() {
	verified = false
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range 16 {
		if tid, pc, want := askFrame(); pc != want || int(tid) != askThread() {
			return
		}
		// A hint may be outdated, but not every time.
		if _, _, p, _ := Self(); p == askProcessor() {
			verified = true
			return
		}
	}
}

// gWords and mWords are how many words of g and m are searched.
const (
	gWords = 32
	mWords = 64
)

// plausible reports whether w could be the address of a structure.
func plausible(w uint64) bool { return w&7 == 0 && w >= 1<<16 && w>>48 == 0 }

// pointsToProcessor reports whether w is the address of a p structure, which begins with the number
// of the processor and the state "running". w may be any word.
func pointsToProcessor(w uint64) (yes bool) {
	if !plausible(w) {
		return false
	}
	const running = 1
	runtimeError(func() {
		first := peek(w)
		yes = int(int32(first)) == askProcessor() && first>>32 == running
	})
	return yes
}
