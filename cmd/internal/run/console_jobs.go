package run

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
)

// stopped handles a stop of the command: it stops our job likewise, and continues the command
// when the job is continued.
func (t *console) stopped(sig syscall.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Output must reach the user's terminal in the modes it was written for.
	t.awaitOutput()
	wantsTerminal := sig == unix.SIGTTIN || sig == unix.SIGTTOU
	if !(wantsTerminal && !t.foreground && t.tty >= 0 && cli.Foreground(t.tty)) {
		t.restore()
		if wantsTerminal && t.limited && !inOrphanedGroup() {
			return // if ptrace-run stopped too, no process would end the command
		}
		t.stopJob(sig)
		if wantsTerminal && inOrphanedGroup() {
			// No process will ever put us in the foreground. Put the command in the
			// foreground of its terminal, so that it does not stop again.
			t.foreground = true
			t.link.send(orderForeground, 0)
			return
		}
	}
	t.continueCommand()
}

// settleTime bounds how long output that the user's terminal does not accept delays the stop
// of our job.
const settleTime = 250 * time.Millisecond

// awaitOutput waits until the output that the command wrote before its stop has been passed
// on.
func (t *console) awaitOutput() {
	for end := time.Now().Add(settleTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		fds := []unix.PollFd{{Fd: int32(t.master), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, 0); n == 0 && err == nil && !t.pump.Busy() {
			return
		}
	}
}

// continueCommand continues the command in the foreground or the background, wherever
// ptrace-run is.
func (t *console) continueCommand() {
	t.foreground = t.tty < 0 || cli.Foreground(t.tty)
	if !t.foreground {
		t.link.send(orderBackground, 0)
		return
	}
	t.resize()
	t.makeRaw()
	t.link.send(orderForeground, 0)
}

// handleSignal handles a signal to ptrace-run; most are for the command.
func (t *console) handleSignal(sig syscall.Signal, send func(syscall.Signal)) {
	switch sig {
	case unix.SIGWINCH:
		// Setting the size makes the kernel signal the command. The kernel sends our
		// SIGWINCH before it changes the size, so we may read the old size: read it again.
		t.followSize()
		time.AfterFunc(resizeAgain, t.followSize)
	case unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP:
		// The user's terminal, which was not raw, sent it to the whole foreground group.
		t.child.SignalAll(sig)
	case unix.SIGCONT:
		// Another process stopped ptrace-run and not the command.
		t.mu.Lock()
		if t.raw && cli.Foreground(t.tty) {
			t.setRaw() // the job that had the terminal may have changed its modes
		}
		t.mu.Unlock()
		send(sig)
	default:
		send(sig)
	}
}

// stopJob stops our job as sig would if the command were in our process group, and returns
// when the job is continued.
func (t *console) stopJob(sig syscall.Signal) {
	// The SIGCONT that continues us is not for the command.
	signal.Reset(unix.SIGCONT)
	if sig != unix.SIGSTOP {
		child.SignalGroup(0, sig)
	}
	cli.StopSelf(sig)
	signal.Notify(t.signals, unix.SIGCONT)
}

// inOrphanedGroup reports whether our process group is orphaned: no process of it has a
// parent in another group of the session. The kernel then ignores stop signals from the
// terminal.
func inOrphanedGroup() bool {
	group := unix.Getpgrp()
	session, _ := unix.Getsid(0)
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := cli.ParseDigits(e.Name())
		if err != nil {
			continue
		}
		ppid, pgrp, ok := procfs.Stat(int(pid))
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
