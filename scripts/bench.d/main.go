// Bench measures the cost of tracing beside the alternatives and prints one table.
// scripts/bench builds the programs it measures and starts it.
//
// The two sides of an item run alternately, and each ratio compares two runs of one
// round. The table shows the median and half of the range.
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
	bin   string // directory of the programs
	work  string // directory for output of the programs
	cpu   string // number of the processor for pinned measurements
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

// The daemon must end with this process. For the kernel, its parent's end is the end of
// the thread that started it.
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
