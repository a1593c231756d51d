package run

import (
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/child"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/signals"
)

// monitor is the life of a monitor.
func monitor(args *cli.Args) error {
	fd, err := args.Count(monitorOption, 0)
	if err != nil || fd < 3 || len(args.Operands) == 0 {
		return cli.Usagef("option '--%s' is for the command's own use", monitorOption)
	}
	unix.CloseOnExec(fd)
	os.WriteFile("/proc/self/comm", []byte("ptrace-run"), 0) // for ps; it was started as "exe"
	m := &monitored{up: &link{fd: fd}, settled: make(chan struct{})}
	// A signal to the monitor is meant for the command. The kernel sends HUP here
	// when the terminal goes away.
	caught := make(chan os.Signal, 16)
	for _, sig := range []syscall.Signal{unix.SIGHUP, unix.SIGTERM, unix.SIGINT, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2} {
		if !signals.Ignored(sig) {
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
	go m.obey()
	m.watch()
	return nil
}

// monitored is the command as its monitor sees it.
type monitored struct {
	up      *link         // to ptrace-run
	down    *link         // to the command until it begins
	settled chan struct{} // closed when it has begun, or will not
	tty     int
	pid     int // of the command

	mu      sync.Mutex
	reaped  bool // the pid may belong to another process
	stopped bool
}

// start starts the process that becomes the command.
func (m *monitored) start(argv, hidden []string) error {
	down, other, err := newLink()
	if err != nil {
		return err
	}
	m.down = down
	fill := child.FillDescriptors()
	args := append([]string{os.Args[0], "--" + commandOption + "=" + strconv.Itoa(other)}, hidden...)
	// PATH is searched by that process: it has its own idea of what it may execute.
	m.pid, _, err = syscall.StartProcess("/proc/self/exe", append(append(args, "--"), argv...), &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	fill()
	unix.Close(other)
	if err != nil {
		return os.NewSyscallError("fork", err)
	}
	// What the command was given is no business of the monitor's: a pipe must
	// break when the command closes it.
	if null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
		for fd := range 3 {
			unix.Dup3(null, fd, 0)
		}
		unix.Close(null)
	}
	return m.up.send(reportPID, m.pid)
}

// obey does what ptrace-run says. When that is gone, so is the terminal: the
// kernel hangs it up.
func (m *monitored) obey() {
	begun := false
	for {
		what, text := m.up.receive()
		n, _ := strconv.Atoi(text)
		switch what {
		case 0:
			if !begun {
				m.down.close() // the command will not begin
				close(m.settled)
			}
			// A command that is stopped would never hear of the hangup.
			m.signalGroup(unix.SIGHUP)
			m.signalGroup(unix.SIGCONT)
			return
		case orderStart:
			if !begun {
				begun = true
				m.begin(n)
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

// signalGroup sends sig to the process group that the command leads, and to the command
// where that has gone over to another.
func (m *monitored) signalGroup(sig syscall.Signal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.signalAll(sig)
}

// signalAll is signalGroup for a caller that holds m.mu.
func (m *monitored) signalAll(sig syscall.Signal) {
	if m.reaped {
		return
	}
	unix.Kill(-m.pid, sig)
	if m.group() != m.pid {
		unix.Kill(m.pid, sig)
	}
}

// group is the process group that the command is in now.
func (m *monitored) group() int {
	group, err := unix.Getpgid(m.pid)
	if err != nil {
		return m.pid
	}
	return group
}

// begin passes the order on, and what becomes of it.
func (m *monitored) begin(foreground int) {
	defer close(m.settled)
	m.down.send(orderStart, foreground)
	for {
		what, text := m.down.receive()
		if what == 0 {
			// Its end of the socket was closed by exec.
			m.up.sendText(reportBegun, "")
			break
		}
		m.up.sendText(what, text)
		if what == reportFailed {
			break
		}
	}
	m.down.close()
}

// resume continues a command that is stopped.
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

// watch reports what happens to the command, until its end. It ends when the kernel does
// not say what happens: ptrace-run hears of that by the end of the socket.
func (m *monitored) watch() {
	for {
		const events = unix.WEXITED | unix.WSTOPPED
		if _, err := child.WaitID(m.pid, events|unix.WNOWAIT, nil); err != nil {
			return
		}
		<-m.settled // reports come in order
		m.mu.Lock()
		var e ending
		ws, err := child.WaitID(m.pid, events|unix.WNOHANG, &e.Usage)
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
			m.mu.Unlock() // stopped a moment ago, and continued since
			continue
		}
		m.reaped = true
		m.mu.Unlock()
		// When a session's leader ends, what is in the foreground is hung up. The
		// command's end alone would not have done that to those it leaves behind.
		setForeground(m.tty, unix.Getpgrp())
		signal.Ignore(unix.SIGHUP)
		e.Status = uint32(ws)
		m.up.sendText(reportEnded, e.text())
		return
	}
}
