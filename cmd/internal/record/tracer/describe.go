//go:build linux

package tracer

import (
	"os"
	"sync"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Describe returns the name and the arguments of a system call that a thread, which may not be
// traced, is in. The name is "" if the call is unknown. What the call returns is not known yet.
// The arguments are read from the memory of the process, which may change meanwhile; if it cannot
// be read, they are numbers.
func Describe(tid, nr int, args [6]uint64) (name string, list []posixtrace.SyscallArg) {
	t, k := described(tid, nr, args, Want{Paths: true})
	t.decodeReturn(k, nil)
	return nameOf(k), k.call.args
}

// DescribeEntry describes the arguments that a call has when it begins: those that a tracer
// records first. more reports whether the call has others.
func DescribeEntry(tid, nr int, args [6]uint64) (name string, list []posixtrace.SyscallArg, more bool) {
	_, k := described(tid, nr, args, Want{})
	if name = nameOf(k); name == "" {
		return "", nil, false
	}
	return name, k.call.args, len(k.call.args) < len(spec(nr))
}

// described decodes the arguments of a call at its entry.
func described(tid, nr int, args [6]uint64, want Want) (*tracer, *task) {
	t := &tracer{cfg: Config{MaxData: describedMax, Want: want}, looks: true}
	k := &task{tid: tid, call: call{nr: nr, raw: args}}
	if !ownCalls(tid) {
		k.call.nr = -1 // a program of another architecture, whose system calls have other numbers
	}
	t.decodeEntry(k)
	return t, k
}

func nameOf(k *task) string {
	if n := k.call.nr; n >= 0 && n < len(names) {
		return names[n]
	}
	return ""
}

// describedMax bounds the length of a string that Describe shows.
const describedMax = 4096

// wordSizeOf returns the size of a word of the program that a thread executes, 0 if it is unknown. The
// auxiliary vector shows it. The file of the program would, too, but the file system that it is on may not
// answer, and then the caller would wait for it as well.
func wordSizeOf(tid int) int {
	const (
		entrySize = 4 // AT_PHENT: the size of an entry of the program header
		of64      = 56
		of32      = 32
	)
	b, err := procfs.Read(tid, "auxv")
	if err != nil {
		return 0
	}
	for v := b; len(v) >= 16; v = v[16:] {
		if nativeWord(v) == entrySize && nativeWord(v[8:]) == of64 {
			return 8
		}
	}
	for v := b; len(v) >= 8; v = v[8:] {
		if nativeUint32(v) == entrySize && nativeUint32(v[4:]) == of32 {
			return 4
		}
	}
	return 0
}

// ownCalls reports whether the system calls of a thread have the numbers that those of this program have.
func ownCalls(tid int) bool { return wordSizeOf(tid) == ownWordSize() }

var ownWordSize = sync.OnceValue(func() int { return wordSizeOf(os.Getpid()) })
