package script_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/pagetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/posixspan"
)

// goFailedSpans has spans of all ends. Those whose names begin with bad fail if an argument is given.
func goFailedSpans() {
	ctx := context.Background()
	fail := func(text string) error {
		if len(os.Args) == 1 {
			return nil
		}
		return errors.New(text)
	}
	posixspan.Do(ctx, "good.go", "/a", func(context.Context) error { return nil })
	posixspan.Do(ctx, "bad.go", "/b", func(context.Context) error { return fail("no such page /b\x1b[2J") })
	posixspan.Do(ctx, "bad.go.empty", "", func(context.Context) error { return fail("") })
	posixspan.Do(ctx, "good.go.outer", "", func(ctx context.Context) error {
		_, s := posixspan.Start(ctx, "bad.go.inner", "")
		posixspan.End(s, fail("inner"))
		return nil
	})
	func() {
		defer func() { recover() }()
		posixspan.Do(ctx, "bad.go.panic", "", func(context.Context) error {
			if fail("") != nil {
				panic("here")
			}
			return nil
		})
	}()
	for name, end := range map[string]string{"good.go.rows": "42 rows", "good.go.code": "200", "good.go.one": "1", "good.go.text": "no error", "good.go.errors": "errors: 0"} {
		t, err := posixtrace.OpenSpanType(name)
		if err != nil {
			panic(err)
		}
		_, s := t.Start(ctx, nil)
		s.End([]byte(end))
	}
	if t, err := posixtrace.OpenSpanType("bad.go.by.hand"); err == nil {
		_, s := t.Start(ctx, nil)
		if fail("") != nil {
			s.End([]byte("error: by hand"))
		} else {
			s.End(nil)
		}
	}
}

func init() { helpers["go-failed-spans"] = goFailedSpans }

const cFailedSpans = `
#include <string.h>
#include <trace.h>

static void span(const char *name, const char *end)
{
	char types[2][64] = {"", ""};
	trace_event_id_t ids[2];
	for (int i = 0; i < 2; i++) {
		strcat(strcpy(types[i], name), i ? ".end" : ".begin");
		if (posix_trace_eventid_open(types[i], &ids[i]) != 0)
			return;
	}
	posix_trace_event(ids[0], "in C", 4);
	posix_trace_event(ids[1], end, strlen(end));
}

int main(int argc, char **argv)
{
	(void)argv;
	span("good.c", "");
	span("good.c.rows", "42 rows");
	span("good.c.one", "1");
	span("bad.c", argc > 1 ? "error: no such file" : "");
	return 0;
}
`

const shFailedSpans = `
eval "$(ptrace-event --shell=sh)"
go-failed-spans $1
./c-spans $1
ptrace-event -r good.sh true
ptrace-event -r bad.sh sh -c "exit ${1:+3}"
ptrace-event -B good.sh.rows
ptrace-event -E good.sh.rows "42 rows"
ptrace-event -B bad.sh.text
ptrace-event -E bad.sh.text ${1:+"error: no such key"}
pt_begin bad.pt.text
pt_end bad.pt.text ${1:+"error: in pt_end"}
pt_begin good.pt.text
pt_end good.pt.text done
pt_step good.step true
pt_step bad.step test -z "$1"
# Lines of another program, which give their spans keys.
line() { printf '%s\t%s:%s.%s\t\t%s\n' "$1" $$ $$ "$2" "$3" >>"$PTRACE_SPOOL"; }
line good.line.begin 902 /good; line good.line.end 902 ""
line good.line.rows.begin 903 /good; line good.line.rows.end 903 "42 rows"
line bad.line.status.begin 904; line bad.line.status.end 904 ${1:+4}
line bad.line.begin 901 /bad; line bad.line.end 901 "${1:+no such page}"
exit ${1:+1}
`

// Every command that shows or counts failed spans knows the same ones, whether a program in Go, in C or a
// script has recorded them, by a status or by the text of an error. Ordinary data is no failure.
func TestFailedSpans(t *testing.T) {
	ctest.Need(t)
	p := newPages(t)
	source, err := os.ReadFile(ctest.Build(t, ctest.Program{Text: cFailedSpans}))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"c-spans": source, "all.sh": []byte(shFailedSpans)} {
		if err := os.WriteFile(filepath.Join(p.dir, name), data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.run("ptrace-run -c -o good.trace -- sh all.sh && { ptrace-run -c -o a.trace -- sh all.sh bad; test $? = 1; }")

	var want, spans []string
	for _, line := range strings.Split(string(p.run("ptrace-dump --time=none --format='%n\n' a.trace")), "\n") {
		if name, ok := strings.CutSuffix(line, ".end"); ok && strings.HasPrefix(name, "bad") {
			want = append(want, name)
		}
		if name, ok := strings.CutSuffix(line, ".end"); ok {
			spans = append(spans, name)
		}
	}
	slices.Sort(want)
	if len(want) != 12 || len(spans) != 28 {
		t.Fatalf("recorded %q, of these failed: %q", spans, want)
	}
	check := func(where string, got []string) {
		t.Helper()
		slices.Sort(got)
		for _, name := range want {
			if !slices.Contains(got, name) {
				t.Errorf("%s: %s did not fail", where, name)
			}
		}
		for _, name := range got {
			if !slices.Contains(want, name) {
				t.Errorf("%s: %s failed", where, name)
			}
		}
	}
	lines := func(command string) []string { return strings.Split(strings.TrimSpace(string(p.run(command))), "\n") }
	// names finds the spans in the lines that match.
	name := regexp.MustCompile(`(good|bad)[a-z.]*[a-z]`)
	names := func(command, match string) (list []string) {
		failed := regexp.MustCompile(match)
		for _, line := range lines(command) {
			if span := name.FindString(line); span != "" && failed.MatchString(line) {
				list = append(list, strings.TrimSuffix(span, ".end"))
			}
		}
		return list
	}
	check("-s -j", lines(`ptrace-dump -s -j a.trace | jq -r 'select(.kind == "span" and .failed > 0) | .span'`))
	check("-s", names("ptrace-dump -s --top=0 a.trace | sed -n '/^span /,/^$/p'", `^(good|bad).* [1-9]\d*$`))
	check("--failed", names("ptrace-dump --failed -e @user a.trace", `.`))
	check("--failed -j", lines("ptrace-dump --failed -e @user -j a.trace | jq -r '.event | rtrimstr(\".end\")'"))
	check("--tree", names("ptrace-dump --tree --top=0 a.trace", ` (error|[1-9]\d*)  +(\* )?[│├└─ ]*\[`))
	check("--timeline", names("COLUMNS=200 ptrace-dump --timeline --top=0 a.trace", ` (error|[1-9]\d*) +[0-9.]+[nµm]?s$`))
	check("text", names("ptrace-dump --color=always --time=none -e '*.end' a.trace", "\x1b\\[31m"))
	check("--annotate", names("ptrace-dump --color=always --annotate=rel -e '*.end' a.trace", "\x1b\\[31m"))
	check("--chrome", lines(`ptrace-dump --chrome a.trace | jq -r '.traceEvents[] | select(.cat == "user" and .args.failed) | .name | split(" ")[0]'`))
	check("--to=otlp", lines(`ptrace-export --to=otlp -o - a.trace | jq -r '.resourceSpans[]?.scopeSpans[].spans[] | select(.status.code == 2) | .name' | grep -v '^sh$'`))
	check("ptrace-diff", lines(`ptrace-diff --json good.trace a.trace | jq -r 'select(.what == "span" and .change == "fails") | .name | split(" ")[0]'`))

	type result struct {
		Message string `xml:"message,attr"`
	}
	var suites struct {
		Cases []struct {
			Name    string  `xml:"name,attr"`
			Failure *result `xml:"failure"`
		} `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal(p.run("ptrace-dump --junit a.trace"), &suites); err != nil {
		t.Fatal(err)
	}
	var failed []string
	messages := map[string]string{}
	for _, c := range suites.Cases {
		if name, _, _ := strings.Cut(c.Name, " "); c.Failure != nil {
			failed, messages[name] = append(failed, name), c.Failure.Message
		}
	}
	check("--junit", failed)
	for name, want := range map[string]string{"bad.go": `no such page /b\x1b[2J`, "bad.c": "no such file", "bad.sh": "status 3", "bad.sh.text": "no such key",
		"bad.line": "no such page", "bad.line.status": "status 4"} {
		if messages[name] != want {
			t.Errorf("--junit: the message of %s: %q, want %q", name, messages[name], want)
		}
	}
	page, err := pagetest.Parse(p.run("ptrace-dump --html a.trace"))
	if err != nil {
		t.Fatal(err)
	}
	failed = nil
	for i, flags := range page.Runs[0].Spans["flags"] {
		if r := page.Runs[0]; flags&1 != 0 && r.Spans["kind"][i] == 1 {
			failed = append(failed, r.Strings[r.Spans["name"][i]])
		}
	}
	check("--html", failed)
	for _, command := range []string{"ptrace-dump --tree --top=0 a.trace", "ptrace-dump -s a.trace", "ptrace-diff good.trace a.trace", "ptrace-dump --html a.trace"} {
		if out := p.run(command + " || test $? = 1"); !bytes.Contains(out, []byte("no such page")) {
			t.Errorf("%s: the text of the error is missing:\n%s", command, out)
		}
	}
}
