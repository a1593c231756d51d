package run

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/child"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/process"
	"github.com/posixtrace/posixtrace/cmd/internal/signals"
)

// stopped does what has to be done when the command was stopped.
func (t *console) stopped(sig syscall.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Output belongs to the modes that our terminal had when it was written.
	t.settle()
	wantsTerminal := sig == unix.SIGTTIN || sig == unix.SIGTTOU
	if !(wantsTerminal && !t.foreground && t.tty >= 0 && signals.Foreground(t.tty)) {
		t.restore()
		t.stopJob(sig)
		if wantsTerminal && orphaned() {
			// Nobody will ever put us in the foreground; let it not ask again.
			t.foreground = true
			t.link.send(orderForeground, 0)
			return
		}
	}
	t.resume()
}

// settleTime bounds how long output keeps us from being stopped, which a terminal may
// not take.
const settleTime = 250 * time.Millisecond

// settle waits until what the command wrote before it was stopped has come through.
func (t *console) settle() {
	for end := time.Now().Add(settleTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		fds := []unix.PollFd{{Fd: int32(t.master), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, 0); n == 0 && err == nil && !t.pump.Busy() {
			return
		}
	}
}

// resume continues the command where we are ourselves: in the foreground or the
// background.
func (t *console) resume() {
	t.foreground = t.tty < 0 || signals.Foreground(t.tty)
	if !t.foreground {
		t.link.send(orderBackground, 0)
		return
	}
	t.resize()
	t.makeRaw()
	t.link.send(orderForeground, 0)
}

// signal does what a signal to us asks for.
func (t *console) signal(sig syscall.Signal, send func(syscall.Signal)) {
	switch sig {
	case unix.SIGWINCH:
		// The kernel tells the command. It sends the signal before it changes the
		// size, so a quick reader sees the old one: look again.
		t.follow()
		time.AfterFunc(resizeAgain, t.follow)
	case unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP:
		// From our terminal, which was not raw, to all of the foreground.
		t.child.SignalAll(sig)
	case unix.SIGCONT:
		// Somebody stopped us and not the command.
		t.mu.Lock()
		if t.raw && signals.Foreground(t.tty) {
			t.setRaw() // whoever had the terminal may have changed it
		}
		t.mu.Unlock()
		send(sig)
	default:
		send(sig)
	}
}

// stopJob stops our job as sig would have stopped it if the command were in our
// process group, and returns when it is continued.
func (t *console) stopJob(sig syscall.Signal) {
	// Our being continued is not news to pass on.
	signal.Reset(unix.SIGCONT)
	if sig != unix.SIGSTOP {
		child.SignalGroup(0, sig)
	}
	signals.StopSelf(sig)
	signal.Notify(t.signals, unix.SIGCONT)
}

// orphaned reports whether no process of our group has a parent who could continue
// it: the kernel then ignores what the terminal would stop it by.
func orphaned() bool {
	group := unix.Getpgrp()
	session, _ := unix.Getsid(0)
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := cli.ParseDigits(e.Name())
		if err != nil {
			continue
		}
		ppid, pgrp, ok := process.Stat(int(pid))
		if !ok || pgrp != group {
			continue
		}
		if sid, err := unix.Getsid(ppid); err != nil || sid != session {
			continue
		}
		if parents, err := unix.Getpgid(ppid); err == nil && parents != group {
			return false
		}
	}
	return true
}
