package run

import (
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/child"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/signals"
	"github.com/posixtrace/posixtrace/cmd/internal/tracer"
)

// A command with a pseudo-terminal of its own needs a session whose terminal that
// is, and in this session a parent in another process group than its own, or the
// kernel would ignore Ctrl-Z. This parent is the monitor: this program again. It
// leads the session, puts the command in the terminal's foreground or background,
// and reports to ptrace-run, which stays in the session of the user.
//
//	user's session        | session of the pseudo-terminal
//	shell -- ptrace-run --|-- monitor -- command (process group of its own)
//
// The command comes into being as this program, too: only so can it take the
// foreground before its first instruction, and wait until its stream is attached.

const (
	monitorOption = "pty-monitor"
	commandOption = "pty-command"
)

// startMonitor starts the monitor of argv with files, where 1 is the terminal, and
// returns the command before it begins: begin lets it. hidden are options for the
// process that becomes the command.
func startMonitor(prog string, argv, env []string, files [3]int, hidden []string) (*child.Process, *link, error) {
	l, other, err := newLink()
	if err != nil {
		return nil, nil, err
	}
	fill := child.FillDescriptors()
	args := append([]string{prog, "--" + monitorOption + "=" + strconv.Itoa(other)}, hidden...)
	_, _, err = syscall.StartProcess("/proc/self/exe", append(append(args, "--"), argv...), &syscall.ProcAttr{
		Env:   env,
		Files: []uintptr{uintptr(files[0]), uintptr(files[1]), uintptr(files[2])},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1},
	})
	fill()
	unix.Close(other)
	if err != nil {
		l.close()
		return nil, nil, os.NewSyscallError("fork", err)
	}
	what, text := l.receive()
	pid, err := cli.ParseDigits(text)
	if what != reportPID || err != nil {
		l.close()
		return nil, nil, errMonitorGone
	}
	return child.NewRemote(int(pid), argv, l), l, nil
}

// begin lets a command begin that is this program until then. l leads to its monitor.
func begin(c *child.Process, l *link, foreground bool) error {
	n := 0
	if foreground {
		n = 1
	}
	l.send(orderStart, n)
	argv := c.Argv
	for {
		what, text := l.receive()
		first, rest, _ := strings.Cut(text, "\x00")
		switch what {
		case reportTrying:
			c.Path, c.Argv = first, argv
			if rest != "" {
				c.Argv = append([]string{first, rest}, argv[1:]...)
			}
		case reportBegun:
			return nil
		case 0:
			return errMonitorGone
		case reportFailed:
			status, _ := strconv.Atoi(first)
			return cli.WithStatus(cli.Failf("%s", rest), status)
		default:
			return errMonitorGone
		}
	}
}

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

// becomeCommand is the life of the command until it is the command.
func becomeCommand(args *cli.Args) error {
	fd, err := args.Count(commandOption, 0)
	if err != nil || fd < 3 || len(args.Operands) == 0 {
		return cli.Usagef("option '--%s' is for the command's own use", commandOption)
	}
	unix.CloseOnExec(fd)
	// Stopped here, nobody would hear of it. What is caught is at its default, or
	// ignored, in the command.
	if !signals.Ignored(unix.SIGTSTP) {
		signal.Notify(make(chan os.Signal, 1), unix.SIGTSTP)
	}
	signals.SetDefault(unix.SIGQUIT) // the runtime would write a report
	l := &link{fd: fd}
	what, text := l.receive()
	if what != orderStart {
		return cli.Exit(child.StatusOwn)
	}
	if text == "1" {
		setForeground(1, unix.Getpgrp())
	}
	if stage, err := args.Count(tracedOption, 0); err == nil && stage > 2 {
		tracer.Enter(stage)
	}
	argv := args.Operands
	err = child.Search(argv, func(path string, args []string) error {
		script := ""
		if len(args) > len(argv) { // sh reads it
			script = args[1]
		}
		l.sendText(reportTrying, path+"\x00"+script)
		return syscall.Exec(path, args, os.Environ())
	})
	f := cli.AsFault(err)
	l.sendText(reportFailed, strconv.Itoa(f.Status)+"\x00"+f.Text)
	return cli.Exit(f.Status)
}

// setForeground makes a process group that of a terminal, also from the background.
func setForeground(tty, group int) {
	withoutTTOU(func() { unix.IoctlSetPointerInt(tty, unix.TIOCSPGRP, group) })
}

// withoutTTOU calls f with SIGTTOU blocked, which lets a process in the background
// set a terminal.
func withoutTTOU(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var old unix.Sigset_t
	block := signals.Set(unix.SIGTTOU)
	unix.PthreadSigmask(unix.SIG_BLOCK, &block, &old)
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	f()
}
