package create

import (
	"bytes"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/record/capture"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
	"github.com/posixtrace/posixtrace/cmd/internal/record/streams"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A stream with a log needs an owner: a process that writes the log as the stream fills and
// completes it at the end. ptrace-create starts its own program again as this keeper, in a
// new session, and passes it the open log and a pipe. On the pipe the keeper answers once,
// "ok" or "failed" followed by lines, and closes it. It inherits no other descriptor of the
// caller, which may be waiting for the end of its own output.

// Descriptors of the keeper.
const (
	keeperAnswer = 3
	keeperLog    = 4
)

var errKeeperOnly = cli.Usagef("option '--keeper' is for the command's own use")

// maxAnswer bounds the keeper's answer.
const maxAnswer = 64 << 10

// startKeeper starts the keeper and waits until it has created the stream.
func startKeeper(env *cli.Env, args *cli.Args, p *plan) (m made, err error) {
	log, err := logfile.Open(p.log, args.Has("no-clobber"))
	if err != nil {
		return m, err
	}
	defer func() {
		if err != nil {
			log.Discard()
		} else {
			log.Close()
		}
	}()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return m, cli.Failure("", err)
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return m, cli.Failure("pipe", err)
	}
	defer r.Close()
	// Options come first: an operand or -- of the caller would end them.
	argv := append([]string{env.Prog, "--keeper=" + p.target.String()}, p.hidePatterns(env.Args)...)
	files := []*os.File{null, null, null, w, log.File}
	if p.redact != nil {
		patterns, err := p.sendPatterns()
		if err != nil {
			return m, cli.Failure("pipe", err)
		}
		defer patterns.Close()
		files = append(files, patterns)
	}
	closeOnExec()
	child, err := os.StartProcess("/proc/self/exe", argv, &os.ProcAttr{
		Dir:   "/",
		Env:   os.Environ(),
		Files: files,
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	w.Close()
	if err != nil {
		return m, cli.Failure("keeper", err)
	}
	answer, _ := io.ReadAll(io.LimitReader(r, maxAnswer))
	lines := strings.Split(strings.TrimSuffix(string(answer), "\n"), "\n")
	switch {
	case len(lines) >= 3 && lines[0] == "ok":
		child.Release()
		return made{lines[1], lines[2], lines[3:]}, nil
	case len(lines) >= 2 && lines[0] == "failed":
		child.Wait()
		return m, &cli.Fault{Text: lines[1], Hint: strings.Join(lines[2:], "\n")}
	}
	child.Kill()
	child.Wait()
	return m, cli.Failf("the keeper of the log ended without an answer")
}

// closeOnExec keeps the caller's descriptors from the keeper, which would hold pipes open
// whose readers wait for their end.
func closeOnExec() {
	if unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range dir {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// keep is the keeper's main function: it creates the stream, answers, and owns the stream.
func keep(env *cli.Env, args *cli.Args) error {
	answer := os.NewFile(keeperAnswer, "answer")
	fail := func(err error) error {
		f := cli.AsFault(err)
		io.WriteString(answer, "failed\n"+strings.ReplaceAll(f.Text, "\n", " ")+"\n"+f.Hint)
		return cli.Exit(1)
	}
	caught := catchSignals(true)
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(keeperLog))
	if err != nil {
		return errKeeperOnly
	}
	p, err := newPlan(env, args)
	if err != nil {
		return fail(err)
	}
	p.conceal(env)
	log := &logfile.File{File: os.NewFile(keeperLog, path)}
	log.Unblock()
	fi, err := log.Stat()
	log.Held = err == nil && fi.Mode().IsRegular()
	var s *posixtrace.Stream
	var m made
	cli.Waiting(caught, func() { s, m, err = p.create(env, log) }, func() {})
	if err != nil {
		return fail(err)
	}
	var b bytes.Buffer
	b.WriteString("ok\n" + m.name + "\n" + m.path + "\n")
	for _, note := range m.notes {
		b.WriteString(note + "\n")
	}
	if _, err := answer.Write(b.Bytes()); err != nil {
		s.Shutdown()
		return err
	}
	answer.Close()
	return p.keepAlive(s, caught)
}

// catchSignals catches the signals that end a keeper, if on is set.
func catchSignals(on bool) chan os.Signal {
	c := make(chan os.Signal, 4)
	if on {
		signal.Notify(c, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	}
	return c
}

// goneInterval is how often a keeper checks whether another process shut its stream down.
const goneInterval = 200 * time.Millisecond

// keepAlive owns the stream until the stream is shut down, the target ends or a signal
// arrives.
func (p *plan) keepAlive(s *posixtrace.Stream, signals <-chan os.Signal) error {
	defer streams.WatchSpool(s)()
	defer p.watchTracer(s)()
	ended := awaitEnd(p.target)
	tick := time.NewTicker(goneInterval)
	defer tick.Stop()
	for {
		select {
		case <-signals:
			p.detach()
			s.SetLogTimeout(logfile.Grace)
			return s.Shutdown()
		case <-ended:
			go func() {
				<-signals
				s.SetLogTimeout(logfile.Grace)
			}()
			p.awaitLast()
			p.detach()
			return s.Shutdown()
		case <-tick.C:
			if _, err := s.Info(); err != nil {
				s.Shutdown() // has an effect if the stream's file was truncated
				return nil
			}
		}
	}
}

// A test replaces pidfdOpen.
var pidfdOpen = unix.PidfdOpen

// awaitEnd returns a channel that is closed when the process has ended.
func awaitEnd(p procfs.Process) <-chan struct{} {
	ended := make(chan struct{})
	fd, err := pidfdOpen(p.PID, 0)
	go func() {
		defer close(ended)
		if err == nil {
			defer unix.Close(fd)
		}
		for p.Alive() {
			if err != nil {
				time.Sleep(goneInterval)
				continue
			}
			fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			e := capture.Poll(fds, -1)
			if e == nil && fds[0].Revents != 0 {
				return
			}
			if e != nil {
				time.Sleep(goneInterval)
			}
		}
	}()
	return ended
}
