package run

import (
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
	"github.com/posixtrace/posixtrace/cmd/internal/startup/original"
)

// monitor is the main function of a monitor.
func monitor(args *cli.Args) error {
	fd, err := args.Count(monitorOption, 0)
	if err != nil || fd < 3 || len(args.Operands) == 0 {
		return cli.Usagef("option '--%s' is for the command's own use", monitorOption)
	}
	unix.CloseOnExec(fd)
	os.WriteFile("/proc/self/comm", []byte("ptrace-run"), 0) // for ps; it was started as "exe"
	m := &monitored{up: &link{fd: fd}, settled: make(chan struct{})}
	// Signals to the monitor are for the command. The kernel sends SIGHUP to the monitor
	// when the terminal hangs up.
	caught := make(chan os.Signal, 16)
	for _, sig := range []syscall.Signal{unix.SIGHUP, unix.SIGTERM, unix.SIGINT, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2} {
		if !cli.Ignored(sig) {
			signal.Notify(caught, sig)
		}
	}
	if m.tty, err = unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3); err != nil {
		return err
	}
	var hidden []string
	stage, traced := args.Lookup(tracedOption)
	if traced {
		hidden = append(hidden, "--"+tracedOption+"="+stage)
	}
	err = m.start(args.Operands, hidden)
	if fd, e := args.Count(tracedOption, 0); e == nil && fd > 2 {
		unix.Close(fd)
	}
	if err != nil {
		return err
	}
	go func() {
		for s := range caught {
			m.signal(s.(syscall.Signal))
		}
	}()
	go m.serve()
	m.watch()
	return nil
}

// monitored is the monitor's state of the command.
type monitored struct {
	up      *link         // to ptrace-run
	down    *link         // to the process that becomes the command
	settled chan struct{} // closed when the command has started, or will not
	tty     int
	pid     int // of the command

	mu      sync.Mutex
	reaped  bool // the pid may already belong to another process
	stopped bool
}

// start starts the process that becomes the command.
func (m *monitored) start(argv, hidden []string) error {
	down, other, err := newLink()
	if err != nil {
		return err
	}
	m.down = down
	args := append([]string{os.Args[0], "--" + commandOption + "=" + strconv.Itoa(other)}, hidden...)
	// That process searches PATH: its permissions to execute may differ.
	m.pid, err = child.Self(append(append(args, "--"), argv...), &child.Attr{Env: original.Environ(), Files: [3]int{0, 1, 2}, Group: true})
	unix.Close(other)
	if err != nil {
		return err
	}
	// Drop the command's standard files: a pipe must break when the command closes it.
	if null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
		for fd := range 3 {
			unix.Dup3(null, fd, 0)
		}
		unix.Close(null)
	}
	return m.up.send(reportPID, m.pid)
}

// serve executes the orders of ptrace-run. If ptrace-run ends, the kernel hangs up the
// terminal.
func (m *monitored) serve() {
	started := false
	for {
		what, text := m.up.receive()
		n, _ := strconv.Atoi(text)
		switch what {
		case 0:
			if !started {
				m.down.close() // the command will not start
				close(m.settled)
			}
			// A stopped command does not get the hangup before it is continued.
			m.signalGroup(unix.SIGHUP)
			m.signalGroup(unix.SIGCONT)
			return
		case orderStart:
			if !started {
				started = true
				m.startCommand(n)
			}
		case orderSignal:
			m.signal(syscall.Signal(n))
		case orderSignalGroup:
			m.signalGroup(syscall.Signal(n))
		case orderForeground, orderBackground:
			m.resume(what == orderForeground)
		}
	}
}

// signal sends sig to the command unless it has ended.
func (m *monitored) signal(sig syscall.Signal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.reaped {
		unix.Kill(m.pid, sig)
	}
}

// signalGroup sends sig to the process group that the command led at its start, and to the
// command if it has moved to another group.
func (m *monitored) signalGroup(sig syscall.Signal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.signalAll(sig)
}

// signalAll signals the group. The caller holds m.mu.
func (m *monitored) signalAll(sig syscall.Signal) {
	if m.reaped {
		return
	}
	unix.Kill(-m.pid, sig)
	if m.group() != m.pid {
		unix.Kill(m.pid, sig)
	}
}

// group returns the command's current process group.
func (m *monitored) group() int {
	group, err := unix.Getpgid(m.pid)
	if err != nil {
		return m.pid
	}
	return group
}

// startCommand passes the order to start on, and the reports about it back.
func (m *monitored) startCommand(foreground int) {
	defer close(m.settled)
	m.down.send(orderStart, foreground)
	for {
		what, text := m.down.receive()
		if what == 0 {
			// exec has closed the other end of the socket.
			m.up.sendText(reportStarted, "")
			break
		}
		m.up.sendText(what, text)
		if what == reportFailed {
			break
		}
	}
	m.down.close()
}

// resume continues a stopped command.
func (m *monitored) resume(foreground bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reaped || !m.stopped {
		return
	}
	m.stopped = false
	if foreground {
		setForeground(m.tty, m.group())
	} else {
		setForeground(m.tty, unix.Getpgrp())
	}
	m.signalAll(unix.SIGCONT)
}

// watch reports stops of the command, until its end. It also returns if waiting fails: the
// monitor then ends, and ptrace-run sees the end of the socket.
func (m *monitored) watch() {
	for {
		const events = unix.WEXITED | unix.WSTOPPED
		if _, err := child.WaitID(m.pid, events|unix.WNOWAIT, nil); err != nil {
			return
		}
		<-m.settled // keep the reports in order
		m.mu.Lock()
		var e ending
		ws, err := child.Reap(m.pid, events|unix.WNOHANG, &e.Usage)
		switch {
		case err != nil:
			m.mu.Unlock()
			return
		case ws.Stopped():
			m.stopped = true
			m.mu.Unlock()
			m.up.send(reportStopped, int(ws.StopSignal()))
			continue
		case !ws.Exited() && !ws.Signaled():
			m.mu.Unlock() // it was stopped, and continued since
			continue
		}
		m.reaped = true
		m.mu.Unlock()
		// When the leader of a session ends, the kernel hangs up the foreground group. The
		// end of the command alone must not hang up the processes that outlive it.
		setForeground(m.tty, unix.Getpgrp())
		signal.Ignore(unix.SIGHUP)
		e.Status = uint32(ws)
		m.up.sendText(reportEnded, e.text())
		return
	}
}
