// Package words keeps words out of the project's texts that made them hard to read.
package words

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// instead has what to write in place of each word, an extended regular expression. The brackets keep
// this file from matching itself.
var instead = []struct{ word, instead string }{
	{`t[o]ld`, `report; "is reported", "reports"`},
	{`n[o]body`, `name the actor: "no process", "no stream"`},
	{`wh[o]ever`, `name the actor: "the caller", "a process that"`},
	{`se[e]n as`, `name the relation: "whose word is c"`},
	{`st[a]nds still`, `is stopped, pauses, waits`},
	{`st[a]nd still`, `are stopped, pause, wait`},
	{`s[o]mebody`, `name the actor: "another user", "another process"`},
	{`everyb[o]dy`, `name the actors: "all processes"`},
	{`anyb[o]dy`, `name the actor: "any process"`},
	{`beg[u]n`, `started`},
	{`l[e]st`, `because otherwise`},
	{`neith[e]r the`, `"and not the"; or two sentences`},
	{`kn[o]ts?`, `clock anchor`},
	{`that wh[i]ch`, `name it`},
	{`sees to [i]t that`, `"ensures", or the verb itself`},
	{`for [e]ver`, `indefinitely, permanently`},
	{`is not to be h[a]d`, `is not available`},
}

// allowed are the lines that may have such a word: the beginning of a path, an expression that
// matches the line, and the reason.
var allowed = []struct{ path, line, reason string }{
	{"cmd/internal/script/fork_limit_test.go", `n[o]body,`, "a user"},
	{"cmd/internal/script/modules_test.go", `Neith[e]r the name of`, "the text of a licence"},
	{"cmd/internal/script/otheruser_test.go", `n[o]body`, "a user"},
	{"cmd/internal/script/swap_test.go", `n[o]body's business`, "the content of a file"},
	{"cmd/internal/script/trace_setuid_test.go", `n[o]body`, "a user"},
	{"pkg/posixtrace/internal/registry/dir_test.go", `as n[o]body`, "a user"},
	{"pkg/posixtrace/internal/registry/places_test.go", `n[o]body`, "a user"},
	{"cmd/internal/script/check_test.go", `"KN[O]T"`, "a kind of block in the format of logs"},
	{"man/ptrace-log.5", `[.]It Li KN[O]T`, "a kind of block in the format of logs"},
	{"pkg/posixtrace/internal/tracelog/text", `kn[o]ts`, "a word of the text form of logs"},
	{"testdata/log/", `kn[o]ts`, "a word of the text form of logs"},
	{"testdata/log/", `"beg[u]n"`, "the data of an event"},
}

var (
	texts = regexp.MustCompile(`\.(go|s|c|cc|h|md|txtar|sh|bash|js|mjs|css|html)$|^(man|scripts|\.ci|\.github)/`)
	// Inputs of fuzz targets and files of others are no texts of the project.
	others = regexp.MustCompile(`/testdata/fuzz/|^bin/|/page/uplot/|/package-lock\.json|/node_modules/|^\.git/`)
	// In the scripts of the commands' tests only comments are prose.
	command = regexp.MustCompile(`^\s*[^#\s]`)
)

// files lists the texts. git refuses a repository of another user, and an archive has none.
func files(t *testing.T, root string) (list []string) {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z", "-co", "--exclude-standard")
	cmd.Dir = root
	var all []string
	if out, err := cmd.Output(); err == nil {
		all = strings.Split(string(out), "\x00")
	} else if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var rel string
			rel, err = filepath.Rel(root, path)
			all = append(all, filepath.ToSlash(rel))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if texts.MatchString(f) && !others.MatchString(f) {
			list = append(list, f)
		}
	}
	return list
}

// found lists the lines of a text that have one of the words, with what to write instead.
func found(path, text string) (places []string) {
	for n, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(path, "testdata/script/") && command.MatchString(line) {
			continue
		}
		if !anyWord.MatchString(line) || isAllowed(path, line) {
			continue
		}
		for i, w := range words {
			if w.MatchString(line) {
				places = append(places, fmt.Sprintf("%s:%d: %s\n\t%s", path, n+1, strings.TrimSpace(line), instead[i].instead))
			}
		}
	}
	return places
}

func isAllowed(path, line string) bool {
	for i, a := range allowed {
		if strings.HasPrefix(path, a.path) && allowedLines[i].MatchString(line) {
			return true
		}
	}
	return false
}

var (
	words, allowedLines []*regexp.Regexp
	anyWord             *regexp.Regexp
)

func init() {
	var list []string
	for _, w := range instead {
		words = append(words, regexp.MustCompile(`(?i)\b(`+w.word+`)\b`))
		list = append(list, w.word)
	}
	anyWord = regexp.MustCompile(`(?i)\b(` + strings.Join(list, "|") + `)\b`)
	for _, a := range allowed {
		allowedLines = append(allowedLines, regexp.MustCompile(a.line))
	}
}

func TestWords(t *testing.T) {
	root := filepath.Join("..", "..")
	list := files(t, root)
	if len(list) < 500 {
		t.Fatalf("only %d texts", len(list))
	}
	for _, f := range list {
		text, err := os.ReadFile(filepath.Join(root, f))
		if os.IsNotExist(err) { // deleted, and not committed yet
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, place := range found(f, string(text)) {
			t.Error(place)
		}
	}
}

// Each word is found, but not as a part of a longer one, and not where it is allowed.
func TestFound(t *testing.T) {
	for _, w := range instead {
		word := strings.TrimSuffix(strings.NewReplacer("[", "", "]", "").Replace(w.word), "?")
		for _, tt := range []struct {
			path, line string
			n          int
		}{
			{"README.md", word, 1},
			{"man/a.1", "(" + strings.ToUpper(word) + ")", 1},
			{"a.go", "x" + word + "x_" + word, 0},
			{"testdata/script/a.txtar", "# " + word, 1},
			{"testdata/script/a.txtar", "exec echo " + word, 0},
		} {
			if got := found(tt.path, "\n"+tt.line+"\n"); len(got) != tt.n {
				t.Errorf("%s: %q: %q, want %d", tt.path, tt.line, got, tt.n)
			}
		}
	}
	const line = "the data is beg" + `un, as "beg` + `un"`
	if got := found("testdata/log/a", line); got != nil {
		t.Errorf("an allowed line: %q", got)
	}
	if got := found("docs/a.md", line); len(got) != 1 {
		t.Errorf("the same line elsewhere: %q", got)
	}
}
