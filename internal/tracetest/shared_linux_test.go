package tracetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A directory in shared memory disappears although processes use it and make it again, and the next run
// removes that of a run that was killed, and no other.
func TestSharedDir(t *testing.T) {
	dead, err := os.MkdirTemp(sharedBase(), sharedPattern) // no process has it locked
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{os.WriteFile(filepath.Join(dead, "p-1-1"), nil, 0o600), os.Mkdir(dead+".65534", 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	gone := func(path string) bool {
		_, err := os.Lstat(path)
		return os.IsNotExist(err)
	}
	live, release, err := makeShared()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if !gone(dead) || !gone(dead+".65534") {
		t.Errorf("the directory of a run that was killed is still there: %s", dead)
	}
	var dir string
	var users []*exec.Cmd
	t.Run("used", func(t *testing.T) {
		dir = SharedDir(t)
		for _, traces := range []string{dir, dir + "/user", dir + ".65534"} {
			cmd := exec.Command("sh", "-c", `while :; do mkdir -p "$PTRACE_DIR"; : >"$PTRACE_DIR/p-$$"; done 2>/dev/null`)
			cmd.Env = append(os.Environ(), "PTRACE_DIR="+traces)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			users = append(users, cmd)
			Wait(t, "a page", func() bool {
				pages, _ := filepath.Glob(traces + "/p-*")
				return len(pages) > 0
			})
		}
	})
	for _, cmd := range users {
		if cmd.Wait() == nil {
			t.Error("a process that used the directory ended by itself")
		}
	}
	if left, _ := filepath.Glob(dir + "*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if gone(live) {
		t.Error("the directory of a run that goes on is removed")
	}
	if !removeShared(live) {
		t.Error("an unused directory cannot be removed")
	}
}
