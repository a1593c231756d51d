// Package child runs a command as a child process: it searches PATH as execvp(3) does,
// sends signals, waits and maps the end to a status.
package child

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/process"
)

// Statuses as env(1) and timeout(1) have them.
const (
	StatusTimedOut      = 124
	StatusOwn           = 125
	StatusNotExecutable = 126
	StatusNotFound      = 127
)

// Process is the command as a process.
type Process struct {
	PID  int
	Path string   // of the program that was executed
	Argv []string // as it was executed
	far  Remote   // its parent where that is another process; else nil

	mu     sync.Mutex
	reaped bool // the pid may belong to another process
}

// Remote is the parent of a command that is no child of this process. It passes
// signals on to the command and reports its end.
type Remote interface {
	Signal(sig syscall.Signal)
	SignalGroup(sig syscall.Signal)
	Wait() (syscall.WaitStatus, syscall.Rusage, error)
}

// NewRemote returns the command of a process that another parent has started.
func NewRemote(pid int, argv []string, parent Remote) *Process {
	return &Process{PID: pid, Argv: argv, far: parent}
}

// Start executes argv as execvp(3) would, with the descriptors in files as
// its 0, 1 and 2. All others that this process inherited are left as they are.
func Start(argv, env []string, files [3]int) (*Process, error) {
	// The runtime uses descriptors beyond those given while it starts the
	// process; see that they cannot be inherited ones.
	fill := FillDescriptors()
	defer fill()
	attr := &syscall.ProcAttr{Env: env, Files: []uintptr{uintptr(files[0]), uintptr(files[1]), uintptr(files[2])}}
	c := &Process{}
	err := Search(argv, func(path string, args []string) (err error) {
		c.Path, c.Argv = path, args
		c.PID, _, err = syscall.StartProcess(path, args, attr)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Signal sends sig to the command unless it has ended.
func (c *Process) Signal(sig syscall.Signal) {
	if c.far != nil {
		c.far.Signal(sig)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		unix.Kill(c.PID, sig)
	}
}

// SignalAll sends sig to the command and to the others of its process group, but
// not to this process if it is one of them.
func (c *Process) SignalAll(sig syscall.Signal) {
	if c.far != nil {
		c.far.SignalGroup(sig)
		return
	}
	c.Signal(sig)
	SignalGroup(c.PID, sig)
}

// Alive reports whether the command has not been waited for.
func (c *Process) Alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.reaped
}

// Wait waits for the command's end.
func (c *Process) Wait() (status syscall.WaitStatus, usage syscall.Rusage, err error) {
	if c.far != nil {
		status, usage, err = c.far.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reaped = true
		return status, usage, err
	}
	_, err = WaitID(c.PID, unix.WEXITED|unix.WNOWAIT, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reaped = true
	if err == nil {
		status, err = WaitID(c.PID, unix.WEXITED, &usage)
	}
	return status, usage, err
}

// ExitStatus is the status a shell would show.
func ExitStatus(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}

// SignalGroup sends sig to every process of this process group but this one and
// the command, which had it. Killing the whole group at once would hit us too,
// before the log is complete. Processes forked meanwhile are found again.
func SignalGroup(except int, sig syscall.Signal) {
	self, group := os.Getpid(), unix.Getpgrp()
	done := map[int]bool{self: true, except: true}
	for range 64 {
		again := false
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			pid, err := cli.ParseDigits(e.Name())
			if err != nil || done[int(pid)] {
				continue
			}
			if _, pgrp, ok := process.Stat(int(pid)); ok && pgrp == group {
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
