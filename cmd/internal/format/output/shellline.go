package output

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// AppendShellLine appends how a program was executed as a line that can be pasted into sh, bash or zsh, with some
// variables of its environment. A terminal acts on nothing in it.
func AppendShellLine(b []byte, d *posixtrace.ExecData, v Variables) []byte {
	var line []byte
	if d.Dir != "" {
		line = append(escape.AppendWord(append(line, "cd "...), d.Dir), " && "...)
	}
	line = v.append(line)
	program, args := programOf(d)
	line = escape.AppendWord(line, program)
	for _, a := range args {
		line = escape.AppendWord(append(line, ' '), a)
	}
	for fd, text := range [...]string{d.Stdin, d.Stdout, d.Stderr} {
		line = appendRedirection(line, fd, text)
	}
	return escape.AppendPasted(b, line)
}

// maxVariables and maxVariableBytes bound the variables of a program.
const (
	maxVariables     = 1 << 9
	maxVariableBytes = 1 << 16
)

// Variables are those that differ from the ones of the first program. They are shared, and do not change.
type Variables map[string]variable

type variable struct {
	value string
	unset bool
}

// Changed returns the variables of a program that was executed.
func (v Variables) Changed(d *posixtrace.ExecData) Variables {
	if len(d.Environment)+len(d.Unset) == 0 {
		return v
	}
	n := maps.Clone(v)
	if n == nil {
		n = Variables{}
	}
	size := 0
	for name, to := range n {
		size += len(name) + len(to.value)
	}
	set := func(name string, to variable) {
		if size += len(name) + len(to.value); len(n) < maxVariables && size <= maxVariableBytes {
			n[name] = to
		}
	}
	for _, name := range d.Unset {
		if delete(n, name); isIdentifier(name) && !ofShell(name) {
			set(name, variable{unset: true})
		}
	}
	for _, text := range d.Environment {
		name, value, known := strings.Cut(text, "=")
		// A secret that was replaced is none that a command could be repeated with.
		if delete(n, name); known && name != "" && !ofShell(name) && !strings.Contains(value, redact.Mark) {
			set(name, variable{value: value})
		}
	}
	return n
}

// ofShell reports whether shells set a variable themselves, or it is one of ours.
func ofShell(name string) bool {
	switch name {
	case "PWD", "OLDPWD", "SHLVL", "_", "PTRACE_STREAM", "PTRACE_SPOOL":
		return true
	}
	return false
}

func isIdentifier(name string) bool {
	for i, c := range []byte(name) {
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '_' && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// append appends the variables before a command. A shell gives some names another meaning, as zsh path: env(1)
// sets these.
func (v Variables) append(b []byte) []byte {
	names := slices.Sorted(maps.Keys(v))
	byEnv := slices.ContainsFunc(names, func(name string) bool { return v[name].unset || !assignable(name) })
	if byEnv {
		b = append(b, "env "...)
		for _, name := range names {
			if v[name].unset {
				b = append(escape.AppendWord(append(b, "-u "...), name), ' ')
			}
		}
	}
	for _, name := range names {
		switch to := v[name]; {
		case to.unset:
		case byEnv:
			b = append(escape.AppendWord(b, name+"="+to.value), ' ')
		default:
			b = append(escape.AppendWord(append(append(b, name...), '='), to.value), ' ')
		}
	}
	return b
}

// assignable reports whether each shell takes NAME=VALUE before a command for no more than a variable of it.
func assignable(name string) bool {
	if !isIdentifier(name) || strings.ToUpper(name) != name {
		return false
	}
	switch name {
	case "UID", "EUID", "GID", "EGID", "PPID", "USERNAME", "BASHOPTS", "SHELLOPTS", "BASH_VERSINFO", "RANDOM", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME",
		"SRANDOM", "LINENO", "IFS", "PATH", "MANPATH", "FPATH", "CDPATH", "MAILPATH", "FIGNORE", "WATCH", "PSVAR", "ZSH_EVAL_CONTEXT", "TTY", "TTYIDLE", "ERRNO", "ENV":
		return false
	}
	return true
}

// programOf returns the word and the arguments that execute the same program. The word has a slash, so that it is
// no function, builtin or reserved word, and not searched for. The kernel executes a script by its interpreter,
// which is the first argument.
func programOf(d *posixtrace.ExecData) (program string, args []string) {
	program = d.Path
	if len(d.Argv) > 0 {
		first := d.Argv[0]
		args = d.Argv[1:]
		if d.Path == "" { // the kernel hides it
			return first, args
		}
		if strings.Contains(first, "/") && slices.Contains(args[:min(len(args), 2)], d.Path) {
			program = first
		}
	}
	if !strings.HasPrefix(program, "/") && !strings.HasPrefix(program, "./") && !strings.HasPrefix(program, "../") {
		program = "./" + program // so that x=y/z is no assignment, either
	}
	return program, args
}

// appendRedirection appends the redirection of a descriptor, if a shell can do it: what the kernel names has no
// path if it is a pipe or a socket. A terminal is left out, too: the command is to use the one that it is pasted
// into.
func appendRedirection(b []byte, fd int, text string) []byte {
	at := strings.IndexFunc(text, func(r rune) bool { return r != '<' && r != '>' })
	if at <= 0 {
		return b
	}
	operator, file := text[:at], text[at:]
	switch {
	case file[0] == '&':
	case file[0] != '/', strings.HasSuffix(file, " (deleted)"), strings.HasPrefix(file, "/memfd:"), isTerminal(file):
		return b
	}
	b = append(b, ' ')
	if fd == 2 || (operator[0] == '<') != (fd == 0) {
		b = strconv.AppendInt(b, int64(fd), 10)
	}
	b = append(b, operator...)
	if file[0] == '&' {
		return append(b, file...)
	}
	return escape.AppendWord(b, file)
}

func isTerminal(file string) bool {
	dir, name := path.Split(file)
	return dir == "/dev/pts/" || dir == "/dev/" && (strings.HasPrefix(name, "tty") || name == "console")
}
