//go:build linux

package tracer

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// program returns the path and the arguments of the program that a thread has executed, from
// the program's stack or else from /proc, and where its environment is, if that is known.
func (t *tracer) program(tid int, info *syscallInfo) (d posixtrace.ExecData, env span) {
	if info.arch == auditArch {
		if d, env, ok := t.stackProgram(tid, info.sp); ok {
			return d, env
		}
	}
	proc := "/proc/" + strconv.Itoa(tid)
	d.Path, _ = os.Readlink(proc + "/exe")
	if b, err := os.ReadFile(proc + "/cmdline"); err == nil && len(b) > 0 {
		d.Argv = strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	}
	return d, span{}
}

// Types of entries of the auxiliary vector.
const (
	auxEnd      = 0
	auxExecName = 31 // AT_EXECFN
)

// stackProgram reads the initial stack of a program of this architecture:
//
//	argc | argv... | 0 | environment... | 0 | type, value | ... | 0
//
// Of the environment it reads only the pointers. Its strings follow those of the arguments, and are followed by
// the name of the program.
func (t *tracer) stackProgram(tid int, sp uint64) (d posixtrace.ExecData, env span, ok bool) {
	w := wordReader{tid: tid, at: sp}
	argc := w.next()
	first := w.next()
	if argc == 0 || first == 0 || argc > 1<<20 {
		return d, env, false
	}
	for range argc - 1 {
		w.next()
	}
	if w.next() != 0 {
		return d, env, false
	}
	// The strings of the arguments are contiguous, and those of the environment follow.
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
		return d, env, false
	}
	b := t.memory(pathMax)
	path, _, ok := readString(tid, name, b)
	if !ok {
		return d, env, false
	}
	d.Path = string(path)
	args := make([]byte, min(end-first, uint64(t.cfg.MaxData)+1))
	args = args[:readMemory(tid, first, args)]
	if len(args) == 0 {
		return d, env, false
	}
	d.Argv = strings.Split(string(bytes.TrimSuffix(args, []byte{0})), "\x00")
	return d, span{end, max(end, name)}, true
}

const pathMax = 4096
