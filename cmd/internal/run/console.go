package run

import (
	"bytes"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/capture"
	"github.com/posixtrace/posixtrace/cmd/internal/child"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/process"
	"github.com/posixtrace/posixtrace/cmd/internal/signals"
)

// console is the pseudo-terminal that a command has in place of ours, so that its
// output can be recorded and is still that of a program at a terminal.
//
// While the command is in the foreground, our terminal is raw: keys pass as they
// are, and the pseudo-terminal makes signals, echo and lines of them. While it is
// stopped or in the background, our terminal is as it was, and nothing is read.
type console struct {
	master int // ours to pass keys through and to set the size; -1 once given up
	slave  int // the command's; ours until it has begun
	tty    int // our terminal; -1: none, or not ours to control
	pump   *capture.Pump

	mu         sync.Mutex
	child      *child.Process
	link       *link // to its monitor
	foreground bool  // the command is in the foreground of the pseudo-terminal
	raw        bool  // our terminal is raw, and keys are read
	saved      unix.Termios
	cooked     bool // the pseudo-terminal's output processing is off because ours is on

	typed   syscall.Signal // by a key; for keys, and when that has ended
	wake    [2]int         // a pipe: what keys waits for has changed
	signals chan os.Signal // where our being continued is told
	done    chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
}

// wantsConsole reports whether the plan asks for a pseudo-terminal here.
func (p *capturePlan) wantsConsole() bool {
	switch {
	case !p.out || !p.err || p.apart:
		return false // a terminal cannot tell the two apart
	case p.pty == "yes":
		return true
	case p.pty == "no":
		return false
	}
	return sameTerminal(1, 2) && signals.Foreground(1)
}

// sameTerminal reports whether two descriptors are one terminal, opened by
// whatever name.
func sameTerminal(a, b int) bool {
	if !isTTY(a) || !isTTY(b) {
		return false
	}
	da, erra := unix.IoctlGetInt(a, unix.TIOCGDEV)
	db, errb := unix.IoctlGetInt(b, unix.TIOCGDEV)
	return erra == nil && errb == nil && uint32(da) == uint32(db)
}

func isTTY(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

// newConsole makes a pseudo-terminal, like ours where standard output is one. The
// command's end of it lies above a descriptor, as that of a pipe does.
func newConsole(above int) (t *console, err error) {
	ptm, pts, err := pty.Open()
	if err != nil {
		return nil, err
	}
	defer ptm.Close()
	defer pts.Close()
	t = &console{master: -1, slave: -1, tty: -1, wake: [2]int{-1, -1}, done: make(chan struct{})}
	if t.master, err = unix.FcntlInt(ptm.Fd(), unix.F_DUPFD_CLOEXEC, 3); err == nil {
		t.slave, err = unix.FcntlInt(pts.Fd(), unix.F_DUPFD_CLOEXEC, above)
	}
	if err == nil {
		err = unix.Pipe2(t.wake[:], unix.O_CLOEXEC|unix.O_NONBLOCK)
	}
	if err != nil {
		t.close()
		return nil, err
	}
	unix.SetNonblock(t.slave, false) // the library's runtime likes it otherwise
	if _, err := unix.IoctlGetInt(1, unix.TIOCGPGRP); err == nil {
		// Opened anew, it can be made non-blocking without anybody's seeing it.
		if t.tty, err = unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
			t.tty = -1
		}
	}
	attr, err := unix.IoctlGetTermios(1, unix.TCGETS)
	if err != nil {
		// Where no terminal is, nobody expects a carriage return.
		if attr, err = unix.IoctlGetTermios(t.slave, unix.TCGETS); err == nil {
			attr.Oflag &^= unix.OPOST
		}
	}
	if err == nil {
		unix.IoctlSetTermios(t.slave, unix.TCSETS, attr)
	}
	t.resize()
	return t, nil
}

// close gives up all descriptors.
func (t *console) close() {
	for _, fd := range []*int{&t.master, &t.slave, &t.tty, &t.wake[0], &t.wake[1]} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
}

// resize gives the pseudo-terminal the size of ours.
func (t *console) resize() {
	if size, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ); err == nil {
		unix.IoctlSetWinsize(t.master, unix.TIOCSWINSZ, size)
	}
}

// resizeAgain is when the size is looked at again after it has changed.
const resizeAgain = 30 * time.Millisecond

func (t *console) follow() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.master >= 0 {
		t.resize()
	}
}

// start begins the command in the right place of the pseudo-terminal, and takes
// charge of our own. ready is called when the command's process is there but has
// not begun.
func (t *console) start(prog string, argv, env []string, files [3]int, hidden []string, ready func(pid int)) (*child.Process, error) {
	c, l, err := startMonitor(prog, argv, env, files, hidden)
	if err != nil {
		return nil, cli.WithStatus(cli.Failure(argv[0], err), child.StatusOwn)
	}
	ready(c.PID)
	t.child, t.link = c, l
	t.foreground = t.tty < 0 || signals.Foreground(t.tty) && t.ownsKeys()
	t.guard()
	if t.foreground {
		t.makeRaw()
	} else {
		t.process(false)
	}
	if err := begin(c, l, t.foreground); err != nil {
		t.restore()
		l.close()
		return nil, err
	}
	t.wg.Go(t.keys)
	go t.listen()
	return c, nil
}

// ownsKeys reports whether keys are the command's from the beginning. Somebody
// else may read them in a pipeline whose end we are; the command then gets them
// when it first asks for them, which in the background stops it.
func (t *console) ownsKeys() bool {
	if sameTerminal(0, 1) {
		return true
	}
	group := unix.Getpgrp()
	waiting := map[int]bool{}
	for pid, ok := os.Getpid(), true; ok && pid > 1 && len(waiting) < 4096; {
		waiting[pid] = true
		pid, ok = process.Parent(pid)
	}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := cli.ParseDigits(e.Name())
		if err != nil || waiting[int(pid)] {
			continue
		}
		if _, pgrp, ok := process.Stat(int(pid)); ok && pgrp == group {
			return false
		}
	}
	return true
}

// listen hears what the monitor reports, until the command's end.
func (t *console) listen() {
	defer close(t.link.ended)
	for {
		what, text := t.link.receive()
		switch what {
		case 0:
			return
		case reportStopped:
			if n, err := cli.ParseDigits(text); err == nil {
				t.stopped(syscall.Signal(n))
			}
		case reportEnded:
			if e, ok := parseEnding(text); ok {
				t.link.ended <- e
			}
			return
		}
	}
}

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

// guard sees that no signal that would end us leaves our terminal raw. Those that
// are passed on do not end us.
func (t *console) guard() {
	passed := map[syscall.Signal]bool{}
	for _, sig := range append(append([]syscall.Signal{
		unix.SIGKILL, unix.SIGSTOP, unix.SIGCHLD, unix.SIGURG, unix.SIGPIPE, unix.SIGTTIN, unix.SIGTTOU,
		32, 33, // the C library's
	}, signals.AlwaysForwarded...), signals.TerminalForwarded...) {
		passed[sig] = true
	}
	c := make(chan os.Signal, 1)
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		if !passed[sig] && !signals.Ignored(sig) {
			signal.Notify(c, sig)
		}
	}
	go func() {
		sig := (<-c).(syscall.Signal)
		t.mu.Lock()
		t.restore()
		signals.DieBy(sig)
	}()
}

// makeRaw makes our terminal raw and lets keys be read. The caller holds t.mu or
// is alone.
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
		t.process(true)
		t.rouse()
	}
}

// setRaw sets our terminal as cfmakeraw(3) does.
func (t *console) setRaw() error {
	attr := t.saved
	attr.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	attr.Oflag &^= unix.OPOST
	attr.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	attr.Cc[unix.VMIN], attr.Cc[unix.VTIME] = 1, 0
	return unix.IoctlSetTermios(t.tty, unix.TCSETS, &attr)
}

// restore makes our terminal what it was. The caller holds t.mu or is alone.
func (t *console) restore() {
	if t.raw {
		t.raw = false
		t.process(false)
		withoutTTOU(func() { unix.IoctlSetTermios(t.tty, unix.TCSETS, &t.saved) })
	}
}

// process sees that output is processed once: by the pseudo-terminal while ours is
// raw, by ours while it is not.
func (t *console) process(on bool) {
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

// rouse wakes keys.
func (t *console) rouse() { unix.Write(t.wake[1], []byte{0}) }

// keys passes on what is typed.
func (t *console) keys() {
	buf := make([]byte, 4096)
	var again capture.Backoff
	for {
		t.mu.Lock()
		tty := -1
		if t.raw {
			tty = t.tty
		}
		t.mu.Unlock()
		fds := []unix.PollFd{{Fd: int32(t.wake[0]), Events: unix.POLLIN}, {Fd: int32(tty), Events: unix.POLLIN}}
		failed := capture.Poll(fds, -1) != nil
		if fds[0].Revents != 0 || failed {
			unix.Read(t.wake[0], buf)
		}
		select {
		case <-t.done:
			return
		default:
		}
		if fds[1].Revents == 0 && !failed {
			continue
		}
		n, gone := t.read(buf)
		if n > 0 {
			again.Reset()
		} else {
			again.Wait()
		}
		t.note(buf[:n])
		if gone || !t.write(buf[:n]) {
			return
		}
	}
}

// read reads keys, but not in the background, where that would stop us.
func (t *console) read(buf []byte) (n int, gone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.raw {
		return 0, false
	}
	n, err := unix.Read(t.tty, buf)
	switch {
	case err == unix.EINTR || err == unix.EAGAIN:
		return 0, false
	case err != nil || n == 0:
		return 0, true // the terminal has hung up
	}
	return n, false
}

// note remembers the keys that send the command a signal.
func (t *console) note(keys []byte) {
	attr, err := unix.IoctlGetTermios(t.master, unix.TCGETS)
	if err != nil || attr.Lflag&unix.ISIG == 0 {
		return
	}
	for _, key := range []struct {
		char uint8
		sig  syscall.Signal
	}{{attr.Cc[unix.VINTR], unix.SIGINT}, {attr.Cc[unix.VQUIT], unix.SIGQUIT}} {
		if key.char != 0 && bytes.IndexByte(keys, key.char) >= 0 {
			t.typed = key.sig
		}
	}
}

// killJob sends a signal that a key sent the command, and that killed it, to the others
// of our job, such as a script that waits for us: without us the key would have. It
// comes last, since our terminal may then be somebody else's.
func (t *console) killJob(sig syscall.Signal) {
	if t.typed == sig {
		child.SignalGroup(0, sig)
	}
}

// write types keys into the pseudo-terminal, as fast as it takes them.
func (t *console) write(b []byte) bool {
	var again capture.Backoff
	for len(b) > 0 {
		n, err := unix.Write(t.master, b)
		switch {
		case n > 0:
			b = b[n:]
			again.Reset()
		case err == unix.EAGAIN:
			fds := []unix.PollFd{{Fd: int32(t.wake[0]), Events: unix.POLLIN}, {Fd: int32(t.master), Events: unix.POLLOUT}}
			capture.Poll(fds, -1)
			again.Wait() // the other end may be gone, and a full terminal stay full
			if fds[0].Revents != 0 {
				var drop [64]byte
				unix.Read(t.wake[0], drop[:])
			}
			select {
			case <-t.done:
				return false
			default:
			}
		case err != unix.EINTR:
			return false
		}
	}
	return true
}

// finish gives our terminal back when the command has ended and its output has come
// through, as far as we wait for it.
func (t *console) finish() {
	t.mu.Lock()
	t.restore()
	t.process(false) // what comes later is processed by our terminal
	t.mu.Unlock()
	t.hangUp()
}

// hangUp gives up our own hold of the pseudo-terminal. If it was the last, the
// command is hung up on.
func (t *console) hangUp() {
	t.once.Do(func() {
		close(t.done)
		t.rouse()
		t.wg.Wait()
		t.mu.Lock()
		defer t.mu.Unlock()
		unix.Close(t.master)
		t.master = -1
	})
}
