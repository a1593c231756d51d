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

// limitedGroup makes a cgroup and writes its limits, of those that the machine has of either version of
// cgroups: a file of version 2, and the controller and the file of version 1. It returns the directory.
func limitedGroup(t *testing.T, file, controller, file1, value, value1 string) string {
	t.Helper()
	tracetest.Need(t, os.Geteuid() == 0, "root")
	name := "posixtrace-test-" + strconv.Itoa(os.Getpid())
	for _, c := range [][3]string{{"/sys/fs/cgroup", file, value}, {filepath.Join("/sys/fs/cgroup", controller), file1, value1}} {
		dir := filepath.Join(c[0], name)
		if _, err := os.Stat(filepath.Join(c[0], "cgroup.procs")); err != nil || os.Mkdir(dir, 0o755) != nil {
			continue
		}
		if os.WriteFile(filepath.Join(dir, c[1]), []byte(c[2]), 0) == nil {
			t.Cleanup(func() { os.Remove(dir) })
			return dir
		}
		os.Remove(dir)
	}
	tracetest.Need(t, false, "a cgroup with "+file)
	return ""
}

// summaryIn runs a command in a cgroup and returns the lines before the tables of its summary.
func summaryIn(t *testing.T, group string, argv ...string) string {
	t.Helper()
	log := filepath.Join(t.TempDir(), "x.trace")
	args := append([]string{"-c", `echo $$ >"$0/cgroup.procs"; exec "$@"`, group, "ptrace-run", "--sample=10ms", "-t", "60", "-o", log, "--"}, argv...)
	out, _ := exec.Command("sh", args...).CombinedOutput()
	shown, err := exec.Command("ptrace-dump", "-s", log).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	head, _, _ := bytes.Cut(shown, []byte("\n\n"))
	return string(head)
}

// The OOM killer ends a command, or another process of it: the first lines say so, with the memory and the
// program that had it. Another KILL is no such end.
func TestOutOfMemory(t *testing.T) {
	tracetest.OnlyWithoutRace(t) // ptrace-run would be the largest process
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
			limit := strconv.Itoa(48 << 20)
			group := limitedGroup(t, "memory.max", "memory", "memory.limit_in_bytes", limit, limit)
			for _, swap := range []string{"memory.swap.max", "memory.memsw.limit_in_bytes"} {
				os.WriteFile(filepath.Join(group, swap), []byte(limit), 0) // else the kernel might swap
			}
			head := summaryIn(t, group, c.argv...)
			if !strings.Contains(head, c.want) || c.not != "" && strings.Contains(head, c.not) {
				t.Errorf("the summary says\n%s\nwant %q, not %q", head, c.want, c.not)
			}
			if c.not == "" && !strings.Contains(head, " of 48.0M") {
				t.Errorf("the summary lacks the limit:\n%s", head)
			}
		})
	}
}

// A quota of processor time stops a command most of the time, and the summary says so.
func TestThrottled(t *testing.T) {
	group := limitedGroup(t, "cpu.max", "cpu", "cpu.cfs_quota_us", "10000 100000", "10000")
	head := summaryIn(t, group, "sh", "-c", "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done")
	if !strings.Contains(head, "its quota of processor time stopped the cgroup for ") {
		t.Errorf("the summary says\n%s", head)
	}
}
