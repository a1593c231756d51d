package command

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// process is a process and not just a number: numbers are used again.
type process struct {
	pid   int
	start string // when it started, in the kernel's own words
}

// identify looks a process up.
func identify(pid int) (process, error) {
	p := process{pid: pid}
	if p.start = startOf(pid); p.start == "" {
		return p, failf("process %d: %s", pid, strerror(syscall.ESRCH))
	}
	return p, nil
}

// String is the form of a process that parseProcess reads.
func (p process) String() string { return strconv.Itoa(p.pid) + ":" + p.start }

var errProcess = errors.New("not a process")

// parseProcess reads what String returns.
func parseProcess(s string) (process, error) {
	pid, start, ok := strings.Cut(s, ":")
	n, err := strconv.Atoi(pid)
	if !ok || err != nil {
		return process{}, errProcess
	}
	return process{n, start}, nil
}

// command returns the name of the program that the process runs.
func (p process) command() string {
	comm, err := os.ReadFile(procFile(p.pid, "comm"))
	if err != nil {
		return "trace"
	}
	return strings.TrimSuffix(string(comm), "\n")
}

// alive reports whether the process has not ended.
func (p process) alive() bool { return startOf(p.pid) == p.start }

// ended reports whether a process has ended, by its state and how many threads it has: one whose main
// thread has ended shows the state of a zombie while others go on.
func ended(state, threads string) bool {
	return state == "X" || state == "Z" && (threads == "0" || threads == "1")
}

// startOf returns when a process started, "" when there is none or only what is
// left of one that ended.
func startOf(pid int) string {
	stat, err := os.ReadFile(procFile(pid, "stat"))
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
