package script_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// lines returns the recorded output, one line per event.
func (tm *terminal) lines(trace string) string {
	tm.t.Helper()
	return tm.run("ptrace-dump -e output.stdout --format='%d\\n' " + trace)
}

// pid waits for a number in a file and returns it.
func (tm *terminal) pid(name string) (pid int) {
	tm.t.Helper()
	tm.until(name+" holds a number", func() bool {
		b, _ := os.ReadFile(filepath.Join(tm.dir, name))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		return pid > 0
	})
	return pid
}

// jobStopped waits until the shell reports a stopped job.
func (tm *terminal) jobStopped() {
	tm.t.Helper()
	last := ""
	defer func() {
		if tm.t.Failed() {
			tm.t.Logf("jobs: %q", last)
		}
	}()
	tm.until("a job is stopped", func() bool {
		if jobs := tm.run("jobs"); jobs != last {
			last += jobs
		}
		return strings.Contains(last, "Stopped")
	})
}

// script writes a shell script.
func (tm *terminal) script(name, text string) {
	tm.t.Helper()
	if err := os.WriteFile(filepath.Join(tm.dir, name), []byte(text), 0o666); err != nil {
		tm.t.Fatal(err)
	}
}

// A captured command at a terminal has a terminal like the user's. Keys and signals stop,
// continue, interrupt and resize it as without ptrace-run.
func TestRunConsoleJobControl(t *testing.T) {
	tm := newTerminal(t)
	pty.Setsize(tm.pty, &pty.Winsize{Rows: 33, Cols: 77})
	before := tm.modes()
	tm.script("job", `
		trap 'echo interrupted' INT
		[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo terminal
		echo at $(stty size)
		mkfifo never; exec 9<>never
		until [ -e go ]; do read -t 0.02 -u 9; done
		until [ "$(stty size)" = "44 88" ]; do :; done
		echo size 44 88
		read x; echo "got $x"
		while :; do read x && continue; [ $? -gt 128 ] || break; done
		echo closed
		exit 5
	`)
	tm.typed("ptrace-run -c -o x.trace bash job\n")
	tm.expect("terminal\r\nat 33 77\r\n")
	tm.raw(true)
	tm.typed("\x1a")
	tm.expect("Stopped")
	tm.typed("echo sta\"\"tus $?\n")
	tm.expect("status 148")
	if now := tm.modes(); now != before {
		t.Errorf("while the command is stopped, the terminal's modes are %+v, want %+v", now, before)
	}
	tm.typed("fg\n")
	tm.raw(true)
	tm.typed("\x03")
	tm.expect("interrupted")
	pty.Setsize(tm.pty, &pty.Winsize{Rows: 44, Cols: 88})
	tm.script("go", "")
	tm.expect("size 44 88\r\n")
	tm.typed("word\n")
	tm.expect("got word\r\n")
	tm.typed("\x04")
	tm.expect("closed\r\n")
	tm.raw(false) // keys are the shell's again
	tm.typed("echo sta\"\"tus $?\n")
	tm.expect("status 5")
	if now := tm.modes(); now != before {
		t.Errorf("after the command, the terminal's modes are %+v, want %+v", now, before)
	}
	lines := tm.lines("x.trace")
	for _, want := range []string{"\nterminal\r", "\nat 33 77\r", "\nsize 44 88\r", "\ngot word\r", "\nclosed\r"} {
		if !strings.Contains("\n"+lines, want) {
			t.Errorf("%q is missing from the recorded lines:\n%s", want, lines)
		}
	}
	if strings.Contains(lines, `\x0d`) {
		t.Errorf("a carriage return was recorded:\n%s", lines)
	}
}

// A shell in ptrace-run has job control of its own.
func TestRunConsoleShell(t *testing.T) { shellJobs(t, "-c -o x.trace") }

// shellJobs uses the jobs of a shell in ptrace-run with these options.
func shellJobs(t *testing.T, options string) {
	tm := newTerminal(t)
	// Wait until the keys go to the pseudo-terminal, and later to the outer shell again.
	raw := func(want bool) {
		if strings.Contains(options, "-c") {
			tm.raw(want)
		}
	}
	tm.typed("PS1=outer- ptrace-run " + options + " bash --norc --noediting -i\n")
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
}

// While ptrace-run is in the background, the terminal belongs to the shell. A command that
// needs the terminal stops until it is in the foreground.
func TestRunConsoleInBackground(t *testing.T) {
	tm := newTerminal(t)
	before := tm.modes()
	// Start it in the background.
	tm.typed("ptrace-run -c --pty=yes -o x.trace sh -c 'read x; echo got $x' & run=$!\n")
	tm.jobStopped()
	if now := tm.modes(); now != before {
		t.Errorf("with the command in the background, the terminal's modes are %+v, want %+v", now, before)
	}
	tm.typed("fg\n")
	tm.raw(true)
	tm.typed("one\n")
	tm.expect("got one\r\n")
	tm.raw(false)
}

// A command that is moved to the background leaves the terminal to the shell.
func TestRunConsoleSentToBackground(t *testing.T) {
	tm := newTerminal(t)
	before := tm.modes()
	// Fork no process in the loop: a child that is stopped before it executes its program
	// keeps the shell that has just forked it from stopping.
	tm.script("job", "mkfifo never; exec 9<>never; echo ready; until [ -e go ]; do read -t 0.02 -u 9; done; echo shown; read x; echo got $x")
	tm.typed("ptrace-run -c -o x.trace bash job\n")
	tm.expect("ready")
	tm.typed("\x1a")
	tm.expect("Stopped")
	tm.typed("bg; >go\n")
	tm.expect("shown\r\n")
	tm.jobStopped()
	if now := tm.modes(); now != before {
		t.Errorf("after the move to the background, the terminal's modes are %+v, want %+v", now, before)
	}
	tm.typed("fg\n")
	tm.raw(true)
	tm.typed("two\n")
	tm.expect("got two\r\n")
	tm.raw(false)
}

// At the end of a pipeline, ptrace-run does not read keys until the command does.
func TestRunConsolePipeline(t *testing.T) {
	tm := newTerminal(t)
	tm.typed("head -n 1 | ptrace-run -c -o x.trace bash -c 'read x; echo got $x; read y </dev/tty; echo and $y; read z </dev/tty'\n")
	tm.foreground()
	tm.typed("line\n")
	tm.expect("got line\r\n")
	tm.raw(true)
	tm.typed("key\n")
	tm.expect("and key\r\n")
	tm.typed("\x1a")
	tm.expect("Stopped")
	tm.raw(false)
	tm.typed("fg\n")
	tm.raw(true)
	tm.typed("\x03")
	tm.raw(false)
	tm.typed("echo sta\"\"tus $?\n")
	tm.expect("status 130")
	tm.raw(false)
}

// ptrace-run restores the terminal when a signal ends it.
func TestRunConsoleKilled(t *testing.T) {
	tm := newTerminal(t)
	before := tm.modes()
	for _, sig := range []unix.Signal{unix.SIGALRM, unix.SIGABRT, unix.SIGSEGV, unix.SIGXCPU, 34, 64} {
		os.Remove(filepath.Join(tm.dir, "pid"))
		tm.typed("ulimit -c 0; ptrace-run -c -o x.trace sh -c 'echo $PPID >parent; echo $$ >pid; exec sleep 120'\n")
		pid := tm.pid("pid")
		tm.raw(true)
		monitor := tm.pid("parent")
		outer, ok := procfs.Parent(monitor)
		if !ok {
			t.Fatal("no ptrace-run")
		}
		unix.Kill(outer, sig)
		tm.raw(false)
		tm.typed("echo sta\"\"tus $?\n")
		tm.expect("status " + strconv.Itoa(128+int(sig)))
		if now := tm.modes(); now != before {
			t.Errorf("killed by %v, the terminal is set to %+v, not %+v", sig, now, before)
		}
		tm.until("the command is hung up", func() bool { _, ok := procfs.Parent(pid); return !ok })
	}
	// A forwarded signal kills the command, and ptrace-run then kills itself by it.
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGINT, unix.SIGQUIT} {
		os.Remove(filepath.Join(tm.dir, "pid"))
		tm.typed("ptrace-run -c -o x.trace sh -c 'echo $PPID >parent; echo $$ >pid; exec sleep 120'\n")
		tm.pid("pid")
		tm.raw(true)
		outer, ok := procfs.Parent(tm.pid("parent"))
		if !ok {
			t.Fatal("no ptrace-run")
		}
		unix.Kill(outer, sig)
		tm.raw(false)
		tm.typed("echo sta\"\"tus $?\n")
		tm.expect("status " + strconv.Itoa(128+int(sig)))
		if now := tm.modes(); now != before {
			t.Errorf("killed by %v, the terminal is set to %+v, not %+v", sig, now, before)
		}
	}
}

// A key that interrupts the command interrupts the script that waits for ptrace-run.
func TestRunConsoleInterruptsScript(t *testing.T) {
	for _, tt := range []struct{ key, status string }{{"\x03", "status 130"}, {"\x1c", "status 131"}} {
		tm := newTerminal(t)
		tm.script("script", "ptrace-run -c -o x.trace sh -c 'echo ready; exec sleep 120'; echo next; exit 9")
		tm.typed("ulimit -c 0; sh script\n")
		tm.expect("ready\r\n")
		tm.raw(true)
		tm.typed(tt.key)
		tm.raw(false)
		tm.typed("echo sta\"\"tus $?\n")
		if seen := tm.expect(tt.status); strings.Contains(seen, "next") {
			t.Errorf("the script continues: %q", seen)
		}
	}
}

// ptrace-run restores the terminal if its monitor is killed.
func TestRunConsoleMonitorKilled(t *testing.T) {
	tm := newTerminal(t)
	before := tm.modes()
	tm.typed("ptrace-run -c -o x.trace sh -c 'echo $PPID >parent; exec sleep 120'\n")
	monitor := tm.pid("parent")
	tm.raw(true)
	unix.Kill(monitor, unix.SIGKILL)
	tm.expect("the monitor of its terminal ended\r\n")
	tm.raw(false)
	if now := tm.modes(); now != before {
		t.Errorf("after the monitor was killed, the terminal's modes are %+v, want %+v", now, before)
	}
}

// System calls that a filter refuses do not disturb the command, and cause no busy loop.
func TestRunConsoleRefused(t *testing.T) {
	for _, call := range []string{"wait4", "poll"} {
		tm := newTerminal(t)
		// The shell waits for no process.
		tm.typed("trace-refused " + call + " ptrace-run -c -o x.trace sh -c 'read x; echo $x; read x; exit 3'; echo sta\"\"tus $?\n")
		tm.raw(true)
		tm.typed("some words\n")
		tm.expect("some words\r\nsome words\r\n")
		tm.typed("\n")
		tm.expect("status 3\r\n")
	}
}

// A background command that needs the terminal stops with its job, also if ptrace-run does
// not capture output.
func TestRunBackground(t *testing.T) {
	tm := newTerminal(t)
	tm.typed("ptrace-run --dump=never sh -c 'read x; echo got $x' &\n")
	tm.jobStopped()
	tm.typed("fg\n")
	tm.expect("got $x'\r\n")
	tm.foreground()
	tm.typed("one\n")
	tm.expect("got one\r\n")
	// Nor does ptrace-run do what the terminal refuses to background processes, such as
	// writing.
	tm.typed("stty tostop; ptrace-run --dump=never -c echo words &\n")
	tm.jobStopped()
	tm.typed("fg\n")
	tm.expect("words\r\n")
}

// Processes that outlive the command get no SIGHUP, and their output is first recorded, then
// copied.
func TestRunConsoleKeepsLeftProcesses(t *testing.T) {
	tm := newTerminal(t)
	tm.script("job", `
		(echo $$ >pid; until [ -e go ]; do sleep 0.02; done; echo late; until [ -e done ]; do sleep 0.02; done; echo last) &
		echo early
	`)
	tm.typed("ptrace-run -c --drain=100ms -o x.trace sh job\n")
	tm.expect("early\r\n")
	tm.raw(false)
	tm.typed("echo sta\"\"tus $?\n")
	tm.expect("status 0")
	tm.typed(">go\n")
	tm.expect("\nlate\r\n")
	tm.typed(">done\n")
	tm.expect("\nlast\r\n")
	if lines := tm.lines("x.trace"); lines != "early\r\n" {
		t.Errorf("the recorded lines are %q", lines)
	}
}

// The terminal gets the same bytes as without ptrace-run.
func TestRunConsolePreservesBytes(t *testing.T) {
	tm := newTerminal(t)
	var b strings.Builder
	for c := range 256 {
		b.WriteString("x" + string([]byte{byte(c)}) + "y\n")
	}
	b.WriteString("\r\n\r\r\n\n\xc3")
	b.WriteString(strings.Repeat("long ", 5000))
	b.WriteString("\ttab\tand no newline")
	tm.script("bytes", b.String())
	tm.script("rest", "\xa9\n")
	alone := tm.run("cat bytes rest")
	wrapped := tm.run("ptrace-run -c -o x.trace cat bytes rest")
	if wrapped != alone {
		t.Errorf("wrapped, %d bytes %.300q...; alone, %d bytes %.300q...", len(wrapped), wrapped, len(alone), alone)
	}
	// If the terminal's output processing is off, so is that of the pseudo-terminal.
	alone = tm.run("stty -opost; cat bytes rest; stty opost")
	wrapped = tm.run("stty -opost; ptrace-run -c -o x.trace cat bytes rest; stty opost")
	if wrapped != alone {
		t.Errorf("without processing: wrapped, %d bytes %.300q...; alone, %d bytes %.300q...", len(wrapped), wrapped, len(alone), alone)
	}
}

// A command that cannot be started has the same message and status with a pseudo-terminal.
func TestRunConsoleStartErrors(t *testing.T) {
	tm := newTerminal(t)
	tm.script("plain", "no program")
	tm.script("noshebang", "echo shell \"$@\"")
	for _, tt := range []struct{ line, want string }{
		{"ptrace-run -c -o x.trace nosuchcommand; echo $?", "ptrace-run: nosuchcommand: No such file or directory\r\n127\r\n"},
		{"ptrace-run -c -o x.trace ./plain; echo $?", "ptrace-run: ./plain: Permission denied\r\n126\r\n"},
		{"chmod +x noshebang; ptrace-run -c -o x.trace ./noshebang a b; echo $?", "shell a b\r\n0\r\n"},
		{"ptrace-run -c -o x.trace sh -c 'kill -KILL $$'; echo $?", "Killed\r\n137\r\n"},
		{"ptrace-run -c -t 50ms -o x.trace sleep 120; echo $?", "124\r\n"},
		{"ptrace-run -c -t 50ms -s WINCH -k 50ms -o x.trace sleep 120; echo $?", "137\r\n"},
		{"ptrace-run -c -o x.trace grep -E 'Sig(Blk|Ign)' /proc/self/status | tr -s '\\t' ' '", "SigBlk: 0000000000000000\r\nSigIgn: 0000000000000000\r\n"},
	} {
		if got := tm.run(tt.line); !strings.HasSuffix(got, tt.want) {
			t.Errorf("%s shows %q, want %q", tt.line, got, tt.want)
		}
	}
	// The command inherits no descriptor of ptrace-run, and all of the caller's.
	alone := tm.run("bash -c 'ls /proc/self/fd' 7</dev/null 25</dev/null")
	if wrapped := tm.run("ptrace-run -c -o x.trace bash -c 'ls /proc/self/fd' 7</dev/null 25</dev/null"); wrapped != alone {
		t.Errorf("descriptors %q, alone %q", wrapped, alone)
	}
}
