//go:build linux

// Package procfs reads /proc: the script that a command acts for, parents, process groups and start
// times, mounts; how long threads waited for a processor; what the machine did meanwhile.
package procfs

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Process identifies a process even after its pid is reused.
type Process struct {
	PID   int
	start string // start time, as the kernel prints it
}

// Identify returns the running process pid.
func Identify(pid int) (Process, error) {
	p := Process{PID: pid}
	if p.start = startOf(pid); p.start == "" {
		return p, fmt.Errorf("process %d: %w", pid, syscall.ESRCH)
	}
	return p, nil
}

// String returns the process in the form that Parse reads.
func (p Process) String() string { return strconv.Itoa(p.PID) + ":" + p.start }

var errProcess = errors.New("not a process")

// Parse is the inverse of String.
func Parse(s string) (Process, error) {
	pid, start, ok := strings.Cut(s, ":")
	n, err := strconv.Atoi(pid)
	if !ok || err != nil {
		return Process{}, errProcess
	}
	return Process{n, start}, nil
}

// Command returns the name of the program that the process executes.
func (p Process) Command() string {
	comm, err := os.ReadFile(File(p.PID, "comm"))
	if err != nil {
		return "trace"
	}
	return strings.TrimSuffix(string(comm), "\n")
}

// Alive reports whether the process is running.
func (p Process) Alive() bool { return startOf(p.PID) == p.start }

// ended reports whether a process has ended, from its state and number of threads. A
// process whose main thread has ended has the state of a zombie while other threads run.
func ended(state, threads string) bool {
	return state == "X" || state == "Z" && (threads == "0" || threads == "1")
}

// startOf returns the start time of a process, or "" if it does not exist or is a zombie.
func startOf(pid int) string {
	f := StatFields(pid)
	if len(f) < 20 || ended(f[0], f[17]) {
		return ""
	}
	return f[19]
}
