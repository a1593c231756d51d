package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A source is a way in which the kernel reports what programs do.
type source interface {
	// start starts the command, the events of which the source reports.
	start(cmd *exec.Cmd) error
	// read waits for events for a short time, and counts them.
	read(n *counts) error
}

// counts are the events that a source has reported. lost says how many it has dropped, or, if it does not
// say how many, how often.
type counts struct{ forks, execs, exits, calls, returns, lost int }

var sources = map[string]func() (source, error){
	"perf":        func() (source, error) { return openPerf(taskRecords) },
	"tracepoints": func() (source, error) { return openPerf(taskPoints) },
	"calls":       func() (source, error) { return openPerf(callPoints) },
	"connector":   openConnector,
	"notify-exec": func() (source, error) { return openNotify(unix.SYS_EXECVE) },
	"notify-read": func() (source, error) { return openNotify(unix.SYS_READ) },
}

// watch runs a command while it reads a source of events, and prints on standard error how many there were.
func watch(args []string) error {
	if len(args) < 2 || sources[args[0]] == nil {
		return errors.New("wrong arguments")
	}
	s, err := sources[args[0]]()
	if err != nil {
		return err
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	runtime.LockOSThread() // the command is this thread's child, and inherits what counts its events
	if err := s.start(cmd); err != nil {
		return err
	}
	var ended atomic.Bool
	result := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		ended.Store(true)
		result <- err
	}()
	var n counts
	for {
		last := ended.Load()
		if err := s.read(&n); err != nil {
			return err
		}
		if last {
			break
		}
	}
	fmt.Fprintf(os.Stderr, "%s: %d forks, %d execs, %d exits, %d calls, %d returns, %d lost\n", args[0], n.forks, n.execs, n.exits, n.calls, n.returns, n.lost)
	return <-result
}

// readable waits for one of several descriptors, for a short time.
func readable(fds []int) error {
	list := make([]unix.PollFd, len(fds))
	for i, fd := range fds {
		list[i] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	}
	_, err := unix.Poll(list, int((5 * time.Millisecond).Milliseconds()))
	if err == unix.EINTR {
		err = nil
	}
	return err
}

// tracepoint returns the number of a trace point of the kernel.
func tracepoint(name string) (id uint64, err error) {
	b, err := os.ReadFile("/sys/kernel/tracing/events/" + name + "/id")
	if err == nil {
		_, err = fmt.Sscan(strings.TrimSpace(string(b)), &id)
	}
	return id, err
}
