package script_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

// whyKeys are the keys of the answer of --why, in their order.
var whyKeys = []string{"verdict", "failed", "from", "output", "waited", "slow", "memory", "lost", "more", "left out"}

// checkWhy checks that the answers of --why agree with the verdict of the summary, have no more lines than
// asked for, and their keys in order. answer returns that of some lines, or 0 for JSON.
func checkWhy(t *testing.T, verdict string, answer func(lines int) string) {
	t.Helper()
	whole := answer(25)
	if got := whyVerdict(whole, verdict); got != shortened(verdict) {
		t.Errorf("--why says\n%s\nand the summary\n%s\nThe answer:\n%s", got, verdict, whole)
	}
	for _, n := range []int{5, 10, 25} {
		checkWhyLines(t, answer(n), n, whole)
	}
	object := answer(0)
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &members); err != nil || strings.Count(object, "\n") != 1 {
		t.Errorf("%v: %s", err, object)
	}
	at := 0
	for _, key := range whyKeys[:len(whyKeys)-1] {
		i := strings.Index(object[at:], fmt.Sprintf("%q:[", key))
		if i < 0 {
			t.Errorf("%s is not in its place: %s", key, object)
		}
		at += max(i, 0)
	}
}

var leftOut = regexp.MustCompile(`^left out: ([0-9]+) lines? of [a-z, ]+ \(--why=([0-9]+)\)\n$`)

// checkWhyLines checks the form of an answer of at most n lines.
func checkWhyLines(t *testing.T, text string, n int, whole string) {
	t.Helper()
	lines := slices.Collect(strings.Lines(text))
	if len(lines) > n || !strings.HasSuffix(text, "\n") || strings.Contains(text, "\x1b") {
		t.Errorf("%d lines with --why=%d:\n%s", len(lines), n, text)
	}
	last := 0
	for _, line := range lines {
		key, rest, _ := strings.Cut(line, ": ")
		i := slices.Index(whyKeys, key)
		if i < last || strings.TrimSpace(rest) == "" && key != "output" {
			t.Errorf("%q is not in its place:\n%s", line, text)
		}
		last = max(i, 0)
	}
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "verdict: ") {
		t.Errorf("no verdict:\n%s", text)
		return
	}
	all := strings.Count(whole, "\n")
	if whole == "" || all <= n {
		return
	}
	m := leftOut.FindStringSubmatch(lines[len(lines)-1])
	if m == nil || m[1] != fmt.Sprint(all-len(lines)+1) || m[2] != fmt.Sprint(all) || len(lines) != n {
		t.Errorf("%d of %d lines, and the last one:\n%s", len(lines), all, text)
	}
}

// whyVerdict returns what an answer says as the first lines of the summary say it, without times. Of the output,
// the answer may have more lines before those of the summary, or those that belong to no failure.
func whyVerdict(answer, summary string) string {
	of := map[string][]string{}
	for line := range strings.Lines(answer) {
		key, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		of[key] = append(of[key], text)
	}
	verdict, waited := of["verdict"], of["waited"]
	var b strings.Builder
	for i, line := range verdict {
		line = verdictTime.ReplaceAllString(line, "$2")
		for _, text := range waited {
			if i == 0 && strings.HasPrefix(text, "running then: ") {
				line += "; " + text
			}
		}
		b.WriteString(line + "\n")
	}
	failed := false
	for _, line := range of["failed"] {
		if verdictTime.MatchString(line) {
			b.WriteString("failed: " + verdictTime.ReplaceAllString(line, "$2") + "\n")
			failed = true
		}
	}
	if failed || !strings.HasPrefix(of["failed"][0], "nothing") {
		printed := of["output"]
		switch n := strings.Count("\n"+summary, "\n    "); {
		case n == 0 && !strings.Contains(summary, "timed out"):
			printed = nil // the last lines of the log, which came too late for the summary
		case n > 0 && n < len(printed):
			printed = printed[len(printed)-n:]
		}
		for _, line := range printed {
			if line != "none is recorded" && line != "nothing until then" && line != "none of a failure" {
				b.WriteString("    " + strings.TrimSpace(line) + "\n")
			}
		}
	}
	return shortened(b.String())
}

// shortened cuts lines of output as the summary does.
func shortened(verdict string) string {
	var b bytes.Buffer
	for line := range strings.Lines(verdict) {
		text := []rune(strings.TrimSuffix(line, "\n"))
		if strings.HasPrefix(line, "    ") && len(text) > 4+79 {
			text = append(text[:4+79:4+79], '…')
		}
		b.WriteString(string(text) + "\n")
	}
	return b.String()
}

// The answer to a log that is cut or damaged has its form, says in a line what it lacks, and takes no longer.
func TestWhyDamaged(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	rounds := 40
	if os.Getenv("POSIXTRACE_FULL") != "" {
		rounds = 3000
	}
	dir := t.TempDir()
	sound, bad := filepath.Join(dir, "sound.trace"), filepath.Join(dir, "bad.trace")
	streams := filepath.Join(dir, "streams")
	if err := os.Mkdir(streams, 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PTRACE_DIR="+streams, "PTRACE_STREAM=", "PTRACE_SPOOL=", "CI=")
	record := exec.Command("ptrace-run", "-c", "-e", "proc", "-t", "300ms", "-o", sound, "sh", "-c",
		`ptrace-event a.begin; for i in 1 2 3; do cat missing$i; done; printf 'x \033[31my\n' >&2; ptrace-event a.end 1; sh -c 'sleep 60; :'`)
	record.Env = env
	if out, err := record.CombinedOutput(); record.ProcessState.ExitCode() != 124 {
		t.Fatalf("%v: %s", err, out)
	}
	log, err := os.ReadFile(sound)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(7, 32))
	answers, faults := 0, 0
	for round := range rounds {
		b := slices.Clone(log)
		switch at := rnd.IntN(len(b)); round % 3 {
		case 0:
			b = b[:at]
		case 1:
			b[at] ^= 1 << rnd.IntN(8)
		case 2: // what no checksum finds
			for range 1 + rnd.IntN(8) {
				b[96+rnd.IntN(len(b)-96)] = byte(rnd.Uint32())
			}
			hostile.FixChecksums(b)
		}
		if err := os.WriteFile(bad, b, 0o600); err != nil {
			t.Fatal(err)
		}
		n := 5 + rnd.IntN(25)
		out, said, status := whyStatus(t, env, "--why="+strconv.Itoa(n), bad)
		if status > 1 || status == 1 && (said == "" || strings.Contains(said, "goroutine ")) {
			t.Fatalf("round %d: status %d, %s", round, status, said)
		}
		if out == "" {
			if status == 0 {
				t.Errorf("round %d: nothing", round)
			}
			continue
		}
		answers++
		checkWhyLines(t, out, n, "")
		harmlessText(t, fmt.Sprint("round ", round), []byte(out), "")
		if status == 1 {
			faults++
			if !strings.Contains(out, "\nlost: ") {
				t.Errorf("round %d: the answer does not say what it lacks:\n%s%s", round, out, said)
			}
		}
		if object, _, _ := whyStatus(t, env, "--why", "-j", bad); !json.Valid([]byte(object)) {
			t.Errorf("round %d: %s", round, object)
		}
	}
	if answers < rounds/2 || faults < rounds/10 {
		t.Errorf("%d answers, %d of them with a fault, in %d rounds", answers, faults, rounds)
	}
}

// whyStatus runs ptrace-dump.
func whyStatus(t *testing.T, env []string, args ...string) (out, said string, status int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ptrace-dump", args...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}
