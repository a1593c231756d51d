package posixtest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// The name has the package's, since many tests have a flag -update of their own.
var updateFlag = flag.Bool("posixtest.update", false, "rewrite golden files of posixtest")

// updating reports whether golden files are to be written.
func updating() bool {
	if *updateFlag {
		return true
	}
	f := flag.Lookup("update")
	if f == nil {
		return false
	}
	g, ok := f.Value.(flag.Getter)
	return ok && g.Get() == true
}

// mask replaces what a regular expression of Golden matches.
const mask = "@mask"

// Golden fails the test unless the events recorded so far are those in the file, in this order. It has a
// line for each event: the name, the data, and numbers for its span and the span around it. Data is
// quoted, or as it is if it is a JSON object in one line. Matches of the masks in the data become @mask.
// With -posixtest.update, Golden writes the file.
func (tr *Trace) Golden(file string, masks ...*regexp.Regexp) {
	tr.t.Helper()
	tr.compare(file, golden(tr.Events(), masks))
}

// compare compares a text with that in a file, or writes the file.
func (tr *Trace) compare(file, got string) {
	tr.t.Helper()
	if updating() {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			tr.t.Fatalf("posixtest: %v", err)
		}
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			tr.t.Fatalf("posixtest: %v", err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		tr.t.Errorf("posixtest: %s does not exist; go test -posixtest.update writes it", file)
		return
	}
	if err != nil {
		tr.t.Fatalf("posixtest: %v", err)
	}
	if d := difference(string(want), got); d != "" {
		tr.t.Errorf("posixtest: other events than in %s (-file +test):\n%s", file, d)
	}
}

func golden(list []Event, masks []*regexp.Regexp) string {
	type span struct {
		pid int
		key uint64
	}
	numbers := map[span]int{}
	number := func(pid int, key uint64) int {
		s := span{pid, key}
		if numbers[s] == 0 {
			numbers[s] = len(numbers) + 1
		}
		return numbers[s]
	}
	var b strings.Builder
	for _, e := range list {
		b.WriteString(e.Name)
		if e.Data != "" {
			b.WriteString(" " + shown(e.Data, masks))
		}
		if e.Span != 0 {
			fmt.Fprintf(&b, " span=S%d", number(e.PID, e.Span))
		}
		if e.Parent != 0 {
			fmt.Fprintf(&b, " parent=S%d", number(e.PID, e.Parent))
		}
		if e.Truncation != posixtrace.TruncationNone {
			b.WriteString(" truncated")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// shown returns data as a line shows it.
func shown(data string, masks []*regexp.Regexp) string {
	quoted := !strings.HasPrefix(data, "{") || !json.Valid([]byte(data)) ||
		strings.ContainsFunc(data, func(r rune) bool { return !strconv.IsPrint(r) })
	for _, m := range masks {
		data = m.ReplaceAllLiteralString(data, mask)
	}
	if quoted {
		return strconv.Quote(data)
	}
	return data
}

// Lines of a difference: the equal ones before it, and those of each side.
const (
	contextLines = 3
	maxLines     = 20
)

// difference returns the lines between the common start and the common end of two texts, or "".
func difference(want, got string) string {
	if want == got {
		return ""
	}
	w, g := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	start := 0
	for start < min(len(w), len(g)) && w[start] == g[start] {
		start++
	}
	end := 0
	for end < min(len(w), len(g))-start && w[len(w)-1-end] == g[len(g)-1-end] {
		end++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "line %d:\n", start+1)
	lines := func(mark string, list []string) {
		for i, l := range list {
			if i == maxLines {
				fmt.Fprintf(&b, "%s... and %d more\n", mark, len(list)-i)
				break
			}
			if l != "" {
				b.WriteString(mark + strings.TrimSuffix(l, "\n") + "\n")
			}
		}
	}
	lines(" ", w[max(0, start-contextLines):start])
	lines("-", w[start:len(w)-end])
	lines("+", g[start:len(g)-end])
	return b.String()
}
