// Bench measures the cost of tracing beside the alternatives and prints one table.
// scripts/bench builds the programs it measures and starts it.
//
// The two sides of an item run alternately, and each ratio compares two runs of one
// round. The table shows the median and half of the range.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"time"
)

// bench is one run.
type bench struct {
	quick bool
	bin   string   // directory of the programs
	work  string   // directory for output of the programs
	cpus  []string // numbers of the usable processors; pinned measurements take the first
	lttng *lttng
	noLT  error // why lttng is nil
}

// pick returns long for a whole run, quick for a quick one.
func (b *bench) pick(long, quick int) int {
	if b.quick {
		return quick
	}
	return long
}

// whole returns bars that hold for a whole run only: a quick one does so little that the start of
// a program counts.
func (b *bench) whole(bs bars) bars {
	if b.quick {
		return bars{}
	}
	return bs
}

// The daemon must end with this process. For the kernel, its parent's end is the end of
// the thread that started it.
func init() { runtime.LockOSThread() }

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// Values of the flag readme.
const (
	readmeAdd      = "add"      // results of this machine
	readmeReplace  = "replace"  // and of others
	readmeOverview = "overview" // measures nothing
)

func run() error {
	b := &bench{}
	flag.BoolVar(&b.quick, "quick", false, "measure for minutes only")
	flag.StringVar(&b.bin, "bin", "", "`directory` of what was built")
	flag.StringVar(&b.work, "work", "", "empty `directory` to write to")
	only := flag.String("only", "", "measure only items whose name matches this regular `expression`")
	readme := flag.String("readme", "", "write the pages: `add`, replace or overview")
	name := flag.Bool("machine", false, "print the name of this machine's page")
	flag.Parse()
	want, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	m := thisMachine()
	if *name {
		_, err := fmt.Println(m.file())
		return err
	}
	if b.cpus, err = usableProcessors(); err != nil {
		return err
	}
	d := pagesIn("docs/cost", "README.md")
	switch *readme {
	case readmeOverview:
		return d.rewrite()
	case readmeAdd:
		if err := d.check(m, b.quick); err != nil {
			return err
		}
	case readmeReplace, "":
	default:
		return fmt.Errorf("--readme=%s: not known", *readme)
	}
	if b.lttng, b.noLT = startLTTng(filepath.Join(b.work, "lttng")); b.noLT == nil {
		defer b.lttng.close()
	}
	var results bytes.Buffer
	if err := b.measure(m, want, io.MultiWriter(os.Stdout, &results)); err != nil || *readme == "" {
		return err
	}
	did, err := d.write(m, results.String(), *readme == readmeReplace)
	for _, l := range did {
		fmt.Fprintln(os.Stderr, "bench:", l)
	}
	return err
}

// measure prints the results of the items whose names match.
func (b *bench) measure(m machine, want *regexp.Regexp, w io.Writer) error {
	var items []*item
	begin, before := time.Now(), processors()
	for _, g := range b.groups() {
		if !g.matches(want) {
			continue
		}
		start := time.Now()
		if err := g.measure(); err != nil {
			for _, it := range g.items {
				it.why = err.Error()
			}
		}
		fmt.Fprintf(os.Stderr, "%s: %.1f s\n", g.items[0].name, time.Since(start).Seconds())
		items = append(items, g.items...)
	}
	if len(items) > 0 {
		if err := printItems(w, items, m.family); err != nil {
			return err
		}
	}
	if want.MatchString("parts of an event") {
		if err := b.parts(w); err != nil {
			return err
		}
	}
	length := "whole"
	if b.quick {
		length = "quick"
	}
	_, err := fmt.Fprint(w, "\n", wrap(fmt.Sprintf(
		"A %s run on %s, of which spinning threads got %.1f before and %.1f after it; clock source %s, %s, %s, %.0f s.",
		length, m, before, processors(), m.clock, m.kernel, runtime.Version(), time.Since(begin).Seconds())))
	return err
}
