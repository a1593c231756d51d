package run

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// resize gives the pseudo-terminal the size of the user's terminal.
func (t *console) resize() {
	if size, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ); err == nil {
		unix.IoctlSetWinsize(t.master, unix.TIOCSWINSZ, size)
	}
}

// resizeAgain is the time after which the size is read again after a change.
const resizeAgain = 30 * time.Millisecond

// followSize updates the size of the pseudo-terminal unless it is closed.
func (t *console) followSize() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.master >= 0 {
		t.resize()
	}
}

// restoreOnSignal restores the user's terminal before a signal ends ptrace-run. The signals
// that are forwarded to the command do not end it.
func (t *console) restoreOnSignal() {
	passed := map[syscall.Signal]bool{}
	for _, sig := range append(append([]syscall.Signal{
		unix.SIGKILL, unix.SIGSTOP, unix.SIGCHLD, unix.SIGURG, unix.SIGPIPE, unix.SIGTTIN, unix.SIGTTOU,
		32, 33, // the C library's
	}, cli.AlwaysForwarded...), cli.TerminalForwarded...) {
		passed[sig] = true
	}
	c := make(chan os.Signal, 1)
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		if !passed[sig] && !cli.Ignored(sig) {
			signal.Notify(c, sig)
		}
	}
	go func() {
		sig := (<-c).(syscall.Signal)
		t.mu.Lock()
		t.restore()
		cli.DieBy(sig)
	}()
}

// makeRaw makes the user's terminal raw and lets keys be read. The caller holds t.mu, or no
// other goroutine uses t yet.
func (t *console) makeRaw() {
	if t.tty < 0 || t.raw {
		return
	}
	attr, err := unix.IoctlGetTermios(t.tty, unix.TCGETS)
	if err != nil {
		return
	}
	t.saved = *attr
	if t.setRaw() == nil {
		t.raw = true
		t.setProcessing(true)
		t.wakeKeys()
	}
}

// setRaw sets the modes of the user's terminal as cfmakeraw(3) does.
func (t *console) setRaw() error {
	attr := t.saved
	attr.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	attr.Oflag &^= unix.OPOST
	attr.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	attr.Cc[unix.VMIN], attr.Cc[unix.VTIME] = 1, 0
	return unix.IoctlSetTermios(t.tty, unix.TCSETS, &attr)
}

// isRaw reports whether the user's terminal is raw, and so needs a carriage return for each line.
func (t *console) isRaw() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.raw
}

// restore restores the modes of the user's terminal. The caller holds t.mu, or no other
// goroutine uses t yet.
func (t *console) restore() {
	if t.raw {
		t.raw = false
		t.setProcessing(false)
		withoutTTOU(func() { unix.IoctlSetTermios(t.tty, unix.TCSETS, &t.saved) })
	}
}

// setProcessing switches the output processing of the pseudo-terminal, so that output is
// processed once: by the pseudo-terminal while the user's terminal is raw, otherwise by the
// user's terminal.
func (t *console) setProcessing(on bool) {
	if t.master < 0 || on != t.cooked {
		return
	}
	attr, err := unix.IoctlGetTermios(t.master, unix.TCGETS)
	if err != nil || !on && attr.Oflag&unix.OPOST == 0 {
		return
	}
	attr.Oflag ^= unix.OPOST
	if unix.IoctlSetTermios(t.master, unix.TCSETS, attr) == nil {
		t.cooked = !on
	}
}
