//go:build !linux || !(amd64 || arm64)

package sys

import "sync/atomic"

// On these platforms there is no handler: truncating a file kills the processes that map it.

func protect([]byte) {}

func unprotect([]byte) {}

// Guard watches a mapping on other platforms.
type Guard struct{}

// GuardOf returns nil here.
func GuardOf([]byte) *Guard { return nil }

// WhenCut does nothing.
func (*Guard) WhenCut(*atomic.Uint64, uint64) {}

// Cut returns false.
func (*Guard) Cut() bool { return false }

// Run calls f, which accesses the mapping, and reports whether a fault ended f: the file was cut
// short.
func (*Guard) Run(f func()) (cut bool) { return faults(f) }
