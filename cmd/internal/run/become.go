package run

import (
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/cmd/internal/startup/original"
)

// becomeCommand is the main function of the process that becomes the command.
func becomeCommand(args *cli.Args) error {
	fd, err := args.Count(commandOption, 0)
	if err != nil || fd < 3 || len(args.Operands) == 0 {
		return cli.Usagef("option '--%s' is for the command's own use", commandOption)
	}
	unix.CloseOnExec(fd)
	// Catch SIGTSTP: a stop here would go unnoticed. exec resets caught signals, so the
	// command has the default action, or ignores the signal.
	if !cli.Ignored(unix.SIGTSTP) {
		signal.Notify(make(chan os.Signal, 1), unix.SIGTSTP)
	}
	cli.SetDefault(unix.SIGQUIT) // the runtime's handler would write a traceback
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
		if len(args) > len(argv) { // sh interprets it
			script = args[1]
		}
		l.sendText(reportTrying, path+"\x00"+script)
		return syscall.Exec(path, args, original.Environ())
	})
	f := cli.AsFault(err)
	l.sendText(reportFailed, strconv.Itoa(f.Status)+"\x00"+f.Text)
	return cli.Exit(f.Status)
}

// setForeground makes a process group the foreground group of a terminal, also if called from
// the background.
func setForeground(tty, group int) {
	withoutTTOU(func() { unix.IoctlSetPointerInt(tty, unix.TIOCSPGRP, group) })
}

// withoutTTOU calls f with SIGTTOU blocked, so that a process in the background can change
// the modes and the foreground group of a terminal.
func withoutTTOU(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var old unix.Sigset_t
	block := cli.Set(unix.SIGTTOU)
	unix.PthreadSigmask(unix.SIG_BLOCK, &block, &old)
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	f()
}
