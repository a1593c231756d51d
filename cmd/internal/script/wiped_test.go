package script_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func init() {
	// wiped-target: has its page mapped, and has closed all descriptors of the trace
	// directory.
	helpers["wiped-target"] = func() {
		if _, err := posixtrace.OpenEventID("crash"); err != nil {
			panic(err)
		}
		links, _ := filepath.Glob("/proc/self/fd/*")
		for _, l := range links {
			n, _ := strconv.Atoi(filepath.Base(l))
			if to, err := os.Readlink(l); err == nil && strings.HasPrefix(to, os.Getenv("PTRACE_DIR")) {
				syscall.Close(n)
			}
		}
		fmt.Println("closed")
		io.Copy(io.Discard, os.Stdin)
	}
}

// wipe removes the content of the trace directory, and with all the directory too, as
// systemd does at the end of a user's last session (RemoveIPC).
func (h *crashes) wipe(all bool) {
	h.t.Helper()
	files, err := filepath.Glob(h.traces() + "/*")
	if err != nil || len(files) == 0 {
		h.t.Fatal("the trace directory is empty", err)
	}
	if all {
		files = append(files, h.traces())
	}
	for _, f := range files {
		if err := os.RemoveAll(f); err != nil {
			h.t.Fatal(err)
		}
	}
}

// The trace directory, or its content, is removed while a process runs that has its page
// mapped: traced or not, once and repeatedly. Afterwards the process can be traced, under
// the names it has, and an earlier log continues and is completed.
func TestWiped(t *testing.T) {
	for _, c := range []struct {
		name        string
		all, traced bool
	}{
		{"directory", true, false},
		{"files", false, false},
		{"directory of a traced process", true, true},
		{"files of a traced process", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newCrashes(t)
			target := h.start("crash-target", "counted")
			pid := strconv.Itoa(target.Process.Pid)
			h.c.run.Store(1)
			events := func(more uint64) {
				t.Helper()
				more += h.c.done.Load()
				h.wait("events", func() bool { return h.c.done.Load() > more })
			}
			events(1)
			log := filepath.Join(h.dir, "before.trace")
			if c.traced {
				h.output("ptrace-create", "-s", "-p", pid, "-o", log, "before")
				events(10)
			}
			for _, name := range []string{"one", "two"} {
				h.wipe(c.all)
				events(1)
				h.output("ptrace-create", "-s", "-p", pid, name)
				events(10)
				list := h.output("ptrace-dump", "--format=%n\\n", name)
				if n := strings.Count(list, "crash\n"); n < 10 {
					t.Fatalf("%d events of the process in stream %s: %.200q", n, name, list)
				}
			}
			wiped := h.c.done.Load()
			events(10)
			h.c.run.Store(0)
			h.wait("pause", func() bool { return h.c.idle.Load() != 0 })
			last := h.c.done.Load()
			target.Process.Kill()
			target.Wait()
			if c.traced {
				h.wait("end of the log", func() bool {
					out, err := h.command("ptrace-dump", "--check", log).CombinedOutput()
					return err == nil && len(out) == 0
				})
				list := crashNumbers(t, []byte(h.output("ptrace-dump", "-e", "crash", `--format=%d\n`, log)))
				if len(list) == 0 || uint64(list[len(list)-1]) <= wiped {
					t.Errorf("the earlier log has %d events and ends with %v, of %d, %d of them before the last wipe",
						len(list), list[max(0, len(list)-1):], last, wiped)
				}
			}
			for _, s := range strings.Fields(h.output("ptrace-ctl", "list", "--stale", "-q")) {
				h.output("ptrace-ctl", "shutdown", s)
			}
			h.nothingLeft()
		})
	}
}

// A process that cannot be redirected from its page to a new one is not traced, and
// ptrace-create reports that.
func TestWipedClosed(t *testing.T) {
	h := newCrashes(t)
	cmd := h.command("wiped-target")
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
	defer cmd.Wait()
	defer in.Close()
	if _, err := io.ReadFull(out, make([]byte, len("closed\n"))); err != nil {
		t.Fatal(err)
	}
	h.wipe(true)
	pid := strconv.Itoa(cmd.Process.Pid)
	create := h.command("ptrace-create", "-s", "-p", pid, "one")
	var errs bytes.Buffer
	create.Stderr = &errs
	want := "ptrace-create: process " + pid + ": the trace directory was removed while it ran\nhint: start it again to trace it\n"
	if err := create.Run(); err == nil || errs.String() != want {
		t.Errorf("%v, %q, want %q", err, errs.String(), want)
	}
	if list := h.output("ptrace-ctl", "list", "-q"); list != "" {
		t.Errorf("%q is left", list)
	}
}
