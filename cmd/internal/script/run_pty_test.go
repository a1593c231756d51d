package script_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// terminal is an interactive shell with job control.
type terminal struct {
	t     *testing.T
	pty   *os.File
	seen  string
	shell *os.Process
	dir   string // the working directory
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "posixtrace-test-")
	if err != nil {
		t.Fatal(err)
	}
	// Without line editing the shell does not change the terminal's modes.
	cmd := exec.Command("bash", "--norc", "--noprofile", "--noediting", "-i")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PS1=", "PTRACE_DIR="+dir, "PTRACE_STREAM=", "HISTFILE=", "TERM=dumb", "LC_ALL=C")
	f, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Close() // hangs up: the shell ends, and its jobs with it
		ended := time.AfterFunc(60*time.Second, func() { cmd.Process.Kill() })
		cmd.Wait()
		ended.Stop()
		reap(t, "PTRACE_DIR="+dir)
		os.RemoveAll(dir)
	})
	return &terminal{t: t, pty: f, shell: cmd.Process, dir: cmd.Dir}
}

// reap waits for the end of every process with this setting in its environment, which may
// still be completing its log, and kills those that do not end.
func reap(t *testing.T, setting string) {
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(time.Millisecond) {
		left := 0
		environs, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, name := range environs {
			if b, err := os.ReadFile(name); err != nil || !strings.Contains(string(b), setting) {
				continue
			}
			left++
			if time.Now().After(end) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
				t.Errorf("process %d does not end", pid)
				unix.Kill(pid, unix.SIGKILL)
			}
		}
		if left == 0 || time.Now().After(end.Add(5*time.Second)) {
			return
		}
	}
}

// typed sends keys to the terminal.
func (tm *terminal) typed(keys string) {
	tm.t.Helper()
	if _, err := tm.pty.WriteString(keys); err != nil {
		tm.t.Fatal(err)
	}
}

// expect reads until the terminal has shown text, and returns the output before it.
func (tm *terminal) expect(text string) string {
	tm.t.Helper()
	// A terminal has no read deadline; killing its session's leader hangs it up.
	late := time.AfterFunc(60*time.Second, func() { tm.shell.Kill() })
	defer late.Stop()
	buf := make([]byte, 4096)
	for {
		if before, after, ok := strings.Cut(tm.seen, text); ok {
			tm.seen = after
			return before
		}
		n, err := tm.pty.Read(buf)
		tm.seen += string(buf[:n])
		if err != nil {
			tm.t.Fatalf("the terminal shows %q, want %q: %v", tm.seen, text, err)
		}
	}
}

// until waits for a condition.
func (tm *terminal) until(what string, cond func() bool) {
	tm.t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if cond() {
			return
		}
	}
	tm.t.Fatalf("timed out waiting until %s; the terminal shows %q", what, tm.seen)
}

// foreground waits until the terminal belongs to a job and not to the shell. Before that,
// keys that send signals send them to the shell.
func (tm *terminal) foreground() {
	tm.t.Helper()
	tm.until("a job has the terminal", func() bool { group := tm.group(); return group != 0 && group != tm.shell.Pid })
}

// group returns the process group that has the terminal, 0 if that is unknown.
func (tm *terminal) group() int {
	group, err := unix.IoctlGetInt(int(tm.pty.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}

// modes returns the terminal's modes.
func (tm *terminal) modes() unix.Termios {
	tm.t.Helper()
	attr, err := unix.IoctlGetTermios(int(tm.pty.Fd()), unix.TCGETS)
	if err != nil {
		tm.t.Fatal(err)
	}
	return *attr
}

// raw waits until the terminal is raw, or no longer raw.
func (tm *terminal) raw(want bool) {
	tm.t.Helper()
	tm.until(fmt.Sprint("the terminal is raw: ", want), func() bool { return tm.modes().Lflag&unix.ICANON == 0 == want })
}

// run types a command line, waits for the shell's prompt, and returns the command's output.
func (tm *terminal) run(line string) string {
	tm.t.Helper()
	tm.typed(line + "; echo en\"\"d\n")
	tm.expect("\r\n") // the echo of the line
	return tm.expect("end\r\n")
}

// The keys of a terminal affect a wrapped command as they affect the command alone, and once.
func TestRunJobControl(t *testing.T) { jobControl(t, "") }

// jobControl runs the steps of TestRunJobControl with more options for ptrace-run.
func jobControl(t *testing.T, options string) {
	tm := newTerminal(t)
	// The shell joins the words, so that expect does not find them in the echo of the
	// line. The script keeps what a read had got of the line when it timed out.
	tm.typed(`ptrace-run --dump=never ` + options + ` bash -c 'trap "echo in""terrupted" INT; echo r""eady; y=; until read -t 0.05 x; do [ $? -gt 1 ] || break; y=$y$x; done; echo "e""nd $y$x"; exit 5'` + "\n")
	tm.expect("ready")
	tm.typed("\x1a")
	tm.expect("Stopped")
	tm.typed("echo sta\"\"tus $?\n")
	tm.expect("status 148")
	tm.typed("fg\n")
	tm.expect("until read") // the shell prints what it resumes,
	tm.foreground()         // and then gives it the terminal
	tm.typed("\x03")
	tm.expect("interrupted")
	tm.typed("line\n")
	tm.expect("end line")
	if n := strings.Count(tm.seen, "interrupted"); n != 0 {
		t.Errorf("the command was interrupted %d times too often", n)
	}
	tm.typed("echo sta\"\"tus $?\n")
	tm.expect("status 5")

	// A key kills a command that does not catch its signal.
	for _, tt := range []struct{ key, status string }{{"\x03", "status 130"}, {"\x1c", "status 131"}} {
		tm.typed("ulimit -c 0; ptrace-run --dump=never " + options + " sh -c 'echo r\"\"eady; exec sleep 120'\n")
		tm.expect("ready")
		tm.typed(tt.key)
		tm.typed("echo sta\"\"tus $?\n")
		tm.expect(tt.status)
	}
}
