package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The check finds each fault that it is for.
func TestCheckFinds(t *testing.T) {
	const head = "<!DOCTYPE html>\n<html lang=\"en\"><head><title>x</title></head><body><h1>x</h1>"
	for _, tt := range []struct{ body, want string }{
		{`<p>fine <a href="a.html#here">x</a> <a id="here" href="https://x.example/">y</a></p>`, ""},
		{`<p>x`, "closes"},
		{`<p>x</div>`, "closes"},
		{`<p><div>x</div></p>`, "div in p"},
		{`<ul><p>x</p></ul>`, "p in ul"},
		{`<table><td>x</td></table>`, "td in table"},
		{`<a href="#x"><a href="#x">x</a></a>`, "a link in a link"},
		{`<p id="x">x</p><p id="x">x</p>`, `id "x"`},
		{`<h3>x</h3>`, "h3 follows h1"},
		{`<h1>x</h1>`, "2 headings"},
		{`<img src="a.html">`, "without a text"},
		{`<img src="https://x.example/a.png" alt="x">`, "needs a network"},
		{`<script>x</script>`, "element script"},
		{`<p onclick="x">x</p>`, "has onclick"},
		{`<p style="x">x</p>`, "has style"},
		{`<a href="b.html">x</a>`, "no such file"},
		{`<a href="#there">x</a>`, "no such anchor"},
		{`<a href="/etc/passwd">x</a>`, "out of the site"},
		{`<a href="javascript:x">x</a>`, "out of the site"},
		{`<a href="//x.example/">x</a>`, "out of the site"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.html"), []byte(head+tt.body+"</body></html>"), 0o644); err != nil {
			t.Fatal(err)
		}
		faults, err := check(dir)
		if err != nil {
			t.Fatal(err)
		}
		if tt.want == "" && len(faults) > 0 || tt.want != "" && !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, tt.want) }) {
			t.Errorf("%s: %q, want %q", tt.body, faults, tt.want)
		}
	}
}

// A link to a source that is no page and no file is an error.
func TestLinks(t *testing.T) {
	s := &site{root: filepath.Join("..", "..", ".."), files: map[string]string{}}
	if err := s.documents(); err != nil {
		t.Fatal(err)
	}
	p := &page{path: "guides/ci.html", source: "docs/guides/ci.md"}
	for _, tt := range []struct{ to, want string }{
		{"golden.md", "../guides/golden.html"}, {"../../README.md#try-it", "../overview.html#try-it"}, {"../cost/README.md", "../cost/index.html"},
		{"../../man/ptrace-run.1", "../man/ptrace-run.1.html"}, {"../../man/posix_trace_stop.3", "../man/posix_trace_start.3.html"},
		{"../../examples/ci/record", "../files/examples/ci/record.txt"}, {"https://x.example/a", "https://x.example/a"}, {"#here", "#here"},
	} {
		if got, err := s.link(p, tt.to); got != tt.want || err != nil {
			t.Errorf("link to %s: %q, %v, want %q", tt.to, got, err, tt.want)
		}
	}
	for _, to := range []string{"missing.md", "../../../x", "../../scripts"} {
		if got, err := s.link(p, to); err == nil {
			t.Errorf("link to %s: %q", to, got)
		}
	}
}

// A page is found by each name that it has, with a line that says what it is about; a long page has
// contents, and each leads somewhere.
func TestLists(t *testing.T) {
	s := &site{root: filepath.Join("..", "..", ".."), out: t.TempDir(), files: map[string]string{}}
	if err := s.build(""); err != nil {
		t.Fatal(err)
	}
	faults, err := check(s.out)
	if err != nil || len(faults) > 0 {
		t.Fatal(faults, err)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(s.out, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, p := range s.pages {
		if dir := filepath.Dir(p.path); p.about == "" && filepath.Base(p.path) != "index.html" && (dir == "guides" || dir == "man" || dir == "pkg") {
			t.Errorf("%s: no description", p.path)
		}
	}
	manual := read("man/index.html")
	names, err := filepath.Glob(filepath.Join(s.root, "man", "*.[1-8]"))
	if err != nil || len(names) < 50 {
		t.Fatal(names, err)
	}
	for _, n := range names {
		if name := strings.TrimSuffix(filepath.Base(n), filepath.Ext(n)); !strings.Contains(manual, name) {
			t.Errorf("the list of manual pages has no %s", name)
		}
	}
	for name, want := range map[string]string{"man/ptrace-run.1.html": `href="#EXAMPLES">EXAMPLES<`, "pkg/posixtrace.html": `href="#Stream">Stream<`, "guides/ci.html": `href="golden.html">Golden files`, "overview.html": `href="#install">Install<`} {
		if !strings.Contains(read(name), want) {
			t.Errorf("%s has no %s", name, want)
		}
	}
}
