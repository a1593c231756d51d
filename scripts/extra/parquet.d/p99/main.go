// Command p99 prints the nearest-rank p99 of the durations of a span over many logs, in nanoseconds, and
// how many there are. It reads the logs with the package, and pairs begin and end by itself:
// scripts/extra/parquet compares it with the answer of a database.
package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "p99:", err)
		os.Exit(1)
	}
}

func run(name string, logs []string) error {
	var all []int64
	for _, log := range logs {
		times, err := durations(name, log)
		if err != nil {
			return fmt.Errorf("%s: %w", log, err)
		}
		all = append(all, times...)
	}
	if len(all) == 0 {
		return fmt.Errorf("no span %s", name)
	}
	slices.Sort(all)
	fmt.Println(all[(len(all)*99+99)/100-1], len(all))
	return nil
}

// durations returns how long the spans of a name took in a log, in which they follow each other.
func durations(name, log string) (times []int64, err error) {
	f, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := posixtrace.NewReader(f)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	begin := int64(-1)
	for rec, err := range r.All() {
		if err != nil {
			return nil, err
		}
		switch {
		case rec.Name == name+".begin":
			begin = rec.UnixNano
		case rec.Name == name+".end" && begin >= 0:
			times = append(times, rec.UnixNano-begin)
			begin = -1
		}
	}
	return times, nil
}
