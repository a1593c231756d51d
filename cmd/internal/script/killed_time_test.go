package script_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The times of a log whose owner was killed end with the run, whenever and by which command the log is
// completed.
func TestKilledLogEnds(t *testing.T) {
	const ready = "echo ready; echo >ready; "
	run := func(options string) []string {
		return append(append([]string{"ptrace-run", "-o", "log"}, strings.Fields(options)...), "bash", "-c")
	}
	for _, tt := range []struct {
		name    string
		args    []string // a shell command follows
		command string
		readers []string // the first command afterwards
	}{
		{"alone", run(""), ready + "exec sleep 1000", []string{"ptrace-dump -s log"}},
		{"output", run("-c"), ready + "exec sleep 1000", []string{"ptrace-dump --tree log"}},
		{"processes", run("-c -e proc,signal"), "true; (true); " + ready + "sleep 1000; true", []string{"ptrace-ctl list"}},
		{"calls", run("-e syscall.kill"), ready + "exec sleep 1000", []string{"ptrace-dump log"}},
		{"terminal", run("-c --pty=yes"), ready + "exec sleep 1000", []string{"ptrace-run true"}},
		{"redacted", run("-c --redact=ready"), ready + "exec sleep 1000", []string{"ptrace-dump -s log"}},
		{"loop log", run("-c --log-full-policy=loop --log-size=64K"), "seq 20000; " + ready + "exec sleep 1000", []string{"ptrace-dump -s log"}},
		{"full stream", run("-c --stream-full-policy=until-full --stream-size=64K"), "seq 100000; " + ready + "exec sleep 1000", []string{"ptrace-dump -s log"}},
		{"full log", run("-c --log-full-policy=until-full --log-size=64K"), "seq 20000; " + ready + "exec sleep 1000", []string{"ptrace-dump -s log"}},
		{"shell", run(""), `eval "$(ptrace-event --shell=bash)"; pt one; kill -STOP $PPID; pt two; ` + ready + "exec sleep 1000", []string{"ptrace-dump -s log"}},
		{"line without a time", run(""), `kill -STOP $PPID; printf "z\t$$\t\t\n" >>$PTRACE_SPOOL; ` + ready + "exec sleep 1000", []string{"ptrace-dump -s log"}},
		{"program", run(""), `ptrace-event one; kill -STOP $PPID; ptrace-event two; ` + ready + "exec sleep 1000", []string{"ptrace-dump -s log"}},
		{"keeper", []string{"bash", "-c"}, `S=$(ptrace-create -o log); ptrace-event -S $S one; ` + ready + "exec sleep 1000", []string{"ptrace-ctl list"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newCrashes(t)
			k := &killed{t: t, h: h}
			k.cmd = h.start(append(tt.args, tt.command)...)
			h.wait("start", func() bool { _, err := os.Stat(filepath.Join(h.dir, "ready")); return err == nil })
			time.Sleep(20 * time.Millisecond) // ptrace-run records the line
			for _, pid := range h.processes() {
				syscall.Kill(pid, syscall.SIGSTOP) // none sees the end of another
			}
			k.cmd.Process.Kill()
			k.killRest(k.cmd.Process.Pid)
			k.cmd.Wait()
			end := time.Now()
			time.Sleep(1200 * time.Millisecond) // the time that must not be in the log
			for _, r := range tt.readers {
				h.output(strings.Fields(r)...)
			}
			events := 0
			for s := bufio.NewScanner(bytes.NewReader([]byte(h.output("ptrace-dump", "-j", "-e", "@all", "log")))); s.Scan(); events++ {
				var e struct {
					Event string
					Time  time.Time
				}
				if err := json.Unmarshal(s.Bytes(), &e); err != nil {
					t.Fatal(err)
				}
				if late := e.Time.Sub(end); late > 200*time.Millisecond {
					t.Errorf("%s is %v later than the kill", e.Event, late)
				}
			}
			if events < 2 {
				t.Errorf("%d events", events)
			}
			h.output("ptrace-dump", "--check", "log")
		})
	}
}
