package script_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// forkUntilRefused forks until it reaches the process limit, several times, and prints how
// many forks succeeded and failed.
const forkUntilRefused = `
my ($done, $refused, $alive) = (0, 0, 0);
while ($done < 400 || !$refused) {
	my $pid = fork;
	if (!defined $pid) {
		$refused++;
		# Without processes of its own, those of another user are in the way.
		if ($alive) { wait; $alive-- } else { select undef, undef, undef, 0.01 }
	} elsif ($pid == 0) {
		select undef, undef, undef, 0.05;
		exit;
	} else {
		$done++;
		$alive++;
	}
}
while ($alive--) { wait }
print "$done $refused\n";
`

// A command that forks until it reaches the process limit is recorded completely, and
// succeeds.
func TestForkLimit(t *testing.T) {
	tracetest.Need(t, os.Geteuid() == 0, "root") // exempt from the limit, unlike the unprivileged user, who has no other processes
	tracetest.NeedProgram(t, "perl")
	tracetest.NeedProgram(t, "prlimit")
	_, shared := openBase(t)
	env := []string{"PTRACE_DIR=" + filepath.Join(shared, "dir")}
	log := filepath.Join(shared, "log")
	out, status := userRun(t, nobody, env, "ptrace-run", "-e", "proc", "-o", log, "--", "prlimit", "--nproc=60", "perl", "-e", forkUntilRefused)
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
