package script_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// everything selects all events in ptrace-dump, which leaves out mappings otherwise.
const everything = "@all,proc.map"

// inTime matches the start of a line of babeltrace2 --clock-gmt --clock-date.
var inTime = regexp.MustCompile(`^\[([0-9-]{10}) ([0-9:.]{18})\] `)

// ctfTimes exports a log and returns the times of the events that babeltrace2 reads, and how many it
// reports as lost.
func ctfTimes(t *testing.T, dir string, env []string, log string) (times []string, lost uint64) {
	t.Helper()
	dest := filepath.Join(t.TempDir(), "ctf")
	cmd := exec.Command("ptrace-export", "--to=ctf", "-o", dest, log)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	harmless(t, "standard error", out, "")
	if _, e := os.Stat(dest); e != nil {
		if err == nil {
			t.Fatalf("no export, and status 0: %s", out)
		}
		return nil, 0
	}
	cmd = exec.Command("babeltrace2", "--clock-gmt", "--clock-date", "--no-delta", dest)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("babeltrace2: %v\n%s", err, stderr.Bytes())
	}
	for line := range strings.Lines(string(text)) {
		if m := inTime.FindStringSubmatch(line); m != nil {
			times = append(times, m[1]+"T"+m[2]+"Z")
		}
	}
	for _, m := range regexp.MustCompile(`Tracer discarded ([0-9]+) event`).FindAllStringSubmatch(stderr.String(), -1) {
		n, _ := strconv.ParseUint(m[1], 10, 64)
		lost += n
	}
	return times, lost
}

// compareCTF compares what babeltrace2 reads with what ptrace-dump shows.
func compareCTF(t *testing.T, dir string, env []string, log string) {
	t.Helper()
	var want []string
	lines := bufio.NewScanner(bytes.NewReader(dumpOf(t, dir, env, []string{"-j", "-e", everything}, log)))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var ev struct{ Time string }
		if err := json.Unmarshal(lines.Bytes(), &ev); err != nil {
			t.Fatal(err)
		}
		want = append(want, ev.Time)
	}
	var status struct {
		Lost    uint64
		LogLost uint64 `json:"log_lost"`
	}
	if out := dumpOf(t, dir, env, []string{"--status", "-j"}, log); len(out) > 0 {
		if err := json.Unmarshal(out, &status); err != nil {
			t.Fatal(err)
		}
	}
	got, lost := ctfTimes(t, dir, env, log)
	if !slices.Equal(got, want) {
		t.Errorf("babeltrace2 reads %d events, ptrace-dump %d, or other times", len(got), len(want))
	}
	if lost != status.Lost+status.LogLost {
		t.Errorf("babeltrace2 reports %d lost events, want %d", lost, status.Lost+status.LogLost)
	}
}

// babeltrace2 reads as many events with the same times as ptrace-dump shows, whatever the log has.
func TestExportCTFHostile(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	tracetest.NeedProgram(t, "babeltrace2")
	dir, env := hostileTrace(t)
	compareCTF(t, dir, env, "hostile.trace")
	log, err := os.ReadFile(filepath.Join(dir, "hostile.trace"))
	if err != nil {
		t.Fatal(err)
	}
	n := 12
	if os.Getenv("POSIXTRACE_FULL") != "" {
		n = 500
	}
	seed := uint64(time.Now().UnixNano())
	for i := range n {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		b := slices.Clone(log[:len(log)-rng.IntN(2)*rng.IntN(len(log)/2)])
		for range 1 + rng.IntN(20) {
			b[rng.IntN(len(b))] = byte(rng.Uint32())
		}
		hostile.FixChecksums(b)
		if err := os.WriteFile(filepath.Join(dir, "evil.trace"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("seed %d %d", seed, i), func(t *testing.T) { compareCTF(t, dir, env, "evil.trace") })
	}
}
