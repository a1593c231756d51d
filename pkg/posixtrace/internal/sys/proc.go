package sys

import (
	"os"
	"sync/atomic"
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

// SelfProc returns the calling process. Without /proc its Start is 0.
func SelfProc() Proc { return Proc{uint32(os.Getpid()), selfStart()} }

// IsSelf reports whether p is the calling process.
func (p Proc) IsSelf() bool { return int(p.PID) == os.Getpid() && p == SelfProc() }

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

// ProcStat is the part of /proc/PID/stat that this package needs.
type ProcStat struct {
	PID     int
	PPID    int
	Group   int // process group, 0 if it is outside of our pid namespace
	Session int
	Threads int
	State   byte
	Forked  bool // it has not called exec since it was forked
	Start   uint64
}

// Dead reports whether the process has ended. A thread group whose leader has ended shows the state
// of a zombie while its other threads go on.
func (s *ProcStat) Dead() bool {
	return s.State == 'X' || s.State == 'x' || s.State == 'Z' && s.Threads <= 1
}

// Proc returns the identity of the process.
func (s *ProcStat) Proc() Proc { return Proc{uint32(s.PID), s.Start} }
