//go:build linux

// How long threads have waited for a processor, and what the processors of the machine have done
// meanwhile. delay.go has the threads, machine.go the machine.

package procfs
