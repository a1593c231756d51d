package run

import (
	"os"
	"sync"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/capture"
	"github.com/posixtrace/posixtrace/cmd/internal/child"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
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
