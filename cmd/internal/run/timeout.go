package run

import (
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/child"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// timeLimit ends a command after some time, as timeout(1) does. ptrace-run and the command
// then have a process group of their own, so that signals reach the command's children too.
type timeLimit struct {
	limit     time.Duration // 0: none
	killAfter time.Duration // 0: never
	signal    syscall.Signal

	sending sync.Mutex // held while a signal is sent to the group

	mu       sync.Mutex
	child    *child.Process
	timer    *time.Timer
	timedOut bool
}

// enabled reports whether there is a limit at all.
func (t *timeLimit) enabled() bool { return t.limit > 0 }

// start starts the timer.
func (t *timeLimit) start(c *child.Process) {
	t.child = c
	if t.enabled() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.timer = time.AfterFunc(t.limit, func() { t.expire(t.signal) })
	}
}

// stop stops the timer, after a signal that is being sent has reached the whole group.
func (t *timeLimit) stop() {
	t.sending.Lock()
	defer t.sending.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
	}
}

func (t *timeLimit) expire(sig syscall.Signal) {
	t.sending.Lock()
	defer t.sending.Unlock()
	if !t.child.Alive() {
		return
	}
	t.mu.Lock()
	t.timedOut = true
	t.mu.Unlock()
	t.sendAll(sig)
	t.killLater() // whatever the signal is: the command may ignore it
}

// send sends a signal to the command, and with a time limit to the whole group.
// The command is killed if it has not ended killAfter after a signal that asks it to.
func (t *timeLimit) send(sig syscall.Signal) {
	t.sending.Lock()
	defer t.sending.Unlock()
	t.sendAll(sig)
}

func (t *timeLimit) sendAll(sig syscall.Signal) {
	if !t.enabled() {
		t.child.Signal(sig)
		return
	}
	t.child.SignalAll(sig)
	switch sig {
	case unix.SIGTSTP, unix.SIGWINCH, unix.SIGKILL, unix.SIGCONT:
		return
	}
	t.killLater()
	// A stopped process could not react to the signal.
	t.child.SignalAll(unix.SIGCONT)
}

// killLater kills the command killAfter later, if it has not ended by then. A second call does
// nothing.
func (t *timeLimit) killLater() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.killAfter > 0 {
		t.timer.Stop()
		t.timer = time.AfterFunc(t.killAfter, func() { t.expire(unix.SIGKILL) })
		t.killAfter = 0
	}
}

// parseSignal parses a signal by name, with or without SIG, or by number.
func parseSignal(s string) (syscall.Signal, error) {
	if n, err := cli.ParseDigits(s); err == nil {
		if n >= 1 && n <= 64 {
			return syscall.Signal(n), nil
		}
		return 0, cli.Usagef("%s: invalid signal", s)
	}
	name := strings.ToUpper(s)
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	if name == "SIGPOLL" {
		name = "SIGIO"
	}
	if sig := unix.SignalNum(name); sig != 0 {
		return sig, nil
	}
	return 0, cli.Usagef("%s: invalid signal", s)
}

// enterGroup makes this process the leader of a process group, if there is a limit. It is
// one already if a shell with job control has started it.
func (t *timeLimit) enterGroup() {
	if t.enabled() {
		unix.Setpgid(0, 0)
	}
}

// status returns the exit status: that of the command unless its time limit ended it.
func (t *timeLimit) status(s syscall.WaitStatus) int {
	if t.timedOut && !(s.Signaled() && s.Signal() == unix.SIGKILL) {
		return child.StatusTimedOut
	}
	return child.ExitStatus(s)
}
