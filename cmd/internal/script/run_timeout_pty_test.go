package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// scriptAt runs a script that is not interactive at a terminal of its own, or without one if keys is nil,
// and returns what it prints up to a line that begins with "status". It types keys when the script
// has printed "ready".
func scriptAt(t *testing.T, text string, keys *string) string {
	t.Helper()
	dir := t.TempDir()
	traces, err := os.MkdirTemp("/dev/shm", "posixtrace-test-")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "script")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", path)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "LC_ALL=C")
	var from *os.File
	if keys != nil {
		from, err = pty.Start(cmd)
	} else {
		var to *os.File
		if from, to, err = os.Pipe(); err == nil {
			cmd.Stdout, cmd.Stderr = to, to
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			err = cmd.Start()
			to.Close()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		from.Close()
		cmd.Process.Kill()
		cmd.Wait()
		reap(t, "PTRACE_DIR="+traces)
		os.RemoveAll(traces)
	}()
	// What a stopped process holds open is closed when it is killed, which ends the read.
	late := time.AfterFunc(20*time.Second, func() { killAll("PTRACE_DIR=" + traces) })
	defer late.Stop()
	seen, buf, typed := "", make([]byte, 4096), false
	for {
		if _, after, ok := strings.Cut("\n"+seen, "\nstatus"); ok && strings.Contains(after, "\n") {
			return strings.ReplaceAll(seen, "\r", "")
		}
		if !typed && keys != nil && strings.Contains(seen, "ready") {
			from.WriteString(*keys)
			typed = true
		}
		n, err := from.Read(buf)
		seen += string(buf[:n])
		if err != nil {
			return strings.ReplaceAll(seen, "\r", "")
		}
	}
}

// killAll kills the processes with this setting in their environment.
func killAll(setting string) {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range environs {
		if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), setting) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// A time limit ends a command that the terminal has stopped, which is in the background of it.
func TestTimeLimitEndsStoppedCommand(t *testing.T) {
	none := ""
	run := func(options string) string { return "ptrace-run --dump=never -t 300ms " + options + " " }
	for _, tt := range []struct {
		name, script string
		keys         *string
	}{
		{"reads standard input", run("") + "sh -c 'read x'", &none},
		{"reads the terminal", run("") + "sh -c 'read x </dev/tty'", &none},
		{"asks for a password", run("") + "sh -c 'stty -echo </dev/tty; read x </dev/tty'", &none},
		{"changes the modes", run("") + "sh -c 'stty sane; exec sleep 60'", &none},
		{"writes with tostop", "stty tostop; " + run("") + "sh -c 'echo x; exec sleep 60'", &none},
		{"reads, output captured", run("-c --pty=no -o log") + "sh -c 'read x'", &none},
		{"reads, output in a file", run("-c -o log") + "sh -c 'read x </dev/tty' >out", &none},
		{"writes with tostop, output captured", "stty tostop; " + run("-c --pty=no -o log") + "sh -c 'echo x; exec sleep 60'", &none},
		{"reads, traced", run("-e proc -o log") + "sh -c 'read x'", &none},
		{"reads, with --live", run("-e proc --live") + "sh -c 'read x'", &none},
		{"reads, terminal of its own", run("-c --pty=yes -o log") + "sh -c 'read x </dev/tty'", &none},
		{"reads in the background, terminal of its own", "set -m; " + run("-c --pty=yes -o log") + "sh -c 'read x </dev/tty' & wait $!", &none},
		{"writes with tostop in the background, terminal of its own", "set -m; stty tostop; " + run("-c --pty=yes -o log") + "sh -c 'echo x; exec sleep 60' & wait $!", &none},
		{"ignores TERM", "ptrace-run --dump=never -t 300ms -k 300ms sh -c 'trap \"\" TERM; read x; read x; read x'; [ $? = 137 ] && (exit 124)", &none},
		{"in the foreground", run("--foreground") + "sh -c 'read x'", &none},
		{"TTIN without a terminal", run("") + "sh -c 'kill -TTIN 0; exec sleep 60'", nil},
		{"TTOU without a terminal", run("") + "sh -c 'kill -TTOU 0; exec sleep 60'", nil},
		{"TTIN with output captured", run("-c -o log") + "sh -c 'kill -TTIN 0; exec sleep 60'", nil},
		{"TTIN, traced", run("-e proc -o log") + "sh -c 'kill -TTIN 0; exec sleep 60'", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if out := scriptAt(t, tt.script+"\necho status $?\n", tt.keys); !strings.Contains(out, "status 124\n") {
				t.Errorf("the script prints %q", out)
			}
		})
	}
}

// With --foreground a command in a script has the terminal, as without a time limit: its keys and
// its signals. The limit ends the command alone.
func TestTimeLimitInTheForeground(t *testing.T) {
	for _, tt := range []struct{ name, script, keys, want string }{
		{"reads", "ptrace-run -t 60 --foreground sh -c 'echo ready; read x </dev/tty; echo got $x'", "line\n", "got line\nstatus 0\n"},
		{"is interrupted", "trap : INT; ptrace-run --dump=never -t 60 --foreground bash -c 'trap \"echo once; exit 3\" INT; echo ready; while :; do sleep 0.02; done'", "\x03", "once\nstatus 3\n"},
		{"is quit", "ulimit -c 0; trap : QUIT; ptrace-run --dump=never -t 60 --foreground sh -c 'echo ready; exec sleep 60'", "\x1c", "status 131\n"},
		{"leaves its children", "ptrace-run --dump=never -t 300ms --foreground sh -c 'sleep 60 & echo $! >pid; exec sleep 60'; [ $? = 124 ] && kill $(cat pid)", "", "status 0\n"},
		{"keys reach a terminal of its own", "ptrace-run -c --pty=yes -t 60 --foreground sh -c 'echo ready; read x </dev/tty; echo got $x'", "line\n", "got line\nstatus 0\n"},
		// Without --foreground, a key reaches the script only.
		{"in the background", "trap : INT; ptrace-run --dump=never -t 1 bash -c 'trap \"echo once\" INT; echo ready; exec sleep 60'", "\x03", "status 124\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := scriptAt(t, tt.script+"\necho status $?\n", &tt.keys)
			if !strings.HasSuffix(out, tt.want) || strings.Count(out, "once") != strings.Count(tt.want, "once") {
				t.Errorf("the script prints %q, want %q at its end", out, tt.want)
			}
		})
	}
}
