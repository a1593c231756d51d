package script_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/pagetest"
	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// pages runs programs in a directory of its own and reads pages.
type pages struct {
	t   *testing.T
	dir string
	env []string
}

func newPages(t *testing.T) *pages {
	t.Helper()
	p := &pages{t: t, dir: t.TempDir()}
	traces := filepath.Join(p.dir, "traces")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	p.env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "LC_ALL=C.UTF-8", "MAKEFLAGS=", "MAKELEVEL=")
	return p
}

func (p *pages) run(script string) (out []byte) {
	p.t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = p.dir, p.env
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("%s: %v: %s", script, err, errs.Bytes())
	}
	return out
}

// of returns the page of logs.
func (p *pages) of(logs string) (html string, run *pagetest.Run) {
	p.t.Helper()
	out := p.run("ptrace-dump --html " + logs)
	page, err := pagetest.Parse(out)
	if err != nil || len(page.Runs) != 1 {
		p.t.Fatalf("%s: %v", logs, err)
	}
	return string(out), page.Runs[0]
}

// The page of a parallel build has a lane for each process, the failure, the output, and in the chain
// the command that took longest.
func TestPageOfBuild(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	tracetest.NeedProgram(t, "make")
	p := newPages(t)
	makefile := "all: one two three four\none two:\n\t@echo making $@; exec true $@\nthree:\n\t@echo making $@; exec sleep 1.5\nfour:\n\t@echo making $@ >&2; exit 7\n"
	if err := os.WriteFile(filepath.Join(p.dir, "Makefile"), []byte(makefile), 0o600); err != nil {
		t.Fatal(err)
	}
	p.run("ptrace-run --capture=out,err -e proc --report=run.html -o build.trace -- make -k -j4; test $? = 2")
	html, r := p.of("build.trace")
	if b, err := os.ReadFile(filepath.Join(p.dir, "run.html")); err != nil || string(b) != html {
		t.Errorf("ptrace-run --report wrote %d bytes, ptrace-dump --html %d (%v)", len(b), len(html), err)
	}
	s := r.Spans
	name := func(i int) string { return r.Strings[s["name"][i]] }
	lanes, failed := map[uint64]bool{}, 0
	for i := range s["start"] {
		if strings.HasPrefix(name(i), "true ") || name(i) == "sleep 1.5" {
			lanes[s["lane"][i]] = true
		}
		if s["status"][i] == 7+1 && s["flags"][i]&1 != 0 {
			failed++
		}
	}
	if len(lanes) != 3 || failed != 1 {
		t.Errorf("commands in lanes %v, %d failed with status 7: %v", lanes, failed, r.Strings)
	}
	for _, want := range []string{"making one", "making two", "making three", "making four"} {
		i := slices.Index(r.Text, want)
		if i < 0 || (r.Lines["stream"][i] == 2) != (want == "making four") {
			t.Errorf("line %q is number %d of %q", want, i, r.Text)
		}
	}
	longest := slices.MaxFunc(r.Chain, func(a, b [3]uint64) int { return int(int64(a[2]) - int64(b[2])) })
	if name(int(longest[0])) != "sleep 1.5" || longest[2] < 1e9 {
		t.Errorf("the longest part of the chain is %q: %d", name(int(longest[0])), longest)
	}
	if !strings.Contains(html, `<section class="run failed"`) || !strings.Contains(html, "<code>make -k -j4</code>") {
		t.Error("the verdict lacks the failed command")
	}
}

// A page has the times in which events were lost, and how many.
func TestPageOfLosses(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	p := newPages(t)
	p.run(`ptrace-run --stream-size=64K --stream-full-policy=until-full -o lossy.trace -- sh -c 'seq 100000 | sed "s/^/tick\t/" | ptrace-event --batch' 2>/dev/null`)
	html, r := p.of("lossy.trace 2>/dev/null")
	if len(r.Missing) == 0 || r.Missing[0][0] >= r.Missing[0][1] {
		t.Errorf("missing %d", r.Missing)
	}
	if !strings.Contains(html, " events were lost ") {
		t.Error("the page does not say that events were lost")
	}
}

// A page of several logs has the processes of each below its name.
func TestPageOfLogs(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	p := newPages(t)
	p.run("ptrace-run -c -o a.trace -- echo first; ptrace-run -c -o b.trace -- echo second")
	_, r := p.of("b.trace a.trace")
	var roots []string
	children := map[string]int{}
	for i, parent := range r.Lanes["parent"] {
		if parent == 0 {
			roots = append(roots, r.Strings[r.Lanes["name"][i]])
		} else {
			children[r.Strings[r.Lanes["name"][parent-1]]]++
		}
	}
	slices.Sort(roots)
	if !slices.Equal(roots, []string{"a.trace", "b.trace"}) || children["a.trace"] < 2 || children["b.trace"] < 2 {
		t.Errorf("lanes %q with %v", roots, children)
	}
	if !slices.Equal(r.Text, []string{"first", "second"}) || r.Lines["lane"][0] == r.Lines["lane"][1] {
		t.Errorf("lines %q in %d", r.Text, r.Lines["lane"])
	}
}
