package script_test

import "testing"

// All ways to trace processes.
var tracings = []string{"-e proc,signal", "-e syscall", "-e syscall.read,syscall.openat"}

// The keys of the terminal stop, continue and interrupt a command whose processes are
// traced as they do without tracing.
func TestTraceJobControl(t *testing.T) {
	for _, options := range tracings {
		t.Run(options, func(t *testing.T) { jobControl(t, options) })
	}
}

// A shell whose processes are traced has jobs of its own, on the user's terminal and on a
// pseudo-terminal.
func TestTraceShell(t *testing.T) {
	for _, options := range append(tracings, "-c -e proc,syscall.read") {
		t.Run(options, func(t *testing.T) { shellJobs(t, "--dump=never "+options) })
	}
}
