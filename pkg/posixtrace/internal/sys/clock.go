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

// Monotonic reads CLOCK_MONOTONIC in nanoseconds, as it is outside of any time
// namespace: processes of several may share a stream.
func Monotonic() uint64 { return uint64(nanotime() - monotonicOffset) }

// monotonicOffset is by how much our time namespace shifts it. A clock has no time to
// ask each time.
var monotonicOffset = namespaceOffset("monotonic", "1")

// TrustTicks reports whether Ticks may be a stream's clock: only where the kernel
// itself keeps time by the same counter.
var TrustTicks = sync.OnceValue(func() bool {
	src, err := readSmall("/sys/devices/system/clocksource/clocksource0/current_clocksource", make([]byte, 64))
	return err == nil && keepsTime(string(bytes.TrimSpace(src)), runtime.GOARCH)
})

// keepsTime reports whether a clock source of the kernel is what Ticks reads. Where the
// counter has been found unstable the kernel uses another.
func keepsTime(source, arch string) bool {
	switch arch {
	case "amd64":
		return source == "tsc"
	case "arm64":
		return source == "arch_sys_counter"
	}
	return false
}

// Pair reads Ticks and CLOCK_MONOTONIC as nearly at once as it can.
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
