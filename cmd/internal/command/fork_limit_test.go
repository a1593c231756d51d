package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// forkUntilRefused forks until the limit of processes is met, again and again, and says how often
// it could and how often not.
const forkUntilRefused = `
import os, resource, time
resource.setrlimit(resource.RLIMIT_NPROC, (60, 60))
done = refused = alive = 0
while done < 400 or not refused:
    try:
        if os.fork() == 0:
            time.sleep(0.05)
            os._exit(0)
        done += 1
        alive += 1
    except BlockingIOError:
        refused += 1
        if alive:
            os.waitpid(-1, 0)
            alive -= 1
        else: # somebody else's are in the way
            time.sleep(0.01)
for _ in range(alive):
    os.waitpid(-1, 0)
print(done, refused)
`

// A command that makes processes until it is not let make more is recorded as it was, and
// gets through with it.
func TestForkLimit(t *testing.T) {
	need(t, os.Geteuid() == 0, "root") // which the limit does not hold for; nobody has no other processes
	python, err := exec.LookPath("python3")
	need(t, err == nil, "python3")
	_, shared := openBase(t)
	env := []string{"PTRACE_DIR=" + filepath.Join(shared, "dir")}
	log := filepath.Join(shared, "log")
	out, status := userRun(t, nobody, env, "ptrace-run", "-e", "proc", "-o", log, "--", python, "-I", "-S", "-c", forkUntilRefused)
	var done, refused int
	if n, _ := fmt.Sscan(out, &done, &refused); status != 0 || n != 2 || refused == 0 {
		t.Fatalf("status %d, %q", status, out)
	}
	for _, e := range []struct {
		name string
		want int
	}{{"proc.fork", done}, {"proc.exit", done + 1}} {
		out, status := userRun(t, nobody, env, "ptrace-dump", "--strict", "-e", e.name, `--format=%n\n`, log)
		if got := strings.Count(out, "\n"); status != 0 || got != e.want {
			t.Errorf("%d %s, want %d; status %d", got, e.name, e.want, status)
		}
	}
	if out, status := userRun(t, nobody, env, "ptrace-dump", "--check", log); status != 0 {
		t.Errorf("the log: %s", out)
	}
	t.Logf("%d forks, %d refused", done, refused)
}
