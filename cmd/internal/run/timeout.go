package run

import (
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// timeLimit ends a command after some time, as timeout(1) does. ptrace-run and the command
// then have a process group of their own, so that signals reach the command's children too. At a
// terminal, that group is in the background, unless foreground is set.
type timeLimit struct {
	limit      time.Duration // 0: none
	killAfter  time.Duration // 0: never
	signal     syscall.Signal
	foreground bool   // leave the command in our process group, and signal it alone
	passed     func() // called when the limit passes, before the signal

	sending sync.Mutex // held while a signal is sent to the group

	mu       sync.Mutex
	child    *child.Process
	timer    *time.Timer
	timedOut bool
}

// enabled reports whether there is a limit at all.
func (t *timeLimit) enabled() bool { return t.limit > 0 }

// start starts the timer. console: the command has a terminal of its own.
func (t *timeLimit) start(c *child.Process, console bool) {
	t.child = c
	if t.enabled() {
		if console {
			signal.Ignore(unix.SIGTTOU) // our own writes; the console handles stops of the command
		} else {
			signal.Ignore(terminalStops...)
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.timer = time.AfterFunc(t.limit, func() { t.expire(t.signal, t.passed) })
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

// expire sends a signal to a command whose time is up, after it has called first.
func (t *timeLimit) expire(sig syscall.Signal, first func()) {
	t.sending.Lock()
	defer t.sending.Unlock()
	if !t.child.Alive() {
		return
	}
	t.mu.Lock()
	t.timedOut = true
	t.mu.Unlock()
	first()
	t.sendAll(sig)
	t.killLater() // whatever the signal is: the command may ignore it
}

// send sends a signal to the command, and with a time limit to the whole group, unless that is not
// its own.
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
	send := t.child.SignalAll
	if t.foreground {
		send = t.child.Signal
	}
	send(sig)
	switch sig {
	case unix.SIGTSTP, unix.SIGWINCH, unix.SIGKILL, unix.SIGCONT:
		return
	}
	t.killLater()
	// A stopped process could not react to the signal.
	send(unix.SIGCONT)
}

// killLater kills the command killAfter later, if it has not ended by then. A second call does
// nothing.
func (t *timeLimit) killLater() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.killAfter > 0 {
		t.timer.Stop()
		t.timer = time.AfterFunc(t.killAfter, func() { t.expire(unix.SIGKILL, func() {}) })
		t.killAfter = 0
	}
}

// recordWait bounds how long the record of a time-out delays the signal: a log in a pipe may have a slow
// reader.
const recordWait = 100 * time.Millisecond

// recordTimeout records that the time limit of the command has passed.
func (s *session) recordTimeout() {
	if !s.plan.command && s.tracer == nil {
		return
	}
	data := posixtrace.TimeoutData{Limit: s.plan.limit.limit, Signal: int(s.plan.limit.signal)}
	ev := posixtrace.EventInfo{ID: posixtrace.EventProcTimeout, PID: s.child.PID, TID: s.child.PID, UnixNano: time.Now().UnixNano()}
	recorded := make(chan struct{})
	go func() {
		defer close(recorded)
		if rec, err := s.stream.Recorder(); err == nil { // s.rec is that of another goroutine
			rec.Record(ev, data.Append(nil))
			rec.Close()
		}
	}()
	select {
	case <-recorded:
	case <-time.After(recordWait):
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

// terminalStops are the signals that stop a process group in the background which reads from its
// terminal or writes to it. They must not stop ptrace-run, or no process would end the command.
var terminalStops = []os.Signal{unix.SIGTTIN, unix.SIGTTOU}

// enterGroup makes this process the leader of a process group, if there is a limit. It is
// one already if a shell with job control has started it. The command is not to ignore
// terminalStops: exec resets a signal that is caught, so enterGroup catches them, and start, when
// the command has been executed, ignores them.
func (t *timeLimit) enterGroup() {
	if !t.enabled() {
		return
	}
	if !t.foreground {
		unix.Setpgid(0, 0)
	}
	for _, sig := range terminalStops {
		if !cli.Ignored(sig.(syscall.Signal)) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// status returns the exit status: that of the command unless its time limit ended it.
func (t *timeLimit) status(s syscall.WaitStatus) int {
	if t.timedOut && !(s.Signaled() && s.Signal() == unix.SIGKILL) {
		return child.StatusTimedOut
	}
	return child.ExitStatus(s)
}
