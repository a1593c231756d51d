//go:build !linux

package sys

import (
	"os"
	"runtime"
	"time"
)

var started = time.Now()

// BootID returns "": it is not known.
func BootID() string { return "" }

// PIDNamespace returns 0: there are none.
func PIDNamespace() uint64 { return 0 }

// NamespaceGone returns false.
func NamespaceGone(uint64) bool { return false }

// ProgramID returns a number of this program.
func ProgramID() uint32 { return 1 }

func selfStart() uint64 { return 0 }

// Lookup fails, as no process can have a stream.
func Lookup(int) (Proc, error) { return Proc{}, errElsewhere }

// Alive returns true, as it does where it cannot know.
func (p Proc) Alive() bool { return true }

// Stat fails.
func Stat(int) (ProcStat, error) { return ProcStat{}, errElsewhere }

// Exists reports whether pid is the caller's.
func Exists(pid int) bool { return pid == os.Getpid() }

// ShowsAll returns false.
func ShowsAll() bool { return false }

// Children fails.
func Children(int) ([]int, error) { return nil, errElsewhere }

// EachProcess fails.
func EachProcess(func(*ProcStat)) error { return errElsewhere }

// MayTrace fails for other processes.
func MayTrace(p Proc) error {
	if p.IsSelf() {
		return nil
	}
	return errElsewhere
}

// Secure returns false: no stream is connected to.
func Secure() bool { return false }

// Monotonic reads a clock that starts with the program.
func Monotonic() uint64 { return uint64(time.Since(started)) }

// NowTicks returns 0: there is no clock of Proc.Start.
func NowTicks() uint64 { return 0 }

// TrustTicks returns false.
func TrustTicks() bool { return false }

// Ticks reads Monotonic.
func Ticks() uint64 { return Monotonic() }

// Pair reads Ticks and Monotonic, which are one clock here.
func Pair() (tick, mono uint64) {
	mono = Monotonic()
	return mono, mono
}

// WallAt returns the time of day at a time of Monotonic.
func WallAt(mono uint64) (nanos int64) { return started.UnixNano() + int64(mono) }

// FastSelf returns false.
func FastSelf() bool { return false }

// Self is not called where FastSelf is false.
func Self() (tid, pc uint64, processor int, ticks uint64) { return 0, 0, 0, 0 }

// Outer is not called where FastSelf is false.
func Outer() uint64 { return 0 }

// SlowSelf returns the process as the thread, and the address that the caller of SlowSelf returns to.
func SlowSelf(skip int) (tid, pc uint64) {
	var pcs [1]uintptr
	runtime.Callers(skip+2, pcs[:])
	return uint64(os.Getpid()), uint64(pcs[0])
}

// Processor returns 0.
func Processor() int { return 0 }
