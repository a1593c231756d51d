package script_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// whyKeys are the keys of the answer of --why, in their order.
var whyKeys = []string{"verdict", "failed", "from", "output", "waited", "slow", "memory", "lost", "more", "left out"}

// checkWhy checks that the answers of --why agree with the verdict of the summary, have no more lines than
// asked for, and their keys in order. answer returns that of some lines, or 0 for JSON.
func checkWhy(t *testing.T, verdict string, answer func(lines int) string) {
	t.Helper()
	whole := answer(25)
	if got := whyVerdict(whole); got != shortened(verdict) {
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

// whyVerdict returns what an answer says as the first lines of the summary say it, without times.
func whyVerdict(answer string) string {
	of := map[string][]string{}
	for line := range strings.Lines(answer) {
		key, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		of[key] = append(of[key], text)
	}
	verdict, waited := of["verdict"], of["waited"]
	var b strings.Builder
	for i, line := range verdict {
		line = verdictTime.ReplaceAllString(line, "$2")
		if i == 0 && len(waited) > 0 && strings.HasPrefix(waited[0], "running then: ") {
			line += "; " + waited[0]
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
		for _, line := range of["output"] {
			if line != "not recorded" && line != "none of a failure" {
				b.WriteString("    " + line + "\n")
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
