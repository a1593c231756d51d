//go:build !linux || !(amd64 || arm64)

package sys

import "sync/atomic"

// Where there is no handler of ours, a file that is cut short ends those who have it mapped.

func protect([]byte) {}

func unprotect([]byte) {}

// Guard is what looks after a mapping where that can be done.
type Guard struct{}

// GuardOf returns nil here.
func GuardOf([]byte) *Guard { return nil }

// WhenCut does nothing here.
func (*Guard) WhenCut(*atomic.Uint64, uint64) {}

// Cut never finds out here.
func (*Guard) Cut() bool { return false }

// Run calls f, which accesses the mapping, and reports whether a fault ended f: the file was cut
// short.
func (*Guard) Run(f func()) (cut bool) { return faults(f) }
