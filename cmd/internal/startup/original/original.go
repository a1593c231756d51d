//go:build linux

// Package original has what a process starts with and what is not found later, for the programs
// that it starts in turn: the soft limit of descriptors, which package syscall raises; the signal at
// the death of the parent, which only the first thread has; and the environment with its duplicate
// variables.
//
// Importing it keeps the program from connecting to the stream in $PTRACE_STREAM, which is for those
// that it starts.
//
// It is initialized before package syscall: see "Order of initialization" in package idle.
package original

import (
	"runtime"
	"unsafe"
)

// Limit is a struct rlimit64.
type Limit struct{ Soft, Hard uint64 }

// limitFiles is RLIMIT_NOFILE.
const limitFiles = 7

// getDeathSignal is PR_GET_PDEATHSIG.
const getDeathSignal = 2

// files is the limit of descriptors at the start, zero if it is not known.
var files Limit

var deathSignal int32

// An init function runs on the first thread.
func init() {
	var prlimit64, prctl uintptr // their numbers
	switch runtime.GOARCH {
	case "amd64":
		prlimit64, prctl = 302, 157
	case "arm64", "riscv64":
		prlimit64, prctl = 261, 167
	case "386":
		prlimit64, prctl = 340, 172
	case "arm":
		prlimit64, prctl = 369, 172
	case "ppc64le":
		prlimit64, prctl = 325, 171
	case "s390x":
		prlimit64, prctl = 334, 172
	default:
		return
	}
	rawSyscall6(prlimit64, 0, limitFiles, 0, uintptr(unsafe.Pointer(&files)), 0, 0)
	rawSyscall6(prctl, getDeathSignal, uintptr(unsafe.Pointer(&deathSignal)), 0, 0, 0, 0)
}

// DeathSignal returns the signal that this process gets when its parent ends, or 0.
func DeathSignal() int { return int(deathSignal) }

//go:linkname rawSyscall6 syscall.RawSyscall6
func rawSyscall6(number, a, b, c, d, e, f uintptr) (r1, r2, errno uintptr)

// Files returns the limit of descriptors that this process started with, and whether to set it in
// a program that this process starts: package syscall has raised it, and no other process has
// changed it since. now is the current limit.
func Files(now Limit) (Limit, bool) {
	raised := Limit{files.Hard - 1, files.Hard}
	return files, files.Hard > 0 && files != raised && now == raised
}

// Environ returns the environment that this process started with, as os.Environ does, but with
// all values of a variable that occurs more than once. Some programs use the first value, others
// the last.
//
//go:linkname Environ syscall.runtime_envs
func Environ() []string
