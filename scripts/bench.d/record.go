package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// The record path: the cost of a trace point to its program.

func (b *bench) target(args ...string) []string {
	return append([]string{filepath.Join(b.bin, "target")}, args...)
}

func (b *bench) lttngTarget(args ...string) []string {
	return append([]string{filepath.Join(b.bin, "lttng-target")}, args...)
}

// each runs a target that prints wall and processor time, and stores value number which,
// divided by count, under key.
func each(key string, which, count int, argv []string) func(series) error {
	return func(s series) error {
		v, err := numbers(2, argv...)
		if err == nil {
			s.put(key, v[which]/float64(count))
		}
		return err
	}
}

// perSecond puts a rate where each puts a time.
func perSecond(key string, count int, argv []string) func(series) error {
	return func(s series) error {
		v, err := numbers(2, argv...)
		if err == nil {
			s.put(key, float64(count)/v[0]*1e9)
		}
		return err
	}
}

const wallTime, cpuUsed = 0, 1

// recording runs a step under a flight recorder of LTTng.
func (b *bench) recording(step func(series) error) func(series) error {
	return func(s series) error {
		if b.noLT != nil {
			return b.noLT
		}
		t, err := b.lttng.start([]string{"--snapshot"}, "--overwrite", "--subbuf-size=256K", "--num-subbuf=4")
		if err != nil {
			return err
		}
		return errors.Join(step(s), t.destroy())
	}
}

func (b *bench) record() *group {
	n := b.pick(20e6, 5e6)
	count := strconv.Itoa(n)
	return &group{
		rounds: b.pick(15, 7),
		items: []*item{{name: "record one event: 16 bytes, time, pid, tid, address; 1 thread, processor time", unit: nanoseconds,
			oursKey: "ours", theirsKey: "theirs", peer: "LTTng-UST, overwrite, vpid, vtid, ip", bar: mostOn(0.28, 0.17)}},
		steps: []func(series) error{
			each("ours", cpuUsed, n, b.pinned(b.target("loop", "16", "1", count)...)),
			b.recording(each("theirs", cpuUsed, n, b.pinned(b.lttngTarget("loop", "1", count)...))),
		},
	}
}

func (b *bench) threads() *group {
	n := b.pick(10e6, 3e6)
	count := strconv.Itoa(n)
	return &group{
		rounds: b.pick(15, 7),
		setup:  twoProcessors,
		items: []*item{{name: "the same, 2 threads, total rate", unit: rate,
			oursKey: "ours", theirsKey: "theirs", peer: "LTTng-UST, per-CPU buffers", bar: leastOn(3.4, 5.5)}},
		steps: []func(series) error{
			perSecond("ours", 2*n, b.target("loop", "16", "2", count)),
			b.recording(perSecond("theirs", 2*n, b.lttngTarget("loop", "2", count))),
		},
	}
}

func twoProcessors() error {
	if runtime.NumCPU() < 2 {
		return errors.New("there is one processor only")
	}
	return nil
}

func (b *bench) untraced() *group {
	n := b.pick(1e9, 2e8)
	count := strconv.Itoa(n)
	it := &item{name: "trace point, process not traced", unit: nanoseconds, oursKey: "ours", theirsKey: "theirs",
		peer: "LTTng-UST compiled in, no session", bar: atMost(1, nanoseconds)}
	return &group{
		rounds: b.pick(15, 7),
		items: []*item{it, {name: "trace point whose type the stream rejects", unit: nanoseconds, oursKey: "rejected", theirsKey: "ours",
			peer: "process not traced"}},
		steps: []func(series) error{
			each("ours", cpuUsed, n, b.pinned(b.target("untraced", count)...)),
			each("theirs", cpuUsed, n, b.pinned(b.lttngTarget("loop", "1", count)...)),
			each("rejected", cpuUsed, n/10, b.pinned(b.target("rejected", strconv.Itoa(n/10))...)),
		},
		end: func(series) error {
			// The loop calls into the package only if the word is not zero.
			r, err := command("", "go", "tool", "objdump", "-s", `^main\.burst$`, b.target()[0])
			if err == nil && (!strings.Contains(r.out, "posixtrace.record(SB)") || strings.Contains(r.out, "posixtrace.Event(SB)")) {
				it.fault = "not inlined"
			}
			return err
		},
	}
}

// memory compares the file size of a stream with the requested size.
func (b *bench) memory() *group {
	g := &group{rounds: 1}
	for _, mb := range []int{4, 16, 64} {
		key := strconv.Itoa(mb)
		g.items = append(g.items, &item{name: fmt.Sprintf("memory of a stream of %d MiB", mb), unit: megabytes,
			oursKey: key, theirsKey: key + " asked", peer: "its size", bar: most(1.1)})
		g.steps = append(g.steps, func(s series) error {
			v, err := numbers(1, b.target("memory", strconv.Itoa(mb<<20))...)
			if err == nil {
				s.put(key, v[0])
				s.put(key+" asked", float64(mb<<20))
			}
			return err
		})
	}
	return g
}
