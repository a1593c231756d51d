package script_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// These tests kill the process that passes output on and records it: ptrace-run, or a ptrace-event
// in its command.

const teeLine = " | { echo $BASHPID >pid; exec ptrace-event --lines=tee line; }; true"

// Output that was shown is in the log, whenever the process that showed it was killed. Where a limit
// loses lines, they count as lost.
func TestShownOutputIsRecorded(t *testing.T) {
	const (
		endless = "seq 100000000"
		shell   = `eval "$(ptrace-event --shell=bash)"; for ((i = 1; ; i++)); do pt line $i; echo $i; done`
	)
	stdout, line := []string{"output.stdout"}, []string{"line"}
	for _, tt := range []struct {
		name    string
		options []string
		command string
		events  []string // of the files out and err
		size    int      // of out when the process is killed
		tee     bool     // the process is the ptrace-event of teeLine, else ptrace-run
		limited bool     // lines may be lost
	}{
		{"pipe", []string{"-c"}, "exec " + endless + " 2>&1", stdout, 1 << 20, false, false},
		{"two pipes", []string{"--capture=out,err"}, endless + " & exec " + endless + " >&2", []string{"output.stdout", "output.stderr"}, 1 << 20, false, false},
		{"terminal", []string{"-c", "--pty=yes"}, "exec " + endless, stdout, 1 << 20, false, false},
		{"redacted", []string{"-c", "--redact=zzz"}, "exec " + endless, stdout, 1 << 20, false, false},
		{"full stream", []string{"-c", "--stream-full-policy=until-full", "--stream-size=64K"}, "exec " + endless, stdout, 1 << 20, false, true},
		{"full log", []string{"-c", "--log-full-policy=until-full", "--log-size=1M"}, "exec " + endless, stdout, 1 << 20, false, true},
		{"tee", nil, endless + teeLine, line, 1 << 20, true, true},
		{"tee to a named stream", nil, endless + strings.Replace(teeLine, "--lines", "-S $PTRACE_STREAM --lines", 1), line, 1 << 20, true, false},
		{"spool", nil, shell, line, 1 << 12, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rounds := 3
			if tracetest.Full() {
				rounds = 40
			}
			for round := range rounds {
				k := newKilled(t)
				k.run(tt.options, tt.command)
				k.h.wait("output", func() bool { return len(k.shown("out")) > tt.size })
				time.Sleep(time.Duration(round) * 700 * time.Microsecond) // kill at different instants
				if tt.tee {
					k.killTee()
					k.killRest(k.cmd.Process.Pid)
					k.cmd.Wait()
				} else {
					k.kill()
				}
				missing := 0
				for i, event := range tt.events {
					missing += k.missing(event, k.shown([]string{"out", "err"}[i]))
				}
				// Beside the lines that are missing, the beginning of one more may have been shown or read.
				lost := k.lost()
				if lost < missing || !tt.limited && (missing > 0 || lost > len(tt.events)) {
					t.Errorf("the log lacks %d lines that were shown, and %d count as lost", missing, lost)
				}
			}
		})
	}
}

// A line of which only the beginning was shown counts as lost, and nothing else does.
func TestShownBeginningIsCounted(t *testing.T) {
	const three = "seq 3 && printf 4"
	for _, tt := range []struct {
		name    string
		options []string
		command string
		shown   string
		lost    int
	}{
		{"pipe", []string{"-c"}, three, "1\n2\n3\n4", 1},
		{"pipe, whole lines", []string{"-c"}, "seq 3", "1\n2\n3\n", 0},
		{"pipe, ended later", []string{"-c"}, three + "; until grep -q 4 out; do sleep 0.01; done; echo", "1\n2\n3\n4\n", 0},
		{"terminal", []string{"-c", "--pty=yes"}, three, "1\n2\n3\n4", 1},
		{"terminal, whole lines", []string{"-c", "--pty=yes"}, "seq 3", "1\n2\n3\n", 0},
		{"rejected", []string{"-c", "-x", "output.stdout"}, three, "1\n2\n3\n4", 0},
		{"loop", []string{"-c", "--stream-full-policy=loop"}, three, "1\n2\n3\n4", 1},
		{"until full", []string{"-c", "--stream-full-policy=until-full"}, three, "1\n2\n3\n4", 1},
		{"tee", nil, three, "1\n2\n3\n4", 1},
		{"tee, whole lines", nil, "seq 3", "1\n2\n3\n", 0},
		{"tee, completed by the owner", nil, three, "1\n2\n3\n4", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := newKilled(t)
			command, tee := tt.command+"; exec sleep 600", strings.HasPrefix(tt.name, "tee")
			if tee {
				command = "{ " + command + "; }" + teeLine
			}
			k.run(tt.options, command)
			k.h.wait("output", func() bool { return string(k.shown("out")) == tt.shown })
			event := "output.stdout"
			if tee {
				k.killTee()
				event = "line"
			}
			if strings.Contains(tt.name, "owner") {
				k.killRest(k.cmd.Process.Pid)
				k.cmd.Wait()
			} else {
				k.kill()
			}
			if missing := k.missing(event, k.shown("out")); missing > 0 && tt.name != "rejected" {
				t.Errorf("the log lacks %d lines that were shown", missing)
			}
			if lost := k.lost(); lost != tt.lost {
				t.Errorf("%d events count as lost, want %d", lost, tt.lost)
			}
		})
	}
}

// killed is a run of ptrace-run of which a process is killed.
type killed struct {
	t   *testing.T
	h   *crashes
	cmd *exec.Cmd
	log string
}

func newKilled(t *testing.T) *killed {
	h := newCrashes(t)
	return &killed{t: t, h: h, log: filepath.Join(h.dir, "log")}
}

// run starts a command with its output in the file out and its errors in err.
func (k *killed) run(options []string, command string) {
	k.t.Helper()
	out, err := os.Create(filepath.Join(k.h.dir, "out"))
	if err != nil {
		k.t.Fatal(err)
	}
	defer out.Close()
	errs, err := os.Create(filepath.Join(k.h.dir, "err"))
	if err != nil {
		k.t.Fatal(err)
	}
	defer errs.Close()
	k.cmd = k.h.command(slices.Concat([]string{"ptrace-run", "-o", k.log}, options, []string{"bash", "-c", command})...)
	k.cmd.Stdout, k.cmd.Stderr = out, errs
	if err := k.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() {
		k.cmd.Process.Kill()
		k.cmd.Wait()
		k.killRest()
	})
}

// shown returns what stands in out or err.
func (k *killed) shown(name string) []byte {
	k.t.Helper()
	b, err := os.ReadFile(filepath.Join(k.h.dir, name))
	if err != nil {
		k.t.Fatal(err)
	}
	return b
}

// kill kills ptrace-run, and then the rest of the run.
func (k *killed) kill() {
	k.t.Helper()
	k.cmd.Process.Kill()
	k.cmd.Wait()
	k.killRest()
}

// killTee kills the ptrace-event of teeLine.
func (k *killed) killTee() {
	k.t.Helper()
	b, err := os.ReadFile(filepath.Join(k.h.dir, "pid"))
	if err != nil {
		k.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		k.t.Fatal(err)
	}
	syscall.Kill(pid, syscall.SIGKILL)
	k.h.wait("end of ptrace-event", func() bool { return !alive(pid) })
}

// killRest kills the processes of the run that remain, except those in not.
func (k *killed) killRest(not ...int) {
	k.t.Helper()
	k.h.wait("end of the run", func() bool {
		left := k.h.processes(not...)
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		return left == nil
	})
}

// missing returns how many of the whole lines that were shown the log lacks. The lines are numbers that rise.
func (k *killed) missing(event string, shown []byte) int {
	k.t.Helper()
	recorded := []byte(k.h.output("ptrace-dump", "-e", event, `--format=%d\n`, k.log))
	shown = shown[:bytes.LastIndexByte(shown, '\n')+1]
	missing := 0
	for line := range bytes.Lines(shown) {
		if rest, ok := bytes.CutPrefix(recorded, line); ok {
			recorded = rest
		} else {
			missing++
		}
	}
	return missing
}

var lostEvents = regexp.MustCompile(`: ([0-9]+) events? (?:was|were) lost`)

// lost returns how many events the log says are lost.
func (k *killed) lost() int {
	k.t.Helper()
	check := k.h.command("ptrace-dump", "--check", "--strict", k.log)
	said, _ := check.CombinedOutput()
	if m := lostEvents.FindSubmatch(said); m != nil {
		n, _ := strconv.Atoi(string(m[1]))
		return n
	}
	if !check.ProcessState.Success() {
		k.t.Errorf("ptrace-dump --check --strict: %v, %s", check.ProcessState, said)
	}
	return 0
}
