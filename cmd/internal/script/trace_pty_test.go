package script_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// tracings are the ways of tracing processes: without calls, all calls, a filter.
var tracings = []string{"--make", "-e proc,signal", "-e syscall", "-e syscall.read,syscall.openat"}

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

// A key interrupts make and the line of a recipe that runs as without ptrace-run: make deletes the
// target and ends.
func TestMakeInterrupted(t *testing.T) {
	tracetest.NeedProgram(t, "make")
	tm := newTerminal(t)
	makefile := "x.o:\n\t@echo half >$@; echo r''eady; read line\n"
	if err := os.WriteFile(filepath.Join(tm.dir, "Makefile"), []byte(makefile), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"make", "ptrace-run --make -o x.trace make", "ptrace-run --make -c -o x.trace make"} {
		tm.typed(how + "\n")
		tm.expect("ready")
		tm.foreground()
		tm.typed("\x03")
		tm.expect("make: *** Deleting file 'x.o'\r\n")
		tm.until("the shell has the terminal", func() bool { return tm.group() == tm.shell.Pid })
		tm.typed("echo sta\"\"tus $?\n")
		tm.expect("status ")
		// In one of twenty cases, make 4.3 fails instead: "wait: No child processes".
		if status := tm.expect("\r\n"); status != "130" && status != "2" {
			t.Errorf("%s: status %s", how, status)
		}
		if files := tm.run("ls"); strings.Contains(files, "x.o") {
			t.Errorf("%s: left %q", how, files)
		}
	}
	if out := tm.run("ptrace-dump -e make.end --format=%d x.trace"); out != "130\r\n" {
		t.Errorf("the line ended with %q", out)
	}
}
