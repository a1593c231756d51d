package script_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// To the kernel, a parent is a thread. The one that starts a command lives as long as ptrace-run, so a
// command that asks for a signal at the death of its parent does not get it before.
func TestDeathSignal(t *testing.T) {
	program, dir := compile(t, "deathsig")
	log := filepath.Join(dir, "x.trace")
	ways := []string{"-e proc", "-e syscall.nanosleep", "--make"}
	if tracetest.Full() {
		ways = append(ways, "", "-c", "-e syscall", "-c -e signal", "-c --pty=yes", "-c --pty=yes -e proc", "-c --pty=yes -e syscall.nanosleep")
	}
	for _, way := range ways {
		argv := slices.Concat([]string{"ptrace-run", "-o", log}, strings.Fields(way), []string{program})
		for range 10 * tracetest.Scale(1, 2, 8) {
			if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
				t.Errorf("ptrace-run %s: %v: %s", way, err, out)
				break
			}
		}
	}
}
