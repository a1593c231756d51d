// Viewers loads the output of ptrace-dump --chrome into timeline viewers in a headless
// browser and compares the slices they show with the file. scripts/extra/viewers builds it and
// starts it.
//
// usage: viewers.d --browser=FILE --speedscope=DIRECTORY --out=DIRECTORY FILE.json...
//
// The viewers are speedscope, and the timeline of "go tool trace", whose page gets the
// file in place of the tool's trace. The status is 1 if a viewer reports an error or shows
// a slice that differs from the file.
//
//	viewers.d spans
//
// is a traced program: goroutines with spans that share threads.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// limit bounds the loading of a file in a viewer; it allows for a busy machine.
const limit = 2 * time.Minute

func main() {
	if len(os.Args) == 2 && os.Args[1] == "spans" {
		spans()
		return
	}
	browser := flag.String("browser", "", "`file` to execute: Chromium, or what is made of it")
	speedscope := flag.String("speedscope", "", "`directory` with speedscope's page")
	out := flag.String("out", "", "`directory` for the pictures")
	flag.Parse()
	if err := run(*browser, *speedscope, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "viewers:", err)
		os.Exit(1)
	}
}

// spans records requests, each with a query, in goroutines that sleep and so change threads.
func spans() {
	request, err := posixtrace.OpenSpanType("request")
	query, err2 := posixtrace.OpenSpanType("query")
	if err := errors.Join(err, err2); err != nil {
		fmt.Fprintln(os.Stderr, "viewers: spans:", err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 5 {
				ctx, s := request.Start(context.Background(), fmt.Appendf(nil, "GET /%d/%d", g, i))
				time.Sleep(time.Millisecond)
				_, q := query.Start(ctx, fmt.Appendf(nil, "select %d", i))
				time.Sleep(time.Millisecond)
				q.End(nil)
				s.End([]byte("200"))
			}
		})
	}
	wg.Wait()
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

func run(browser, speedscope, out string, files []string) error {
	if browser == "" || speedscope == "" || out == "" || len(files) == 0 {
		return errors.New("--browser, --speedscope, --out and a file are needed")
	}
	site, err := serve(speedscope)
	if err != nil {
		return err
	}
	defer site.close()
	b, err := startBrowser(browser)
	if err != nil {
		return err
	}
	defer b.close()
	viewers := []viewer{{"speedscope", showSpeedscope, site.url + "/speedscope/", false, false}, {"go tool trace", showGo, site.url + "/trace", true, true}}
	bad := 0
	for _, file := range files {
		want, marks, err := read(file)
		if err != nil {
			return err
		}
		site.file(file)
		for _, v := range viewers {
			picture := filepath.Join(out, strings.TrimSuffix(filepath.Base(file), ".json")+"-"+strings.ReplaceAll(v.name, " ", "-")+".png")
			n, err := show(b, v, want, marks, picture)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", v.name, file, err)
			}
			bad += n
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d complaints", bad)
	}
	return nil
}

// show loads a file, prints one line, and returns the number of faults.
func show(b *browser, v viewer, want, marks map[lane][]slice, picture string) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	t, err := b.open(ctx)
	if err != nil {
		return 0, err
	}
	defer t.close()
	got, err := v.show(t, v.url)
	if err != nil {
		return 0, errors.Join(append([]error{err}, complaints(t)...)...)
	}
	if err := t.picture(picture); err != nil {
		return 0, err
	}
	if v.marks {
		got.drop(marks)
	}
	if !v.empty {
		want = lasting(want)
	}
	wrong := append(got.complaints, t.complaints...)
	wrong = append(wrong, compare(want, got.lanes)...)
	fmt.Printf("%s: %s: %d of %d slices in %d lanes, ", filepath.Base(picture), v.name, count(got.lanes), count(want), len(got.lanes))
	if v.marks {
		fmt.Printf("%d of %d marks, ", got.marks, count(marks))
	}
	fmt.Printf("%d complaints\n", len(wrong))
	for i, w := range wrong {
		if i == 10 {
			fmt.Printf("    and %d more\n", len(wrong)-i)
			break
		}
		fmt.Println("   ", w)
	}
	return len(wrong), nil
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
