//go:build linux

package tracer

import (
	"os"
	"strconv"
	"sync"

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
	t := &tracer{cfg: Config{MaxData: describedMax, Want: want}}
	k := &task{tid: tid, call: call{nr: nr, raw: args}}
	if machineOf(tid) != ownMachine() {
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

// machine is the class and the architecture in the header of an ELF file.
type machine [3]byte

func machineOf(tid int) (m machine) {
	f, err := os.Open("/proc/" + strconv.Itoa(tid) + "/exe")
	if err != nil {
		return m
	}
	defer f.Close()
	var header [20]byte
	if n, _ := f.ReadAt(header[:], 0); n == len(header) {
		m = machine{header[4], header[18], header[19]}
	}
	return m
}

var ownMachine = sync.OnceValue(func() machine { return machineOf(os.Getpid()) })
