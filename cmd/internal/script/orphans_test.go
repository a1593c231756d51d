package script_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// orphansJob leaves five orphans, which end, and prints how many zombies process 1 then has. It waits
// for the end of the orphans, and some time for the zombies to go. Its own end is beside that of more
// orphans.
const orphansJob = `
zombies() {
	n=0
	for f in /proc/[0-9]*/stat; do
		{ read -r s <$f; } 2>/dev/null || continue
		s=${s##*) }
		set -- $s
		[ $2 = 1 ] || continue
		case $1 in Z) n=$((n + 1)) ;; esac
	done
}
mkfifo pipe
for i in 1 2 3 4 5; do sh -c 'cat pipe & exec >pipe' 2>/dev/null; done
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	zombies
	[ $n = 0 ] && ! pgrep -x cat >/dev/null && break
	sleep 0.1
done
echo $n
for i in 1 2 3 4 5; do sh -c 'sleep 0.00$0 &' $i; done
exit 7
`

// As process 1 of a container, ptrace-run and ptrace-event -r reap the orphans that they adopt, as a
// shell does, and still report the status of the command.
func TestOrphansReaped(t *testing.T) {
	tracetest.NeedRoot(t)
	tracetest.NeedProgram(t, "unshare")
	ways := []string{"ptrace-run -o x.trace", "ptrace-run -c -e proc -o x.trace", "ptrace-event -r span"}
	if tracetest.Full() {
		ways = append(ways, "ptrace-run -c --pty=yes -o x.trace", "ptrace-run -c --pty=yes -e syscall.openat -o x.trace", "ptrace-run --make -e syscall -t 50 -o x.trace")
	}
	for _, way := range ways {
		dir := t.TempDir()
		words := strings.Fields(strings.ReplaceAll(way, "x.trace", filepath.Join(dir, "x.trace")))
		argv := slices.Concat([]string{"-pf", "--mount-proc", "--kill-child"}, words, []string{"sh", "-c", orphansJob})
		cmd := exec.Command("unshare", argv...)
		cmd.Dir = dir
		kill := time.AfterFunc(60*time.Second, func() { cmd.Process.Kill() })
		out, _ := cmd.Output()
		kill.Stop()
		if got := strings.TrimSpace(string(out)); got != "0" || cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("%s: %q zombies, status %v", way, got, cmd.ProcessState)
		}
	}
}
