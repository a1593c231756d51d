//go:build linux

package tracer

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// How a program is executed: what proc.exec has behind the arguments.

// setting is what a process had when it executed its program. That of the programs which it executes is
// compared with it. The processes that it forks share it.
type setting struct {
	tasks   int // that have it
	files   [3]string
	known   bool              // environ is
	environ string            // each string ends with a NUL
	values  map[string]string // of its variables, nil before they are needed
}

// Bounds of what is kept of environments, whose sizes the processes control: of one, and of all that differ.
const (
	maxSetting   = 64 << 10
	maxVariables = 1 << 11
	maxSettings  = 32 << 20
)

// span is a part of the memory of a process.
type span struct{ from, to uint64 }

// describe adds to the data of an exec how the thread executed the program, whose environment lies at env.
func (t *tracer) describe(k *task, d *posixtrace.ExecData, env span, command bool) {
	before := k.setting
	if command {
		before = nil
	}
	now := setting{}
	var err error
	if d.Dir, err = t.linkText(procfs.File(k.tid, "cwd")); err != nil {
		d.Incomplete = true
	}
	switch {
	case !t.cfg.Want.Paths: // three links in /proc take longer than all else here
	case t.readFiles(k.tid, &now):
		t.redirections(k.tid, d, before, &now)
	default:
		d.Incomplete = true
		if before != nil {
			now.files = before.files
		}
	}
	environ, whole := t.environment(k.tid, env)
	same := before != nil && before.known && whole && before.environ == string(environ)
	if same && before.files == now.files {
		return
	}
	switch {
	case same:
		now.known, now.environ, now.values = true, before.environ, before.values
	case whole && bytes.Count(environ, nul) <= maxVariables && t.settings+len(environ) <= maxSettings:
		now.known, now.environ = true, string(environ)
		if before != nil && before.known {
			t.differences(d, before, now.environ)
		}
		d.Incomplete = d.Incomplete || !command && (before == nil || !before.known)
	default:
		d.Incomplete = true
	}
	t.leaveSetting(k)
	now.tasks = 1
	t.settings += len(now.environ)
	k.setting = &now
}

var nul = []byte{0}

// readFiles reads what the standard descriptors of a process refer to. It reports false if the kernel refuses that,
// as for a program that the user may execute and not read.
func (t *tracer) readFiles(tid int, s *setting) bool {
	for fd := range s.files {
		var err error
		if s.files[fd], err = t.linkText(procFD(tid, fd)); err != nil && err != unix.ENOENT {
			return false
		}
	}
	return true
}

// redirections adds what the standard descriptors refer to, where that differs from before.
func (t *tracer) redirections(tid int, d *posixtrace.ExecData, before, now *setting) {
	for fd, text := range [...]*string{&d.Stdin, &d.Stdout, &d.Stderr} {
		file := now.files[fd]
		other := 3 - fd
		switch {
		case before != nil && before.files[fd] == file:
		case file == "" && fd == 0:
			*text = "<&-"
		case file == "":
			*text = ">&-"
		case fd > 0 && now.files[other] == file && (fd == 2 || before != nil && before.files[other] == file) && sameDescription(tid, fd, other):
			*text = ">&" + strconv.Itoa(other)
		default:
			*text = operator(tid, fd) + file
		}
	}
}

// operator returns the operator with which a shell would open the file of a descriptor.
func operator(tid, fd int) string {
	b := make([]byte, 256)
	f, err := unix.Open("/proc/"+strconv.Itoa(tid)+"/fdinfo/"+strconv.Itoa(fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		n, _ := unix.Read(f, b)
		unix.Close(f)
		_, rest, _ := bytes.Cut(b[:max(n, 0)], []byte("flags:\t"))
		rest, _, _ = bytes.Cut(rest, []byte{'\n'})
		if flags, err := strconv.ParseUint(string(rest), 8, 32); err == nil {
			switch {
			case flags&unix.O_ACCMODE == unix.O_RDONLY:
				return "<"
			case flags&unix.O_APPEND != 0:
				return ">>"
			case flags&unix.O_ACCMODE == unix.O_RDWR:
				return "<>"
			}
			return ">"
		}
	}
	if fd == 0 {
		return "<"
	}
	return ">"
}

// sameDescription reports whether two descriptors of a process that refer to the same file also share its open
// file description, or that is unknown.
func sameDescription(tid, a, b int) bool {
	const kcmpFile = 0
	n, _, no := unix.RawSyscall6(unix.SYS_KCMP, uintptr(tid), uintptr(tid), kcmpFile, uintptr(a), uintptr(b), 0)
	return no != 0 || n == 0
}

// environment returns the environment of a program that has just been executed, and whether that is all of it.
func (t *tracer) environment(tid int, at span) (environ []byte, whole bool) {
	if cap(t.environ) == 0 {
		t.environ = make([]byte, maxSetting)
	}
	b := t.environ[:maxSetting]
	if at.to > at.from {
		n := at.to - at.from
		if n > maxSetting || readMemory(tid, at.from, b[:n]) != int(n) {
			return nil, false
		}
		return b[:n], true
	}
	if at.to != 0 {
		return nil, true
	}
	f, err := unix.Open("/proc/"+strconv.Itoa(tid)+"/environ", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, false
	}
	defer unix.Close(f)
	n := 0
	for n < maxSetting {
		m, err := unix.Read(f, b[n:])
		if err != nil {
			return nil, false
		}
		if m == 0 {
			return b[:n], true
		}
		n += m
	}
	return nil, false
}

// differences adds how an environment differs from the one before.
func (t *tracer) differences(d *posixtrace.ExecData, before *setting, environ string) {
	if before.values == nil {
		before.values = make(map[string]string)
		for v := range strings.SplitSeq(before.environ, "\x00") {
			if name, value, ok := strings.Cut(v, "="); ok {
				before.values[name] = value
			}
		}
	}
	found := 0
	for v := range strings.SplitSeq(environ, "\x00") {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			continue
		}
		old, had := before.values[name]
		if had {
			found++
		}
		if had && old == value || ignored(name) {
			continue
		}
		if t.cfg.Want.Environment {
			d.Environment = append(d.Environment, redact.Variable(v))
		} else {
			d.Environment = append(d.Environment, name)
		}
	}
	if found >= len(before.values) {
		return
	}
	has := make(map[string]bool)
	for v := range strings.SplitSeq(environ, "\x00") {
		name, _, _ := strings.Cut(v, "=")
		has[name] = true
	}
	for name := range before.values {
		if !has[name] && !ignored(name) {
			d.Unset = append(d.Unset, name)
		}
	}
	slices.Sort(d.Unset)
}

// ignored reports whether a variable says nothing of what the program does: shells set "_" to the path of each
// program, and make names the target in ours.
func ignored(name string) bool { return name == "_" || name == MakeVariable }

// findSetting gives a thread of a process that executed its program before it was traced the setting that the
// process has now. At a fork it would be too late: a shell may redirect its own descriptors for a command.
func (t *tracer) findSetting(k *task) {
	if leader := t.tasks[k.pid]; leader != nil && leader.setting != nil {
		t.shareSetting(leader, k)
		return
	}
	s := &setting{tasks: 1}
	if t.cfg.Want.Paths {
		t.readFiles(k.tid, s)
	}
	environ, whole := t.environment(k.tid, span{})
	if whole && bytes.Count(environ, nul) <= maxVariables && t.settings+len(environ) <= maxSettings {
		s.known, s.environ = true, string(environ)
		t.settings += len(s.environ)
	}
	k.setting = s
}

// shareSetting gives a new thread or process the setting of its creator.
func (t *tracer) shareSetting(k, child *task) {
	if k.setting != nil && child.setting == nil {
		child.setting = k.setting
		k.setting.tasks++
	}
}

// leaveSetting forgets the setting of a thread.
func (t *tracer) leaveSetting(k *task) {
	s := k.setting
	if s == nil {
		return
	}
	k.setting = nil
	if s.tasks--; s.tasks == 0 {
		t.settings -= len(s.environ)
	}
}

// Fit drops from the data of an exec what has no room, so that the arguments and the directory stay.
func Fit(d *posixtrace.ExecData, most int) {
	size := 4 + len(d.Path) + 1 + len("c\x00")
	for _, a := range d.Argv {
		size += len(a) + 1
	}
	room := most - size
	keep := func(text *string) {
		if *text == "" {
			return
		}
		if room -= len(*text) + 2; room < 0 {
			*text, d.Incomplete = "", true
		}
	}
	for _, text := range [...]*string{&d.Dir, &d.Stdin, &d.Stdout, &d.Stderr} {
		keep(text)
	}
	for _, list := range [...]*[]string{&d.Unset, &d.Environment} {
		for i, v := range *list {
			if room -= len(v) + 2; room < 0 {
				*list, d.Incomplete = (*list)[:i], true
				break
			}
		}
	}
	if size-len("c\x00") > most {
		d.Incomplete = false // the record says that it is truncated
	}
}
