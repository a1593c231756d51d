//go:build amd64 && !race

package stream

import (
	"sync/atomic"
	"unsafe"
)

// storeRelease stores v in a control word after everything that the word publishes. Stores of
// this processor become visible in program order, and the compiler keeps the order of
// stores, so a plain one is a release; atomic.Store would be an exchange of 5 ns.
func storeRelease(p *atomic.Uint64, v uint64) { *(*uint64)(unsafe.Pointer(p)) = v }
