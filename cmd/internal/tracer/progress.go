package tracer

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Progress is a system call that a thread is in.
type Progress struct {
	Number int
	Name   string                  // without the prefix of its event type
	Args   []posixtrace.SyscallArg // those known when the call begins
	More   bool                    // the call has more arguments
}

// InProgress returns the system call that a thread sleeps in, from /proc, without stopping it.
// ok is false if the thread does not sleep in a call (it may wait for its tracer at the entry of one),
// or this process may not see it, or the program is of another architecture.
func InProgress(pid, tid int) (p Progress, ok bool) {
	if state, _, ok := statOf(tid); !ok || state != 'S' && state != 'D' {
		return p, false
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(tid) + "/syscall")
	f := strings.Fields(string(b))
	if err != nil || len(f) < 7 {
		return p, false
	}
	nr, err := strconv.Atoi(f[0])
	if err != nil || nr < 0 || nr >= len(names) || names[nr] == "" || machineOf(pid) != ownMachine() {
		return p, false
	}
	k := &task{tid: tid, pid: pid}
	k.call.nr = nr
	for i := range k.call.raw {
		if k.call.raw[i], err = strconv.ParseUint(f[1+i], 0, 64); err != nil {
			return p, false
		}
	}
	t := &tracer{cfg: Config{MaxData: pathMax}}
	t.decodeEntry(k)
	return Progress{Number: nr, Name: names[nr], Args: k.call.args, More: len(k.call.args) < len(spec(nr))}, true
}

// machine is the class and the architecture in the header of an ELF file.
type machine [3]byte

func machineOf(pid int) (m machine) {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil {
		return m
	}
	defer f.Close()
	var header [20]byte
	if n, _ := f.Read(header[:]); n == len(header) {
		m = machine{header[4], header[18], header[19]}
	}
	return m
}

var ownMachine = sync.OnceValue(func() machine { return machineOf(os.Getpid()) })
