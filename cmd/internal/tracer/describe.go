package tracer

import (
	"debug/elf"
	"os"
	"strconv"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Describe returns the name and the arguments of a system call that a thread, which may not be
// traced, is in. The name is "" if the call is unknown. What the call returns is not known yet.
// The arguments are read from the memory of the process, which may change meanwhile; if it cannot
// be read, they are numbers.
func Describe(tid, nr int, args [6]uint64) (name string, list []posixtrace.SyscallArg) {
	t := &tracer{cfg: Config{MaxData: describedMax, Want: Want{Paths: true}}}
	k := &task{tid: tid, call: call{nr: nr, raw: args}}
	if foreign(tid) {
		k.call.nr = -1
	}
	t.decodeEntry(k)
	t.decodeReturn(k, nil)
	if n := k.call.nr; n >= 0 && n < len(names) {
		name = names[n]
	}
	return name, k.call.args
}

// describedMax bounds the length of a string that Describe shows.
const describedMax = 4096

// foreign reports whether a thread runs a program of another architecture, such as a 32-bit one,
// whose system calls have other numbers.
func foreign(tid int) bool {
	f, err := os.Open("/proc/" + strconv.Itoa(tid) + "/exe")
	if err != nil {
		return false
	}
	defer f.Close()
	var head [elf.EI_NIDENT]byte
	n, _ := f.ReadAt(head[:], 0)
	return n == len(head) && elf.Class(head[elf.EI_CLASS]) == elf.ELFCLASS32
}
