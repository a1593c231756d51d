// Package child runs a command: it searches PATH as execvp(3) does, starts the command,
// sends it signals, waits for it, and returns its exit status as a shell does.
package child

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/process"
)

// Exit statuses of env(1) and timeout(1).
const (
	StatusTimedOut      = 124
	StatusOwn           = 125
	StatusNotExecutable = 126
	StatusNotFound      = 127
)

// Process is a running command.
type Process struct {
	PID  int
	Path string   // of the executed program
	Argv []string // as executed
	far  Remote   // the parent, if it is another process; else nil

	mu     sync.Mutex
	reaped bool // the pid may belong to another process
}

// Remote is the parent of a command that this process did not start. It forwards signals to
// the command and reports its end.
type Remote interface {
	Signal(sig syscall.Signal)
	SignalGroup(sig syscall.Signal)
	Wait() (syscall.WaitStatus, syscall.Rusage, error)
}

// NewRemote returns a command that another process has started.
func NewRemote(pid int, argv []string, parent Remote) *Process {
	return &Process{PID: pid, Argv: argv, far: parent}
}

// Start executes argv as execvp(3) does, with files as its descriptors 0, 1 and 2. It
// leaves all other descriptors that this process inherited as they are.
func Start(argv, env []string, files [3]int) (*Process, error) {
	// While it starts the process, the runtime uses descriptors above the given ones. Keep
	// it from using inherited ones.
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

// SignalAll sends sig to the command and all other members of its process group except this
// process.
func (c *Process) SignalAll(sig syscall.Signal) {
	if c.far != nil {
		c.far.SignalGroup(sig)
		return
	}
	c.Signal(sig)
	SignalGroup(c.PID, sig)
}

// Alive reports whether Wait has not returned yet.
func (c *Process) Alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.reaped
}

// Wait waits for the end of the command.
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

// ExitStatus returns the exit status that a shell reports.
func ExitStatus(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}

// SignalGroup sends sig to all members of this process group except this process and the
// command, which has its signal. A kill(2) of the whole group would hit this process before
// the log is complete. SignalGroup scans again for processes forked meanwhile.
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
