//go:build amd64 && !race

package stream

import (
	"sync/atomic"
	"unsafe"
)

// publish stores the control word after everything that it publishes. Stores of
// this processor become visible in program order, and the compiler keeps the order of
// stores, so a plain one is a release; atomic.Store would be an exchange of 5 ns.
func publish(p *atomic.Uint64, v ctl) { *(*uint64)(unsafe.Pointer(p)) = uint64(v) }
