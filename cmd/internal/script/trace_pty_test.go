package script_test

import "testing"

// Each way of tracing processes.
var tracings = []string{"-e proc,signal", "-e syscall", "-e syscall.read,syscall.openat"}

// A command whose processes are traced is stopped, continued and interrupted by the keys of its
// terminal like one alone.
func TestTraceJobControl(t *testing.T) {
	for _, options := range tracings {
		t.Run(options, func(t *testing.T) { jobControl(t, options) })
	}
}

// A shell whose processes are traced has jobs of its own, on the user's terminal and on
// a pseudo-terminal.
func TestTraceShell(t *testing.T) {
	for _, options := range append(tracings, "-c -e proc,syscall.read") {
		t.Run(options, func(t *testing.T) { shellJobs(t, "--dump=never "+options) })
	}
}
