package registry

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

func init() { roles["where"] = roleWhere }

// roleWhere prints the directory that the environment leads to.
func roleWhere() error {
	d, err := Open()
	if err != nil {
		return err
	}
	fmt.Println(d.Path())
	return nil
}

// The trace directory of an ordinary user, with and without a usable /dev/shm. A program with the
// privilege of another user ignores the environment.
func TestDirectoryFromEnvironment(t *testing.T) {
	tracetest.NeedRoot(t)
	const unprivileged = 65534
	base, err := os.MkdirTemp("", "posixtrace-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(base, name) }
	for name, mode := range map[string]os.FileMode{"plain": 0o755, "setuid": 0o755 | os.ModeSetuid, "setgid": 0o755 | os.ModeSetgid} {
		err = errors.Join(err, os.WriteFile(at(name), exe, 0o755), os.Chmod(at(name), mode))
	}
	err = errors.Join(err, os.Chmod(base, 0o755), os.Mkdir(at("theirs"), 0o700), os.Mkdir(at("planted"), 0o755), os.Mkdir(at("planted/posixtrace"), 0o777))
	for _, name := range []string{"own", "run", "tmp"} {
		err = errors.Join(err, os.Mkdir(at(name), 0o700), os.Chown(at(name), unprivileged, unprivileged))
	}
	if err != nil {
		t.Fatal(err)
	}
	const last = "tmp/posixtrace-65534"
	for _, c := range []struct {
		program, shm string // mode of /dev/shm
		env          []string
		want         string
	}{
		{"plain", "1777", nil, "/dev/shm/posixtrace-65534"},
		{"plain", "1777", []string{"PTRACE_DIR=" + at("own/d")}, at("own/d")},
		{"plain", "1777", []string{"XDG_RUNTIME_DIR=" + at("run")}, "/dev/shm/posixtrace-65534"},
		{"plain", "755", []string{"XDG_RUNTIME_DIR=" + at("run")}, at("run/posixtrace")},
		{"plain", "755", nil, at(last)},
		{"plain", "755", []string{"XDG_RUNTIME_DIR=run"}, at(last)}, // relative
		{"plain", "755", []string{"XDG_RUNTIME_DIR=" + at("none")}, at(last)},
		{"plain", "755", []string{"XDG_RUNTIME_DIR=" + at("theirs")}, at(last)},
		{"plain", "755", []string{"XDG_RUNTIME_DIR=" + at("plain")}, at(last)}, // no directory
		{"plain", "755", []string{"XDG_RUNTIME_DIR=" + at("planted")}, "refused: owned by another user"},
		{"plain", "755", []string{"PTRACE_DIR=" + at("theirs/d")}, "permission denied"},
		{"setuid", "1777", []string{"PTRACE_DIR=" + at("own/e"), "XDG_RUNTIME_DIR=" + at("run")}, "/dev/shm/posixtrace-0"},
		{"setgid", "1777", []string{"PTRACE_DIR=" + at("own/e"), "XDG_RUNTIME_DIR=" + at("run")}, "/dev/shm/posixtrace-65534"},
		{"setgid", "755", []string{"PTRACE_DIR=" + at("own/e"), "XDG_RUNTIME_DIR=" + at("run")}, "permission denied"},
	} {
		cmd := exec.Command("unshare", "-m", "sh", "-c",
			`mount -t tmpfs -o mode="$1" none /dev/shm && exec setpriv --reuid=65534 --regid=65534 --clear-groups -- "$2"`, "sh", c.shm, at(c.program))
		cmd.Dir = base
		for _, e := range os.Environ() {
			if !strings.HasPrefix(e, "PTRACE_DIR=") && !strings.HasPrefix(e, "XDG_RUNTIME_DIR=") && !strings.HasPrefix(e, "TMPDIR=") {
				cmd.Env = append(cmd.Env, e)
			}
		}
		cmd.Env = append(append(cmd.Env, c.env...), "TMPDIR="+at("tmp"), "REGISTRY_ROLE=where", "GORACE=atexit_sleep_ms=0")
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); got != c.want && (err == nil || filepath.IsAbs(c.want) || !strings.Contains(got, c.want)) {
			t.Errorf("%s, /dev/shm %s, %q: %q, %v; want %q", c.program, c.shm, c.env, got, err, c.want)
		}
	}
	if left, _ := os.ReadDir(at("own")); len(left) != 1 { // what the plain one has made
		t.Errorf("files in $PTRACE_DIR: %v", left)
	}
}
