// Package process looks processes up in /proc: the script that a command acts for,
// parents, groups, start times.
package process

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// Process is a process and not just a number: numbers are used again.
type Process struct {
	PID   int
	start string // when it started, in the kernel's own words
}

// Identify looks a process up.
func Identify(pid int) (Process, error) {
	p := Process{PID: pid}
	if p.start = startOf(pid); p.start == "" {
		return p, cli.Failf("process %d: %s", pid, cli.Strerror(syscall.ESRCH))
	}
	return p, nil
}

// String is the form of a process that parseProcess reads.
func (p Process) String() string { return strconv.Itoa(p.PID) + ":" + p.start }

var errProcess = errors.New("not a process")

// Parse reads what String returns.
func Parse(s string) (Process, error) {
	pid, start, ok := strings.Cut(s, ":")
	n, err := strconv.Atoi(pid)
	if !ok || err != nil {
		return Process{}, errProcess
	}
	return Process{n, start}, nil
}

// Command returns the name of the program that the process runs.
func (p Process) Command() string {
	comm, err := os.ReadFile(File(p.PID, "comm"))
	if err != nil {
		return "trace"
	}
	return strings.TrimSuffix(string(comm), "\n")
}

// Alive reports whether the process has not ended.
func (p Process) Alive() bool { return startOf(p.PID) == p.start }

// ended reports whether a process has ended, by its state and how many threads it has: one whose main
// thread has ended shows the state of a zombie while others go on.
func ended(state, threads string) bool {
	return state == "X" || state == "Z" && (threads == "0" || threads == "1")
}

// startOf returns when a process started, "" when there is none or only what is
// left of one that ended.
func startOf(pid int) string {
	stat, err := os.ReadFile(File(pid, "stat"))
	if err != nil {
		return ""
	}
	// The name in parentheses may hold anything, parentheses too.
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(f) < 20 || ended(f[0], f[17]) {
		return ""
	}
	return f[19]
}
