package process

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Script returns the process that the command acts for: the script. It is the
// parent, or the first of its ancestors that is not a fork of the next one which
// never exec'ed, as the subshell of $(...) or ( ) is. A command that has lost its
// parent and was adopted acts for itself.
func Script() int {
	ppid := os.Getppid()
	if ppid == 0 || adopted(ppid) {
		return os.Getpid()
	}
	script := ppid
	for range 4096 { // a chain that changes while it is walked may not keep us
		next, ok := Parent(script)
		if !ok || next <= 0 || !forkOf(script, next) {
			return script
		}
		script = next
	}
	return ppid
}

// adopted reports whether ppid is not the parent this process was born to but
// init or a subreaper. A subreaper cannot be asked; it shows by its session: a
// process is born into its parent's and leaves it only to lead one of its own.
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

// forkOf reports whether pid runs the very image that parent runs: it was forked
// and has not exec'ed since. The auxiliary vector tells images apart: exec places
// each anew and gives it other random bytes.
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

// Parent returns the parent of a process.
func Parent(pid int) (int, bool) {
	ppid, _, ok := Stat(pid)
	return ppid, ok
}

// Stat returns the parent and the process group of a process that is not a
// zombie.
func Stat(pid int) (ppid, pgrp int, ok bool) {
	stat, err := Read(pid, "stat")
	if err != nil {
		return 0, 0, false
	}
	// The name in parentheses may hold anything, parentheses too.
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) < 18 || ended(string(f[0]), string(f[17])) {
		return 0, 0, false
	}
	ppid, err1 := strconv.Atoi(string(f[1]))
	pgrp, err2 := strconv.Atoi(string(f[2]))
	return ppid, pgrp, err1 == nil && err2 == nil
}

// Read reads one of the small files of a process. The kernel makes each whole in
// the first read; os.ReadFile would take three times as long, for every event.
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
