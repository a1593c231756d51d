package script_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// For an unprivileged user, a set-user-ID program runs without its privilege under ptrace(2),
// and ptrace-run reports it once; without ptrace(2) it runs normally.
func TestTraceSetuid(t *testing.T) {
	tracetest.Need(t, os.Geteuid() == 0, "root")
	const nobody = 65534
	// Not t.TempDir, which an unprivileged user cannot enter.
	dir, err := os.MkdirTemp("", "posixtrace-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	traces := tracetest.UserDir(t, nobody, nobody)
	id := filepath.Join(dir, "id")
	for _, err := range []error{os.Chmod(dir, 0o755), copyProgram(id, "id"), os.Chmod(id, 0o755|os.ModeSetuid)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	run := func(argv ...string) (out, errs string) {
		var o, e bytes.Buffer
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C")
		if argv[0] == "ptrace-run" {
			cmd.Path, cmd.ExtraFiles = "/proc/self/fd/3", []*os.File{openProgram(t, argv[0])}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		} else {
			tracetest.InOwnShm(t, cmd, nobody) // a program with capabilities uses the standard trace directory
		}
		cmd.Stdout, cmd.Stderr = &o, &e
		if err := cmd.Run(); err != nil {
			t.Errorf("%q: %v, %s", argv, err, e.String())
		}
		return o.String(), e.String()
	}
	alone, _ := run(id, "-u")
	tracetest.Need(t, alone == "0\n", "a file system where set-user-ID programs have their privilege")
	const reported = " runs without its set-uid privilege because it is traced\n"
	for _, tt := range []struct{ events, out, errs string }{
		{"command", "0\n0\n", ""},
		{"proc", "65534\n65534\n", "ptrace-run: " + id + reported},
		{"signal", "65534\n65534\n", "ptrace-run: " + id + reported},
		{"syscall", "65534\n65534\n", "ptrace-run: " + id + reported},
		{"syscall.openat", "65534\n65534\n", "ptrace-run: " + id + reported},
	} {
		out, errs := run("ptrace-run", "--dump=never", "-e", tt.events, "--", "sh", "-c", "./id -u; ./id -u; :")
		if out != tt.out || errs != tt.errs {
			t.Errorf("-e %s: %q and %q, want %q and %q", tt.events, out, errs, tt.out, tt.errs)
		}
	}
	// With the right to trace everything, the programs keep their privilege.
	capable := filepath.Join(dir, "capable", "ptrace-run")
	if err := errors.Join(os.Mkdir(filepath.Dir(capable), 0o755), copyProgram(capable, "ptrace-run")); err != nil {
		t.Fatal(err)
	}
	// A capability set of version 2: permitted and effective.
	set := []byte{1, 0, 0, 2, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if err := errors.Join(os.Chmod(capable, 0o755), syscall.Setxattr(capable, "security.capability", set, 0)); err != nil {
		t.Fatal(err)
	}
	if out, errs := run(capable, "--dump=never", "-e", "proc", "--", "sh", "-c", "./id -u; ./id -u; :"); out != "0\n0\n" || errs != "" {
		t.Errorf("with CAP_SYS_PTRACE: %q and %q", out, errs)
	}
	if left, _ := filepath.Glob(filepath.Join(traces, "s-*")); len(left) > 0 {
		t.Errorf("streams remain: %s", strings.Join(left, " "))
	}
}

// copyProgram copies a program from PATH.
func copyProgram(to, name string) error {
	path, err := exec.LookPath(name)
	if err != nil {
		return err
	}
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
