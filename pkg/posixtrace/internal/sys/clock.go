//go:build linux

package sys

import (
	"bytes"
	"runtime"
	"sync"
	_ "unsafe" // for linkname
)

//go:linkname nanotime runtime.nanotime
func nanotime() int64

// Monotonic reads CLOCK_MONOTONIC in nanoseconds, without the offset of a time namespace: processes
// of several namespaces may share a stream.
func Monotonic() uint64 { return uint64(nanotime() - monotonicOffset) }

// monotonicOffset is the offset of our time namespace, read once: a clock must be fast.
var monotonicOffset = namespaceOffset("monotonic", "1")

// TrustTicks reports whether Ticks may be a stream's clock: only where the kernel keeps time by the
// same counter.
var TrustTicks = sync.OnceValue(func() bool {
	src, err := readSmall("/sys/devices/system/clocksource/clocksource0/current_clocksource", make([]byte, 64))
	return err == nil && keepsTime(string(bytes.TrimSpace(src)), runtime.GOARCH)
})

// keepsTime reports whether Ticks reads this clock source of the kernel. Where the kernel has found
// the counter unstable it uses another source.
func keepsTime(source, arch string) bool {
	switch arch {
	case "amd64":
		return source == "tsc"
	case "arm64":
		return source == "arch_sys_counter"
	}
	return false
}

// Pair reads Ticks and CLOCK_MONOTONIC as close together as possible.
func Pair() (tick, mono uint64) {
	best := ^uint64(0)
	for range 8 {
		a := Ticks()
		m := Monotonic()
		b := Ticks()
		if d := b - a; d < best {
			best, tick, mono = d, a+d/2, m
		}
	}
	return
}

// WallAt returns CLOCK_REALTIME at a time of CLOCK_MONOTONIC, a moment ago. This thread may lose the
// processor between two readings, so the closest of several pairs counts.
func WallAt(mono uint64) (nanos int64) {
	best := ^uint64(0)
	for range 8 {
		a := Monotonic()
		now := WallClock().UnixNano()
		b := Monotonic()
		if d := b - a; d < best {
			best, nanos = d, now-int64(a+d/2-mono)
		}
	}
	return
}
