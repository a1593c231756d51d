//go:build !amd64 || race

package stream

import "sync/atomic"

// storeRelease stores v in a control word after everything that the word publishes.
func storeRelease(p *atomic.Uint64, v uint64) { p.Store(v) }
