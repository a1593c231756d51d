//go:build linux

// Package load reads from /proc how long threads have waited for a processor, and what the processors
// of the machine have done meanwhile. delay.go has the threads, machine.go the machine.
package load
