package run

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
)

// A command with a pseudo-terminal of its own needs a session with that controlling
// terminal. In this session it needs a parent in another process group, or the kernel would
// ignore Ctrl-Z. This parent is the monitor: this program again. It leads the session, puts
// the command in the terminal's foreground or background, and reports to ptrace-run, which
// stays in the session of the user.
//
//	user's session        | session of the pseudo-terminal
//	shell -- ptrace-run --|-- monitor -- command (process group of its own)
//
// The command's process starts as this program, too. Only so can it take the foreground
// before the command's first instruction, and wait until its stream is attached.

const (
	monitorOption = "pty-monitor"
	commandOption = "pty-command"
)

// startMonitor starts the monitor for the command argv. files are the standard descriptors,
// 1 the terminal. It returns the process that will become the command, which waits for
// startCommand. hidden are options for that process.
func startMonitor(prog string, argv, env []string, files [3]int, hidden []string) (*child.Process, *link, error) {
	l, other, err := newLink()
	if err != nil {
		return nil, nil, err
	}
	args := append([]string{prog, "--" + monitorOption + "=" + strconv.Itoa(other)}, hidden...)
	_, err = child.Self(append(append(args, "--"), argv...), &child.Attr{Env: env, Files: files, Session: true})
	unix.Close(other)
	if err != nil {
		l.close()
		return nil, nil, err
	}
	what, text := l.receive()
	pid, err := cli.ParseDigits(text)
	if what != reportPID || err != nil {
		l.close()
		return nil, nil, errMonitorGone
	}
	return child.NewRemote(int(pid), argv, l), l, nil
}

// startCommand makes the process of startMonitor execute the command. l leads to the monitor.
func startCommand(c *child.Process, l *link, foreground bool) error {
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
		case reportStarted:
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
