package main

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// How the cost of a trace point grows with writers and streams.

// crowd runs a crowd of writers, goroutines or processes, in one stream of 1 MiB, and stores the time per
// event of all.
func (b *bench) crowd(kind string, writers int) (key string, step func(series) error) {
	key = fmt.Sprint(writers, " ", kind)
	return key, func(s series) error {
		v, err := numbers(1, b.target("crowd", kind, strconv.Itoa(writers), "1048576", fmt.Sprint(b.pick(1000, 400), "ms"))...)
		if err == nil {
			s.put(key, v[0])
			s.put(key+" rate", 1e9/v[0])
		}
		return err
	}
}

func (b *bench) processes() *group {
	one, oneStep := b.crowd("processes", 1)
	two, twoStep := b.crowd("processes", 2)
	return &group{
		rounds: b.pick(15, 7),
		setup:  twoProcessors,
		items: []*item{{name: "the same, 2 processes into one stream, total rate", unit: rate,
			oursKey: two + " rate", theirsKey: one + " rate", peer: "1 process", bar: least(1.8)}},
		steps: []func(series) error{oneStep, twoStep},
	}
}

// crowds compares many processes with as many goroutines.
func (b *bench) crowds() *group {
	g := &group{rounds: b.pick(9, 5)}
	for _, n := range []int{16, 64, 256} {
		ours, step := b.crowd("processes", n)
		theirs, peer := b.crowd("goroutines", n)
		it := &item{name: fmt.Sprintf("the same, %d processes into one stream, per event of all", n), unit: nanoseconds,
			oursKey: ours, theirsKey: theirs, peer: fmt.Sprint(n, " goroutines")}
		if n == 16 {
			it.bar = most(1.5)
		}
		g.items = append(g.items, it)
		g.steps = append(g.steps, step, peer)
	}
	return g
}

func (b *bench) streams() *group {
	n := b.pick(5e6, 2e6)
	step := func(streams string) func(series) error {
		return each(streams, cpuUsed, n, b.pinned(b.target("streams", streams, strconv.Itoa(n))...))
	}
	return &group{
		rounds: b.pick(15, 7),
		items: []*item{
			{name: "the same, 1 thread into 2 streams", unit: nanoseconds, oursKey: "2", theirsKey: "1", peer: "1 stream"},
			{name: "the same, 1 thread into 10 streams", unit: nanoseconds, oursKey: "10", theirsKey: "1", peer: "1 stream", bar: mostOn(5, 6)},
		},
		steps: []func(series) error{step("1"), step("2"), step("10")},
	}
}

// manyProcessors is how many a machine needs for scaling.
const manyProcessors = 8

// scaling goes to more writers than two, on a machine that can run them at once.
func (b *bench) scaling() *group {
	if n := runtime.NumCPU(); n < manyProcessors {
		return &group{
			setup: func() error { return fmt.Errorf("%d processors are needed, and there are %d", manyProcessors, n) },
			items: []*item{{name: "writers: 1 to 16, as threads and as processes", peer: "LTTng-UST, goroutines"}},
		}
	}
	each := b.pick(5e6, 1e6)
	count := strconv.Itoa(each)
	g := &group{rounds: b.pick(9, 5)}
	for _, n := range []int{1, 2, 4, 8, 16} {
		writers := strconv.Itoa(n)
		both := func(key string, argv []string) func(series) error {
			return func(s series) error {
				v, err := numbers(2, argv...)
				if err == nil {
					s.put(key, v[cpuUsed]/float64(n*each))
					s.put(key+" rate", float64(n*each)/v[wallTime]*1e9)
				}
				return err
			}
		}
		ours, theirs := "loop "+writers, "lttng "+writers
		procs, step := b.crowd("processes", n)
		routines, peer := b.crowd("goroutines", n)
		g.items = append(g.items,
			&item{name: "writers: " + writers + ", as threads, processor time per event", unit: nanoseconds, oursKey: ours, theirsKey: theirs, peer: "LTTng-UST"},
			&item{name: "writers: " + writers + ", as threads, total rate", unit: rate, oursKey: ours + " rate", theirsKey: theirs + " rate", peer: "LTTng-UST"},
			&item{name: "writers: " + writers + ", as processes into one stream, total rate", unit: rate, oursKey: procs + " rate", theirsKey: routines + " rate", peer: "goroutines"})
		g.steps = append(g.steps,
			both(ours, b.target("loop", "16", writers, count)),
			b.recording(both(theirs, b.lttngTarget("loop", writers, count))),
			step, peer)
	}
	return g
}

// order counts events that a live reader reports out of order, with the usual patience of readers and
// with a long one.
func (b *bench) order() *group {
	step := func(key, name string) func(series) error {
		argv := b.onTwo(filepath.Join(b.bin, "posixtrace.test"), "-test.run=^$", "-test.bench=^BenchmarkLiveOrder$/^"+name+"$", "-test.benchtime=1x")
		return func(s series) error {
			r, err := command("", argv...)
			if err != nil {
				return err
			}
			m := metrics(r.out)
			if m["read"] == 0 {
				return fmt.Errorf("no event was read: %.200q", r.out)
			}
			s.put(key, max(m["disordered"], m["late"]))
			return nil
		}
	}
	return &group{
		rounds: b.pick(5, 2),
		setup:  twoProcessors,
		items: []*item{
			{name: "events out of order in live reading, 4 writers on 2 processors, 8 s", unit: count, oursKey: "usual", bar: atMost(10, count)},
			{name: "the same, with 5 s of patience", unit: count, oursKey: "patient", bar: atMost(0, count)},
		},
		steps: []func(series) error{step("usual", "goroutines"), step("patient", "goroutines,patient")},
	}
}

// metrics returns what a benchmark reports, by unit.
func metrics(out string) map[string]float64 {
	m := map[string]float64{}
	for l := range strings.Lines(out) {
		f := strings.Fields(l)
		if len(f) < 2 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		for i := 2; i+1 < len(f); i += 2 {
			if v, err := strconv.ParseFloat(f[i], 64); err == nil {
				m[f[i+1]] = v
			}
		}
	}
	return m
}
