//go:build linux

package procfs

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Script returns the process that the command acts for: the script. This is the first
// ancestor that has executed a program since it was forked: the subshell of $(...) or ( )
// has not. A command whose parent has ended and that was adopted acts for itself.
func Script() int {
	ppid := os.Getppid()
	if ppid == 0 || adopted(ppid) {
		return os.Getpid()
	}
	script := ppid
	for range 4096 { // bound the walk: the chain may change meanwhile
		next, ok := Parent(script)
		if !ok || next <= 0 || !forkOf(script, next) {
			return script
		}
		script = next
	}
	return ppid
}

// adopted reports whether ppid is not the original parent of this process but init or a
// subreaper. The kernel does not mark subreapers, but the session shows one: a process
// starts in the session of its parent and leaves it only to lead its own.
func adopted(ppid int) bool {
	if ppid == 1 {
		return true
	}
	ours, err := unix.Getsid(0)
	if err != nil || ours == os.Getpid() {
		return false
	}
	theirs, err := unix.Getsid(ppid)
	return err == nil && ours != theirs
}

// forkOf reports whether pid runs the same image as parent: it was forked and has not
// called exec since. The auxiliary vector identifies an image: exec gives each new
// addresses and random bytes.
func forkOf(pid, parent int) bool {
	var a, b unix.Stat_t
	if unix.Stat(File(pid, "exe"), &a) != nil || unix.Stat(File(parent, "exe"), &b) != nil || a.Dev != b.Dev || a.Ino != b.Ino {
		return false
	}
	va, err := Read(pid, "auxv")
	if err != nil || len(va) == 0 {
		return false
	}
	vb, err := Read(parent, "auxv")
	return err == nil && bytes.Equal(va, vb)
}

// Parent returns the parent of a running process.
func Parent(pid int) (int, bool) {
	ppid, _, ok := Stat(pid)
	return ppid, ok
}

// Stat returns the parent and the process group of a running process.
func Stat(pid int) (ppid, pgrp int, ok bool) {
	f := StatFields(pid)
	if len(f) < 18 || ended(f[0], f[17]) {
		return 0, 0, false
	}
	ppid, err1 := strconv.Atoi(f[1])
	pgrp, err2 := strconv.Atoi(f[2])
	return ppid, pgrp, err1 == nil && err2 == nil
}

// StatFields returns the fields of proc_pid_stat(5) of a process or thread from the third on, its
// state. There are none if it does not exist.
func StatFields(pid int) []string {
	stat, err := Read(pid, "stat")
	if err != nil {
		return nil
	}
	// The name in parentheses may contain any character, including parentheses.
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}

// Tracer returns the thread that traces a thread by ptrace(2), or 0. The kernel calls it a process.
func Tracer(tid int) int { return statusField(tid, "TracerPid") }

// Of returns the process of a thread, or 0.
func Of(tid int) int { return statusField(tid, "Tgid") }

// Filters returns how many filters of system calls a thread has, or 0.
func Filters(tid int) int { return statusField(tid, "Seccomp_filters") }

// statusField returns a number in the status file of a thread, or 0.
func statusField(tid int, name string) int {
	status, err := Read(tid, "status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("\n"+name+":\t"))
	line, _, _ := bytes.Cut(rest, []byte{'\n'})
	n, _ := strconv.Atoi(string(line))
	return n
}

// Read reads a small file of a process in /proc. The kernel returns it whole in the first
// read. os.ReadFile takes three times as long, for each event.
func Read(pid int, name string) ([]byte, error) {
	f, err := unix.Open(File(pid, name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(f)
	b := make([]byte, 4096)
	for {
		n, err := unix.Read(f, b)
		if err != unix.EINTR {
			return b[:max(n, 0)], err
		}
	}
}

func File(pid int, name string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + name
}
