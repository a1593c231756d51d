package sys

import (
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Proc identifies a process until the next boot. The kernel reuses a pid, but not a pid together with
// its start time.
type Proc struct {
	PID   uint32
	Start uint64 // clock ticks since boot; see NowTicks
}

const (
	pidBits = 22 // the kernel's PID_MAX_LIMIT is 1<<22
	pidMask = 1<<pidBits - 1
)

// Pack puts p into one word: the pid in the low 22 bits, the start above.
func (p Proc) Pack() uint64 { return p.Start<<pidBits | uint64(p.PID)&pidMask }

// Unpack is the inverse of Pack.
func Unpack(w uint64) Proc { return Proc{PID: uint32(w & pidMask), Start: w >> pidBits} }

var selfStart = known(func() uint64 {
	s, err := statSelf()
	if err != nil || s.PID != os.Getpid() {
		return 0 // no usable /proc
	}
	return s.Start
})

// SelfProc returns the calling process. Without /proc its Start is 0.
func SelfProc() Proc { return Proc{uint32(os.Getpid()), selfStart()} }

// known returns a function that caches the result of f. It calls f again as long as the result is the
// zero value.
func known[T comparable](f func() T) func() T {
	var found atomic.Pointer[T]
	return func() (v T) {
		if p := found.Load(); p != nil {
			return *p
		}
		var nothing T
		if v = f(); v != nothing {
			found.Store(&v)
		}
		return v
	}
}

// IsSelf reports whether p is the calling process.
func (p Proc) IsSelf() bool { return int(p.PID) == os.Getpid() && p == SelfProc() }

// Lookup returns the process that has this pid now. It fails with ESRCH when there is none, or only a
// zombie, or when pid is a thread other than the first.
func Lookup(pid int) (Proc, error) {
	s, err := Stat(pid)
	if err != nil {
		return Proc{}, err
	}
	if s.Dead() || isThread(pid) {
		return Proc{}, unix.ESRCH
	}
	return s.Proc(), nil
}

// Alive reports whether p still runs. It returns true where it cannot know, because p is hidden or
// the caller is out of descriptors or memory: a process taken for dead would lose its streams. A
// start of 0 is that of a process that could not find out its own.
func (p Proc) Alive() bool {
	s, err := Stat(int(p.PID))
	if err != nil {
		return err != unix.ESRCH
	}
	return (s.Start == p.Start || p.Start == 0) && !s.Dead()
}
