// Bench measures what tracing costs beside what a user would take instead, and
// prints one table. scripts/bench builds what it needs and starts it.
//
// The two sides of an item are run in turn, in the same run, and a ratio is that of two
// runs of the same round. What is shown is the median and how far half of
// the range is from it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"time"
)

// bench is one run.
type bench struct {
	quick bool
	bin   string // what scripts/bench has built
	work  string // for what is measured to write to
	cpu   string // that measurements of one processor are pinned to
	lttng *lttng
	noLT  error // why there is none
}

// pick is the first for a run that measures for long, the second for a quick one.
func (b *bench) pick(long, quick int) int {
	if b.quick {
		return quick
	}
	return long
}

// The daemon that is started is to end with this process, and the kernel counts as its end
// that of the thread that started it.
func init() { runtime.LockOSThread() }

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	b := &bench{}
	flag.BoolVar(&b.quick, "quick", false, "measure for minutes only")
	flag.StringVar(&b.bin, "bin", "", "`directory` of what was built")
	flag.StringVar(&b.work, "work", "", "empty `directory` to write to")
	only := flag.String("only", "", "measure only items whose name matches this regular `expression`")
	flag.Parse()
	want, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if b.cpu, err = firstProcessor(); err != nil {
		return err
	}
	if b.lttng, b.noLT = startLTTng(filepath.Join(b.work, "lttng")); b.noLT == nil {
		defer b.lttng.close()
	}

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
		if err := printItems(os.Stdout, items); err != nil {
			return err
		}
	}
	if want.MatchString("parts of an event") {
		if err := b.parts(os.Stdout); err != nil {
			return err
		}
	}
	length := "whole"
	if b.quick {
		length = "quick"
	}
	fmt.Printf("\nA %s run on %s, %d processors, of which spinning threads got %.1f before and %.1f after it; %s, %.0f s.\n",
		length, processor(), runtime.NumCPU(), before, processors(), runtime.Version(), time.Since(begin).Seconds())
	return nil
}
