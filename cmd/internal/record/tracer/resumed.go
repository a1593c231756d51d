//go:build linux

package tracer

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// The kernel continues a few calls that a signal or a tracer has interrupted, those in resumable, by
// restart_syscall(2). Its number replaces that of the call. The arguments and the address of
// the instruction stay those of the call.

// resumes returns the number of the call that a thread at the entry of restart_syscall(2) continues, or
// 0 if that is unknown.
func (k *task) resumes(info *syscallInfo) int {
	c := &k.call
	last := c.nr
	if last == unix.SYS_RESTART_SYSCALL {
		last = c.resumed
	}
	switch {
	case k.broken != 0 && k.broken != unix.SYS_RESTART_SYSCALL:
		return k.broken
	case slices.Contains(resumable, last) && c.ip == info.ip && c.raw == info.args():
		return last
	}
	return madeAt(k.tid, info.ip)
}

// madeAt returns the number of the resumable call that the code before address ip makes: an
// instruction that loads the number, and the one that enters the kernel. It returns 0 for other code,
// such as a function that makes any call.
func madeAt(tid int, ip uint64) int {
	var code [codeSize]byte
	if ip < codeSize || readMemory(tid, ip-codeSize, code[:]) != codeSize {
		return 0
	}
	if nr := callIn(code[:]); slices.Contains(resumable, nr) {
		return nr
	}
	return 0
}

// codeSize is the length of the code that callIn looks at.
const codeSize = 9

// Resumed returns the number of the call that a thread, which may not be traced, continues by call nr
// at address ip. That is nr if it does not continue one, or if the other call is unknown. wait is the
// kernel's function that the thread sleeps in.
func Resumed(tid, nr int, ip uint64, wait string) int {
	if nr != unix.SYS_RESTART_SYSCALL || !ownCalls(tid) {
		return nr
	}
	if called := madeAt(tid, ip); called != 0 {
		return called
	}
	if called, _, ok := shown(tid); ok {
		return called
	}
	for _, called := range resumable {
		// The function that sleeps does not tell nanosleep(2) from clock_nanosleep(2).
		if called != unix.SYS_NANOSLEEP && called != unix.SYS_CLOCK_NANOSLEEP && strings.Contains(wait, names[called]) {
			return called
		}
	}
	return nr
}
