package script_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// The events that ptrace-dump shows of a truncated or damaged log were in the log, in this
// order, and it reports the damage by one line and the status. (The tests of package
// tracelog damage every byte and bit.)
func TestDamagedLogs(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	rounds := 30
	if os.Getenv("POSIXTRACE_FULL") != "" {
		rounds = 2000
	}
	for _, policy := range []string{"append", "until-full", "loop"} {
		t.Run(policy, func(t *testing.T) {
			dir := t.TempDir()
			log := filepath.Join(dir, "log")
			env := append(os.Environ(), "PTRACE_DIR="+filepath.Join(dir, "streams"), "PTRACE_STREAM=", "CI=")
			if err := os.Mkdir(filepath.Join(dir, "streams"), 0o700); err != nil {
				t.Fatal(err)
			}
			var lines bytes.Buffer
			for i := range 900 {
				fmt.Fprintf(&lines, "n\t%d %s\n", i, strings.Repeat(".", i*7%90))
			}
			run := exec.Command("ptrace-run", "-e", "none", "-o", log, "--log-full-policy="+policy, "--log-size=64K", "--stream-size=4K", "--", "ptrace-event", "--batch")
			run.Env, run.Stdin = env, &lines
			if out, err := run.CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			sound, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			dump := func(path string, piped, check bool) (shown []string, status int, said string) {
				cmd := exec.Command("ptrace-dump", "-e", "n", "--format=%d\\n", path)
				if check {
					cmd = exec.Command("ptrace-dump", "--check", path)
				}
				if piped {
					cmd.Args[len(cmd.Args)-1] = "-"
					b, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					cmd.Stdin = io.MultiReader(bytes.NewReader(b)) // which is no file, so a pipe is made
				}
				var out, errs bytes.Buffer
				cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &errs
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
				err := cmd.Wait()
				late.Stop()
				var exit *exec.ExitError
				if errors.As(err, &exit) {
					status = exit.ExitCode()
				}
				return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), status, errs.String()
			}
			all, status, said := dump(log, false, false)
			if status != 0 || len(all) < 300 {
				t.Fatalf("%d events, status %d, %s", len(all), status, said)
			}
			rnd := rand.New(rand.NewPCG(3, uint64(len(policy))))
			bad := filepath.Join(dir, "bad")
			found := 0
			for round := range rounds {
				b := slices.Clone(sound)
				at := rnd.IntN(len(b))
				what := fmt.Sprintf("%d bytes, ", len(b))
				switch round % 3 {
				case 0:
					what += fmt.Sprint("cut at ", at)
					b = b[:at]
				case 1:
					what += fmt.Sprint("bit at ", at)
					b[at] ^= 1 << rnd.IntN(8)
				case 2:
					what += fmt.Sprint("zeros at ", at)
					clear(b[at:min(len(b), at+1+rnd.IntN(4096))])
				}
				if err := os.WriteFile(bad, b, 0o600); err != nil {
					t.Fatal(err)
				}
				piped, check := round/3%2 == 1, round/6%3 == 2
				got, status, said := dump(bad, piped, check)
				switch {
				case status != 0 && status != 1 || strings.Contains(said, "goroutine"):
					t.Fatalf("%s: status %d, %s", what, status, said)
				case status == 1 && (!strings.HasPrefix(said, "ptrace-dump: ") || strings.Count(strings.ReplaceAll(said, " events were lost\n", ""), "\n") != 1):
					t.Fatalf("%s: %s", what, said)
				case status == 0 && !check && !slices.Equal(got, all):
					t.Fatalf("%s: status 0, %d of %d events", what, len(got), len(all))
				case status == 0 && round%3 == 0:
					t.Fatalf("%s: nothing is reported", what)
				}
				found += status
				rest := all
				for _, line := range got {
					if line == "" {
						continue
					}
					i := slices.Index(rest, line)
					if i < 0 {
						t.Fatalf("%s: wrong event %q", what, line)
					}
					rest = rest[i+1:]
				}
			}
			if found < rounds/2 {
				t.Errorf("only %d of %d damages were reported", found, rounds)
			}
			t.Logf("%d damages, %d reported", rounds, found)
		})
	}
}
