package script_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/record/capture"
)

// relayOf returns the relay that writes to the pipe with the read end f, once it ignores TERM,
// or at the latest after a while.
func relayOf(t *testing.T, f *os.File) int {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("pipe:[%d]", st.Ino)
	found := 0
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, name := range names {
			line, _ := os.ReadFile(name)
			if !strings.Contains(string(line), "\x00"+capture.RelayFlag+"=") {
				continue
			}
			dir := filepath.Dir(name)
			if to, _ := os.Readlink(dir + "/fd/4"); to != want {
				continue
			}
			found, _ = strconv.Atoi(filepath.Base(dir))
			status, _ := os.ReadFile(dir + "/status")
			_, rest, _ := strings.Cut(string(status), "\nSigIgn:\t")
			mask, _ := strconv.ParseUint(rest[:min(16, len(rest))], 16, 64)
			if mask&(1<<(unix.SIGTERM-1)) != 0 {
				return found
			}
		}
	}
	return found
}

// A relay survives signals to terminate, and passes on what a process that outlives the command
// writes after them.
func TestRelayIgnoresTermination(t *testing.T) {
	dir := t.TempDir()
	traces := filepath.Join(dir, "traces")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const daemon = `trap 'echo cleaned; kill $!; exit' TERM; sleep 1000 2>/dev/null >&2 & echo $$; wait`
	cmd := exec.Command("ptrace-run", "-c", "--drain=50ms", "-o", filepath.Join(traces, "x.trace"), "--", "sh", "-c", `sh -c "$1" & exit 3`, "sh", daemon)
	cmd.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C")
	cmd.Stdout = w
	defer reap(t, "PTRACE_DIR="+traces)
	err = cmd.Run()
	w.Close()
	if cmd.ProcessState.ExitCode() != 3 {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(60 * time.Second)); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(r)
	line, err := out.ReadString('\n')
	pid, e := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || e != nil {
		t.Fatal(err, e)
	}
	defer unix.Kill(pid, unix.SIGTERM)
	relay := relayOf(t, r)
	if relay == 0 {
		t.Fatal("there is no relay")
	}
	for _, sig := range []unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGTERM} {
		if err := unix.Kill(relay, sig); err != nil {
			t.Fatalf("signal %d: %v", sig, err)
		}
	}
	if err := unix.Kill(pid, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// The relay ends when its input does; our output then ends too.
	if line, err := out.ReadString(0); line != "cleaned\n" {
		t.Errorf("%q, %v", line, err)
	}
}
