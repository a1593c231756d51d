package tracer

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// program finds out what was executed: its path and arguments as they lie on its
// stack, argument count first.
func (t *tracer) program(tid int, info *syscallInfo) (d posixtrace.ExecData) {
	if info.arch == auditArch {
		if d, ok := t.stackProgram(tid, info.sp); ok {
			return d
		}
	}
	proc := "/proc/" + strconv.Itoa(tid)
	d.Path, _ = os.Readlink(proc + "/exe")
	if b, err := os.ReadFile(proc + "/cmdline"); err == nil && len(b) > 0 {
		d.Argv = strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	}
	return d
}

// Kinds of entries of the auxiliary vector.
const (
	auxEnd      = 0
	auxExecName = 31 // AT_EXECFN
)

// stackProgram reads the stack of a new program on this architecture:
//
//	argc | argv... | 0 | environment... | 0 | kind, value | ... | 0
//
// Of the environment it reads nothing but where it begins and how long it is.
func (t *tracer) stackProgram(tid int, sp uint64) (d posixtrace.ExecData, ok bool) {
	w := words{tid: tid, at: sp}
	argc := w.next()
	first := w.next()
	if argc == 0 || first == 0 || argc > 1<<20 {
		return d, false
	}
	for range argc - 1 {
		w.next()
	}
	if w.next() != 0 {
		return d, false
	}
	// The arguments lie one behind the other, and the environment behind them.
	end := w.next()
	for v := end; v != 0 && w.ok(); {
		v = w.next()
	}
	var name uint64
	for w.ok() {
		kind, value := w.next(), w.next()
		if kind == auxExecName {
			name = value
		}
		if kind == auxEnd || kind == auxExecName {
			break
		}
	}
	if end == 0 {
		end = name
	}
	if name == 0 || end <= first {
		return d, false
	}
	b := t.memory(pathMax)
	path, _, ok := readString(tid, name, b)
	if !ok {
		return d, false
	}
	d.Path = string(path)
	args := make([]byte, min(end-first, uint64(t.cfg.MaxData)+1))
	args = args[:readMemory(tid, first, args)]
	if len(args) == 0 {
		return d, false
	}
	d.Argv = strings.Split(string(bytes.TrimSuffix(args, []byte{0})), "\x00")
	return d, true
}

const pathMax = 4096
