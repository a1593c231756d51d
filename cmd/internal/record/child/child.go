// Package child runs a command: it searches PATH as execvp(3) does, starts the command,
// sends it signals, waits for it, and returns its exit status as a shell does.
package child

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
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
	Wait() (syscall.WaitStatus, Usage, error)
}

// NewRemote returns a command that another process has started.
func NewRemote(pid int, argv []string, parent Remote) *Process {
	return &Process{PID: pid, Argv: argv, far: parent}
}

// Attr is how a program starts.
type Attr struct {
	Env     []string
	Files   [3]int // the program's descriptors 0, 1 and 2
	Session bool   // the program leads a session, with the terminal of descriptor 1
	Group   bool   // the program leads a process group
	Entry   *Entry // to its tracer, or nil
}

// Start executes argv as execvp(3) does. The command finds all as if the parent of this process had
// executed it, but for attr; it has all other descriptors that this process inherited.
func Start(argv []string, attr *Attr) (*Process, error) {
	l, err := newLaunch(attr)
	if err != nil {
		return nil, unexecuted(argv[0], err)
	}
	defer l.out.free()
	found, err := l.find(argv)
	if err != nil {
		return nil, err
	}
	pid, err := l.run()
	if err != nil {
		return nil, unexecuted(argv[0], err)
	}
	c := &Process{PID: pid, Path: found[l.out.tried], Argv: argv}
	if l.out.script {
		c.Path, c.Argv = shellPath, scriptArgv(c.Path, argv)
	}
	return c, nil
}

// find sets the attempts to execute argv, and returns their paths.
func (l *launch) find(argv []string) (found []string, err error) {
	args, err := pointers(argv)
	if err != nil {
		return nil, unexecuted(argv[0], err)
	}
	for _, path := range candidates(argv[0]) {
		if no := executable(path); no != 0 {
			l.out.problem = worse(l.out.problem, no)
			continue
		}
		script, err := pointers(scriptArgv(path, argv))
		if err != nil {
			return nil, unexecuted(argv[0], err)
		}
		found = append(found, path)
		l.attempts = append(l.attempts, attempt{path: script[1], argv: args, script: script})
	}
	if found == nil {
		return nil, unexecuted(argv[0], l.out.problem)
	}
	return found, nil
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

// Wait waits for the end of the command. No other wait for a child of this process may then need
// its status: Wait takes that of each child that ends before the command.
func (c *Process) Wait() (status syscall.WaitStatus, usage Usage, err error) {
	if c.far != nil {
		go reapAll() // the command is no child
		status, usage, err = c.far.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reaped = true
		return status, usage, err
	}
	err = waitOthers(c.PID)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reaped = true
	if err == nil {
		status, err = Reap(c.PID, unix.WEXITED, &usage)
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
			if _, pgrp, ok := procfs.Stat(int(pid)); ok && pgrp == group {
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
