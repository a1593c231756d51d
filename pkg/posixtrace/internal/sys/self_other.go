//go:build linux && !amd64 && !arm64

package sys

// Ticks reads the fallback clock: no counter is known to be good.
func Ticks() uint64 { return Monotonic() }

// FastSelf returns false: callers use gettid(2) and a stack walk.
func FastSelf() bool { return false }

// Self is not called where FastSelf is false.
func Self() (tid, pc uint64, processor int, ticks uint64) { return 0, 0, 0, 0 }

// Outer is not called where FastSelf is false.
func Outer() uint64 { return 0 }
