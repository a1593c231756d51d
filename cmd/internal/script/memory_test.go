//go:build linux

package script_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// memoryGroup makes a cgroup with a limit of memory and returns its directory.
func memoryGroup(t *testing.T, limit int) string {
	t.Helper()
	tracetest.Need(t, os.Geteuid() == 0, "root")
	membership, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	dir, name := "", ""
	for _, line := range strings.Split(string(membership), "\n") {
		f := strings.SplitN(line, ":", 3)
		switch {
		case len(f) == 3 && f[1] == "memory":
			dir, name = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		case len(f) == 3 && f[0] == "0" && dir == "":
			dir, name = "/sys/fs/cgroup", "memory.max"
		}
	}
	dir = filepath.Join(dir, "posixtrace-test-"+strconv.Itoa(os.Getpid()))
	made := os.Mkdir(dir, 0o755) == nil
	if made {
		t.Cleanup(func() { os.Remove(dir) })
		made = os.WriteFile(filepath.Join(dir, name), []byte(strconv.Itoa(limit)), 0) == nil
		swap := strings.NewReplacer("limit_in_bytes", "memsw.limit_in_bytes", "memory.max", "memory.swap.max").Replace(name)
		os.WriteFile(filepath.Join(dir, swap), []byte(strconv.Itoa(limit)), 0) // else the kernel might swap
	}
	tracetest.Need(t, made, "a cgroup with a limit of memory")
	return dir
}

// The OOM killer ends a command, or another process of it: the first lines say so, with the memory and the
// program that had it. Another KILL is no such end.
func TestOutOfMemory(t *testing.T) {
	grow := "x=[]\nwhile True: x.append(bytearray(b'x'*(4<<20)))"
	for _, c := range []struct {
		name, want, not string
		argv            []string
	}{
		{"the command", ": killed by the OOM killer: memory ", "", []string{"python3", "-c", grow}},
		{"another process", "the OOM killer killed 1 process of the cgroup", "killed by the OOM killer", []string{"sh", "-c", "python3 -c '" + strings.ReplaceAll(grow, "'", `"`) + "'; exit 3"}},
		{"another KILL", ": killed by KILL after ", "OOM", []string{"sh", "-c", "kill -9 $$"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := exec.LookPath("python3")
			tracetest.Need(t, err == nil, "python3")
			group := memoryGroup(t, 48<<20)
			log := filepath.Join(t.TempDir(), "x.trace")
			args := append([]string{"-c", `echo $$ >"$0/cgroup.procs"; exec "$@"`, group, "ptrace-run", "--sample=10ms", "-o", log, "--"}, c.argv...)
			out, err := exec.Command("sh", args...).CombinedOutput()
			if err == nil {
				t.Fatalf("it succeeded: %s", out)
			}
			shown, err := exec.Command("ptrace-dump", "-s", log).Output()
			if err != nil {
				t.Fatal(err)
			}
			head, _, _ := bytes.Cut(shown, []byte("\n\n"))
			if !strings.Contains(string(head), c.want) || c.not != "" && strings.Contains(string(head), c.not) {
				t.Errorf("the summary says\n%s\nwant %q, not %q", head, c.want, c.not)
			}
			if c.not == "" && !strings.Contains(string(head), " of 48.0M") {
				t.Errorf("the summary lacks the limit:\n%s", head)
			}
		})
	}
}
