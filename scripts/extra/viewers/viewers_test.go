// Package viewers loads the output of ptrace-dump --chrome into timeline viewers in a headless browser
// and compares the slices they show with the file.
//
// The viewers are speedscope, and the timeline of "go tool trace", whose page gets the file in place of
// the tool's trace.
package viewers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// limit bounds the loading of a file in a viewer; it allows for a busy machine.
const limit = 2 * time.Minute

// TestViewers shows a build with nested programs, script steps and spans of a Go program, or the files that
// are the operands of the test:
//
//	POSIXTRACE_FULL=1 go test -v ./scripts/extra/viewers -args FILE.json...
//
// It leaves pictures and the file in bin/viewers. It needs npm, which fetches speedscope, and Chromium;
// CHROMIUM names another browser.
func TestViewers(t *testing.T) {
	tracetest.Only(t, tracetest.Full(), "by scripts/check --all")
	tracetest.OnlyWithoutRace(t) // the programs are the same
	tracetest.NeedProgram(t, "npm")
	tracetest.NeedProgram(t, "make")
	browser := ""
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	tracetest.Need(t, browser != "", "Chromium")
	out, err := filepath.Abs("../../../bin/viewers")
	tracetest.OK(t, "Abs", err)
	tracetest.OK(t, "MkdirAll", os.MkdirAll(out, 0o755))
	tmp := t.TempDir()
	npm := exec.Command("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", tmp, "speedscope@1.25.0")
	text, err := npm.CombinedOutput()
	tracetest.Need(t, err == nil, "npm install: "+string(text))
	files := flag.Args()
	if len(files) == 0 {
		files = []string{record(t, out)}
	}
	site, err := serve(filepath.Join(tmp, "node_modules/speedscope/dist/release"))
	tracetest.OK(t, "serve", err)
	defer site.close()
	b, err := startBrowser(browser)
	tracetest.OK(t, "start the browser", err)
	defer b.close()
	for _, file := range files {
		want, marks, err := read(file)
		tracetest.OK(t, "read", err)
		site.file(file)
		for _, v := range []viewer{
			{"speedscope", showSpeedscope, site.url + "/speedscope/", false, false},
			{"go tool trace", showGo, site.url + "/trace", true, true},
		} {
			picture := filepath.Join(out, strings.TrimSuffix(filepath.Base(file), ".json")+"-"+strings.ReplaceAll(v.name, " ", "-")+".png")
			if err := show(t, b, v, want, marks, picture); err != nil {
				t.Errorf("%s: %s: %v", v.name, file, err)
			}
		}
	}
}

// record records a build and returns its file for viewers, in the directory out.
func record(t *testing.T, out string) string {
	t.Helper()
	bin, build, traces := t.TempDir(), t.TempDir(), tracetest.SharedDir(t)
	tracetest.OK(t, "CopyFS", os.CopyFS(build, os.DirFS("testdata/build")))
	run := func(dir, name string, args ...string) []byte {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "MAKEFLAGS=", "MAKELEVEL=", "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		text, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %q: %v", name, args, err)
		}
		return text
	}
	run("", "go", "build", "-buildvcs=false", "-o", bin+"/", "github.com/posixtrace/posixtrace/cmd/ptrace-...", "./testdata/spans")
	run(build, filepath.Join(bin, "ptrace-run"), "-e", "proc", "-o", "build.trace", "make", "-s", "-j4")
	file := filepath.Join(out, "build.json")
	tracetest.OK(t, "WriteFile", os.WriteFile(file, run(build, filepath.Join(bin, "ptrace-dump"), "--chrome", "build.trace"), 0o644))
	return file
}

// lane is a thread of the file, or a lane of spans.
type lane struct{ pid, tid int }

// slice is a drawn slice, in nanoseconds since the start of its lane's first.
type slice struct {
	name    string
	at, dur int64
}

// shown is a file as a viewer shows it.
type shown struct {
	lanes      map[lane][]slice
	marks      int // marks shown, as slices without a duration
	complaints []string
}

// viewer shows a file in a tab of the browser and leaves its page unchanged.
type viewer struct {
	name  string
	show  func(t *tab, url string) (*shown, error)
	url   string // of the page
	marks bool   // it also shows marks
	empty bool   // and slices of no duration
}

// show loads a file, logs one line, and reports each fault.
func show(t *testing.T, b *browser, v viewer, want, marks map[lane][]slice, picture string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tab, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer tab.close()
	got, err := v.show(tab, v.url)
	if err != nil {
		return errors.Join(append([]error{err}, complaints(tab)...)...)
	}
	if err := tab.picture(picture); err != nil {
		return err
	}
	if v.marks {
		got.drop(marks)
	}
	if !v.empty {
		want = lasting(want)
	}
	wrong := append(got.complaints, tab.complaints...)
	wrong = append(wrong, compare(want, got.lanes)...)
	t.Logf("%s: %s: %d of %d slices in %d lanes, %d of %d marks", filepath.Base(picture), v.name, count(got.lanes), count(want), len(got.lanes), got.marks, count(marks))
	for i, w := range wrong {
		if i == 10 {
			t.Errorf("and %d more", len(wrong)-i)
			break
		}
		t.Error(w)
	}
	return nil
}

func complaints(t *tab) []error {
	var errs []error
	for _, c := range t.complaints {
		errs = append(errs, errors.New(c))
	}
	return errs
}

func count(lanes map[lane][]slice) int {
	n := 0
	for _, l := range lanes {
		n += len(l)
	}
	return n
}

// drop removes the marks of a file from the shown slices.
func (s *shown) drop(marks map[lane][]slice) {
	for l, shown := range s.lanes {
		left := slices.Clone(marks[l])
		shown = slices.DeleteFunc(shown, func(x slice) bool {
			i := -1
			if x.dur == 0 {
				i = slices.IndexFunc(left, func(m slice) bool { return m.name == x.name && max(m.at-x.at, x.at-m.at) <= 1 })
			}
			if i >= 0 {
				left = slices.Delete(left, i, i+1)
				s.marks++
			}
			return i >= 0
		})
		if s.lanes[l] = shown; len(shown) == 0 {
			delete(s.lanes, l)
		}
	}
}

// lasting returns the slices that have a duration.
func lasting(lanes map[lane][]slice) map[lane][]slice {
	some := map[lane][]slice{}
	for l, all := range lanes {
		for _, s := range all {
			if s.dur > 0 {
				some[l] = append(some[l], s)
			}
		}
	}
	return some
}

// compare reports slices that differ from the file: another number of slices, another
// name, or a start or duration that differs by more than 1 ns.
func compare(want, got map[lane][]slice) []string {
	var wrong []string
	for l := range got {
		if want[l] == nil {
			wrong = append(wrong, fmt.Sprintf("lane %v is not in the file", l))
		}
	}
	for l, w := range want {
		g := got[l]
		if len(g) != len(w) {
			wrong = append(wrong, fmt.Sprintf("lane %v: %d slices of %d", l, len(g), len(w)))
			continue
		}
		order(w)
		order(g)
		for i := range w {
			at, dur := g[i].at-w[i].at, g[i].dur-w[i].dur
			if !strings.HasPrefix(g[i].name, w[i].name) || max(at, -at, dur, -dur) > 1 {
				wrong = append(wrong, fmt.Sprintf("lane %v: %v is shown as %v", l, w[i], g[i]))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// order sorts the slices of a lane and makes their times relative to the first.
func order(s []slice) {
	slices.SortFunc(s, func(a, b slice) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.dur, a.dur), cmp.Compare(a.name, b.name))
	})
	first := s[0].at
	for i := range s {
		s[i].at -= first
	}
}

func nanos(us float64) int64 { return int64(math.Round(us * 1000)) }

// read reads the slices of a file, and the marks of single lanes.
func read(file string) (all, marks map[lane][]slice, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	var doc struct {
		TraceEvents []struct {
			Name, Ph, S string
			PID, TID    int
			Ts, Dur     float64
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	all, marks = map[lane][]slice{}, map[lane][]slice{}
	for _, e := range doc.TraceEvents {
		l := lane{e.PID, e.TID}
		switch {
		case e.Ph == "X":
			all[l] = append(all[l], slice{e.Name, nanos(e.Ts), nanos(e.Dur)})
		case e.Ph == "i" && e.S == "t":
			marks[l] = append(marks[l], slice{e.Name, nanos(e.Ts), 0})
		}
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("%s: no slices", file)
	}
	return all, marks, nil
}
