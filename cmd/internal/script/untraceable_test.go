package script_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// Programs that fail if they are traced run untraced, with the same status and output, and one message
// says so: those built with LeakSanitizer, and debuggers. With a filter of system calls a program cannot
// run untraced, and a message says that it fails.
func TestUntraceable(t *testing.T) {
	tracetest.NeedProgram(t, "strace")
	dir := t.TempDir()
	leak := filepath.Join(dir, "leak")
	out, err := exec.Command("gcc", "-g0", "-fsanitize=address", "-o", leak, filepath.Join("testdata", "leak.c")).CombinedOutput()
	tracetest.Need(t, err == nil, "gcc -fsanitize=address: "+string(out))
	record, err := filepath.Abs("../../../examples/ci/record")
	if err != nil {
		t.Fatal(err)
	}
	const leaks, debugs = "leak is built with LeakSanitizer: such programs run untraced, ", "strace uses ptrace(2) itself: such programs run untraced, "
	for _, tt := range []struct {
		options, command, message string
		ends                      int // of processes, 0 for any
	}{
		{"-e proc -o x.trace", "leak; leak; :", leaks, 3},
		{"-e proc,signal -c -o x.trace", "leak leak; echo $?", leaks, 2},
		{"-e syscall -o x.trace", "leak; :", leaks, 0},
		{"--make -e proc -o x.trace", "exec leak leak", leaks, 1},
		{"-e proc -o x.trace", "strace -o /dev/null true && exec strace -o /dev/null sh -c 'exit 3'", debugs, 2},
		{"-e proc -o x.trace", "strace -f -o /dev/null leak; :", debugs, 2},
		{"-e syscall.openat -o x.trace", "leak", "leak is built with LeakSanitizer and fails because it is traced; ", 0},
		{"-e proc -o x.trace", "ASAN_OPTIONS=detect_leaks=0 leak leak", "", 0},
		{"record", "leak; leak leak; echo $?", "", 0},
	} {
		run := func(argv ...string) (stdout, stderr string, status int) {
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "POSIXTRACE_PROCESSES=auto")
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			cmd.Run()
			return out.String(), regexp.MustCompile("==[0-9]+==|0x[0-9a-f]+|BuildId: [^)]*").ReplaceAllString(errs.String(), ""), cmd.ProcessState.ExitCode()
		}
		argv := append(append([]string{"ptrace-run"}, strings.Fields(tt.options)...), "sh", "-c", tt.command)
		if tt.options == "record" {
			argv = []string{record, filepath.Join(dir, "recorded"), "sh", "-c", tt.command}
		}
		stdout, stderr, status := run(argv...)
		wantOut, wantErr, wantStatus := run("sh", "-c", tt.command)
		message := ""
		for line := range strings.Lines(stderr) {
			if strings.HasPrefix(line, "ptrace-run: ") {
				message += line
			}
		}
		fails := strings.Contains(tt.message, "fails")
		if !fails && tt.options != "record" && (stdout != wantOut || strings.Replace(stderr, message, "", 1) != wantErr || status != wantStatus) {
			t.Errorf("ptrace-run %s %s: status %d, output %q, %q; alone: %d, %q, %q", tt.options, tt.command, status, stdout, stderr, wantStatus, wantOut, wantErr)
		}
		if tt.options == "record" && (status != wantStatus || !strings.HasPrefix(stdout, wantOut)) {
			t.Errorf("record %s: status %d, output %q; alone: %d, %q", tt.command, status, stdout, wantStatus, wantOut)
		}
		// Their ends are recorded.
		exits, _, _ := run("ptrace-dump", "-e", "proc.exit", "--format=%d\n", "x.trace")
		if n := strings.Count(exits, "\n"); tt.ends > 0 && n != tt.ends {
			t.Errorf("ptrace-run %s %s: %d processes end, want %d: %s", tt.options, tt.command, n, tt.ends, exits)
		}
		if n := strings.Count(message, "\n"); tt.message != "" && (n != 1 || !strings.HasPrefix(message, "ptrace-run: "+tt.message)) || tt.message == "" && tt.options != "record" && n != 0 {
			t.Errorf("ptrace-run %s %s: message %q, want %q", tt.options, tt.command, message, tt.message)
		}
	}
}
