//go:build !amd64 || race

package stream

import "sync/atomic"

// publish stores the control word after everything that it publishes.
func publish(p *atomic.Uint64, v ctl) { p.Store(uint64(v)) }
