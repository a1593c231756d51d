package command

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Statuses as env(1) and timeout(1) have them.
const (
	statusTimedOut = 124
	statusOwn      = 125
	statusNotExec  = 126
	statusNotFound = 127
)

// child is the command as a process.
type child struct {
	pid  int
	path string   // of the program that was executed
	argv []string // as it was executed
	far  remote   // its parent where that is another process; else nil

	mu     sync.Mutex
	reaped bool // its pid may be somebody else's now
}

// remote is the parent of a command that is no child of this process. It passes
// signals on to the command and reports its end.
type remote interface {
	signal(sig syscall.Signal)
	signalGroup(sig syscall.Signal)
	wait() (syscall.WaitStatus, syscall.Rusage, error)
}

// remoteChild returns the command of a process that another parent has started.
func remoteChild(pid int, argv []string, parent remote) *child {
	return &child{pid: pid, argv: argv, far: parent}
}

// startChild executes argv as execvp(3) would, with the descriptors in files as
// its 0, 1 and 2. All others that this process inherited are left as they are.
func startChild(argv, env []string, files [3]int) (*child, error) {
	// The runtime uses descriptors beyond those given while it starts the
	// process; see that they cannot be inherited ones.
	fill := fillDescriptors()
	defer fill()
	attr := &syscall.ProcAttr{Env: env, Files: []uintptr{uintptr(files[0]), uintptr(files[1]), uintptr(files[2])}}
	c := &child{}
	err := search(argv, func(path string, args []string) (err error) {
		c.path, c.argv = path, args
		c.pid, _, err = syscall.StartProcess(path, args, attr)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// signal sends sig to the command unless it has ended.
func (c *child) signal(sig syscall.Signal) {
	if c.far != nil {
		c.far.signal(sig)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		unix.Kill(c.pid, sig)
	}
}

// signalAll sends sig to the command and to the others of its process group, but
// not to this process if it is one of them.
func (c *child) signalAll(sig syscall.Signal) {
	if c.far != nil {
		c.far.signalGroup(sig)
		return
	}
	c.signal(sig)
	signalGroup(c.pid, sig)
}

// alive reports whether the command has not been waited for.
func (c *child) alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.reaped
}

// wait waits for the command's end.
func (c *child) wait() (status syscall.WaitStatus, usage syscall.Rusage, err error) {
	if c.far != nil {
		status, usage, err = c.far.wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reaped = true
		return status, usage, err
	}
	_, err = waitFor(c.pid, unix.WEXITED|unix.WNOWAIT, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reaped = true
	if err == nil {
		status, err = waitFor(c.pid, unix.WEXITED, &usage)
	}
	return status, usage, err
}

// exitStatus is the status a shell would show.
func exitStatus(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}

// signalGroup sends sig to every process of this process group but this one and
// the command, which had it. Killing the whole group at once would hit us too,
// before the log is complete. Processes forked meanwhile are found again.
func signalGroup(except int, sig syscall.Signal) {
	self, group := os.Getpid(), unix.Getpgrp()
	done := map[int]bool{self: true, except: true}
	for range 64 {
		again := false
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			pid, err := parseDigits(e.Name())
			if err != nil || done[int(pid)] {
				continue
			}
			if _, pgrp, ok := procStat(int(pid)); ok && pgrp == group {
				done[int(pid)] = true
				again = true
				unix.Kill(int(pid), sig)
			}
		}
		if !again {
			return
		}
	}
}
