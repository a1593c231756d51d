package analysis

import (
	"bufio"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

var update = flag.Bool("update", false, "rewrite testdata/labels.txt")

// Each line of the file has a command as the kernel executes it, the path and the arguments with the
// name (single quotes around those with spaces), and what it is called among all the others.
func TestLabelsOfCommandLines(t *testing.T) {
	const path = "testdata/labels.txt"
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines, wants []string
	var args [][]byte
	l := NewLabels()
	for s := bufio.NewScanner(f); s.Scan(); {
		line, want, _ := strings.Cut(s.Text(), "\t")
		words := split(line)
		d := posixtrace.ExecData{Path: words[0], Argv: words[1:]}
		lines, wants, args = append(lines, line), append(wants, want), append(args, d.Append(nil))
		l.Add(args[len(args)-1])
	}
	if len(lines) < 100 {
		t.Errorf("%d command lines", len(lines))
	}
	var b strings.Builder
	for i, a := range args {
		got := l.Of(a, false)
		if got != wants[i] && !*update {
			t.Errorf("%s: %q, want %q", lines[i], got, wants[i])
		}
		b.WriteString(lines[i] + "\t" + got + "\n")
	}
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// split splits a line at spaces outside of single quotes.
func split(line string) (words []string) {
	quoted := false
	for _, part := range strings.FieldsFunc(line, func(r rune) bool {
		if r == '\'' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	}) {
		words = append(words, strings.ReplaceAll(part, "'", ""))
	}
	return words
}
