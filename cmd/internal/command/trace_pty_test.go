package command

import (
	"strings"
	"testing"
)

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
		t.Run(options, func(t *testing.T) {
			tm := newTerminal(t)
			// Keys are to come to the pseudo-terminal, not to the shell outside, and the other way round.
			raw := func(want bool) {
				if strings.Contains(options, "-c") {
					tm.raw(want)
				}
			}
			tm.typed("PS1=outer- ptrace-run --dump=never " + options + " bash --norc --noediting -i\n")
			raw(true)
			tm.typed("PS1=in\"\"ner-\n")
			tm.expect("inner-")
			tm.typed("cat\n")
			tm.typed("echo\n")
			tm.expect("echo\r\necho\r\n")
			tm.typed("\x1a")
			tm.expect("Stopped")
			tm.expect("inner-")
			tm.typed("jobs; fg\n")
			tm.expect("Stopped")
			tm.expect("cat\r\ncat\r\n") // as jobs shows it, and as fg does
			tm.typed("again\n")
			tm.expect("again\r\nagain\r\n")
			tm.typed("\x03")
			tm.expect("inner-")
			tm.typed("exit 9\n")
			raw(false)
			tm.typed("echo sta\"\"tus $?\n")
			tm.expect("status 9")
		})
	}
}
