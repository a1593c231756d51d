package script_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/script/testdata/leaderless"
)

func init() { helpers["leaderless"] = leaderless.Become }

// A process whose main thread has ended is alive: it can be traced, and a search for the
// members of its process group finds it.
func TestLeaderless(t *testing.T) {
	pid, end := leaderless.Start(t)
	if _, err := procfs.Identify(pid); err != nil {
		t.Fatal(err)
	}
	if _, pgrp, ok := procfs.Stat(pid); !ok || pgrp != unix.Getpgrp() {
		t.Errorf("its process group is %d, %v", pgrp, ok)
	}
	dir := t.TempDir()
	traces := filepath.Join(dir, "traces")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	defer reap(t, "PTRACE_DIR="+traces)
	defer end()
	run := func(argv ...string) string {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C")
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil || errs.Len() > 0 {
			t.Errorf("%q: %v, %s", argv, err, errs.String())
		}
		return string(out)
	}
	run("ptrace-create", "-s", "-p", strconv.Itoa(pid), "memory")
	run("ptrace-create", "-s", "-o", "x.trace", "-p", strconv.Itoa(pid), "log")
	if list := run("ptrace-ctl", "list"); !strings.Contains(list, "memory") || !strings.Contains(list, "log") {
		t.Errorf("streams: %s", list)
	}
	end()
}
