package command

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	helpers["leaderless"] = leaderless
	if filepath.Base(os.Args[0]) == "leaderless" {
		runtime.LockOSThread() // to the main thread
	}
}

// leaderless is a process whose main thread ends; it lives until its input ends.
func leaderless() {
	go func() {
		for {
			if p, err := os.ReadFile("/proc/self/stat"); err != nil || strings.Contains(string(p), ") Z ") {
				break
			}
			time.Sleep(time.Millisecond)
		}
		fmt.Println("begun")
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	unix.Syscall(unix.SYS_EXIT, 0, 0, 0) // of this thread
}

// startLeaderless starts one, and returns a function that ends it.
func startLeaderless(t *testing.T) (pid int, end func()) {
	t.Helper()
	cmd := exec.Command("leaderless")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			in.Close()
			cmd.Wait()
		}
	}
	t.Cleanup(end)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd.Process.Pid, end
}

// A process whose main thread has ended is alive: it can be traced, and its keeper and those who
// look for the members of a process group find it.
func TestLeaderless(t *testing.T) {
	pid, end := startLeaderless(t)
	p, err := identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	if _, pgrp, ok := procStat(pid); !ok || pgrp != unix.Getpgrp() {
		t.Errorf("its process group is %d, %v", pgrp, ok)
	}
	refused := func(int, int) (int, error) { return -1, unix.ENOSYS }
	var waits []<-chan struct{}
	waits = append(waits, awaitEnd(p))
	pidfdOpen = refused
	waits = append(waits, awaitEnd(p))
	pidfdOpen = unix.PidfdOpen
	time.Sleep(2 * goneInterval) // a look of the one without descriptor lies in between
	for i, ended := range waits {
		select {
		case <-ended:
			t.Errorf("%d: it has ended", i)
		default:
		}
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
	for i, ended := range waits {
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
			t.Errorf("%d: it does not end", i)
		}
	}
}
