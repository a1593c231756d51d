package run

import (
	"os"
	"sync"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/capture"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
)

// console is the pseudo-terminal that a command gets in place of the user's terminal, so that
// its output can be recorded and the command still runs at a terminal.
//
// While the command is in the foreground, the user's terminal is raw: keys pass unchanged, and
// the pseudo-terminal turns them into signals, echo and lines. While the command is stopped or
// in the background, the user's terminal has its own modes, and the console reads no keys.
type console struct {
	master int // for keys and the size; -1 once closed
	slave  int // the command's end; closed here once the command has started
	tty    int // the user's terminal; -1: there is none, or it is not ours to control
	pump   *capture.Pump

	limited bool // the command has a time limit, which ends it also while it is stopped

	mu         sync.Mutex
	child      *child.Process
	link       *link // to its monitor
	foreground bool  // the command is in the foreground of the pseudo-terminal
	raw        bool  // the user's terminal is raw, and keys are read
	saved      unix.Termios
	cooked     bool // the pseudo-terminal's output processing is off because the user's terminal does it

	typed   syscall.Signal // the last signal sent by a key; used by keys, and after it has ended
	wake    [2]int         // a pipe that wakes keys
	signals chan os.Signal // receives SIGCONT
	done    chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
}

// wantsConsole reports whether the plan asks for a pseudo-terminal here.
func (p *capturePlan) wantsConsole() bool {
	switch {
	case !p.out || !p.err || p.apart:
		return false // a terminal merges the two
	case p.pty == "yes":
		return true
	case p.pty == "no":
		return false
	}
	return sameTerminal(1, 2) && cli.Foreground(1)
}

// sameTerminal reports whether two descriptors are one terminal, under any name.
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

// newConsole makes a pseudo-terminal with the modes and the size of the terminal on standard
// output, if that is one. The number of the command's end is at least above, as for a pipe.
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
	unix.SetNonblock(t.slave, false) // os.File has made it non-blocking
	if _, err := unix.IoctlGetInt(1, unix.TIOCGPGRP); err == nil {
		// A new open file description can be non-blocking without affecting other processes.
		if t.tty, err = unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
			t.tty = -1
		}
	}
	attr, err := unix.IoctlGetTermios(1, unix.TCGETS)
	if err != nil {
		// Standard output is no terminal, so its reader expects no carriage returns.
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

// close closes all descriptors.
func (t *console) close() {
	for _, fd := range []*int{&t.master, &t.slave, &t.tty, &t.wake[0], &t.wake[1]} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
}

// start starts the command in the foreground or the background of the pseudo-terminal, and
// takes control of the user's terminal. It calls ready when the command's process exists but
// has not executed the command yet.
func (t *console) start(prog string, argv, env []string, files [3]int, hidden []string, ready func(pid int)) (*child.Process, error) {
	c, l, err := startMonitor(prog, argv, env, files, hidden)
	if err != nil {
		return nil, cli.WithStatus(cli.Failure(argv[0], err), child.StatusOwn)
	}
	ready(c.PID)
	t.child, t.link = c, l
	t.foreground = t.tty < 0 || cli.Foreground(t.tty) && t.ownsKeys()
	t.restoreOnSignal()
	if t.foreground {
		t.makeRaw()
	} else {
		t.setProcessing(false)
	}
	if err := startCommand(c, l, t.foreground); err != nil {
		t.restore()
		l.close()
		return nil, err
	}
	t.wg.Go(t.keys)
	go t.listen()
	return c, nil
}

// listen handles the monitor's reports until the command's end.
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

// finish restores the user's terminal. It is called when the command has ended and its output
// has been passed on, or the drain time is over.
func (t *console) finish() {
	t.mu.Lock()
	t.restore()
	t.setProcessing(false) // the user's terminal processes later output
	t.mu.Unlock()
	t.hangUp()
}

// hangUp closes our master of the pseudo-terminal. If no other process has it open, the
// command gets SIGHUP.
func (t *console) hangUp() {
	t.once.Do(func() {
		close(t.done)
		t.wakeKeys()
		t.wg.Wait()
		t.mu.Lock()
		defer t.mu.Unlock()
		unix.Close(t.master)
		t.master = -1
	})
}
