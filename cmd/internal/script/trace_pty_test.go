package script_test

import "testing"

// tracings are the ways of tracing processes: without calls, all calls, a filter.
var tracings = []string{"-e proc,signal", "-e syscall", "-e syscall.read,syscall.openat"}

// The keys of a terminal stop, continue and interrupt a traced command as they do without
// tracing.
func TestTraceJobControl(t *testing.T) {
	for _, options := range tracings {
		t.Run(options, func(t *testing.T) { jobControl(t, options) })
	}
}

// A traced shell has job control, on the user's terminal and on a pseudo-terminal.
func TestTraceShell(t *testing.T) {
	for _, options := range append(tracings, "-c -e proc,syscall.read") {
		t.Run(options, func(t *testing.T) { shellJobs(t, "--dump=never "+options) })
	}
}
