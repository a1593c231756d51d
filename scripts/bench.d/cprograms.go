package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// C programs with <trace.h>, beside the same loops with LTTng-UST.

// needCC reports why C programs are not measured.
func (b *bench) needCC() error {
	if _, err := os.Stat(b.cTarget()[0]); err != nil {
		return errors.New("libposixtrace was not built")
	}
	return nil
}

func (b *bench) cTarget(args ...string) []string {
	return append([]string{filepath.Join(b.bin, "ctarget")}, args...)
}

func (b *bench) cRecord() *group {
	n := b.pick(20e6, 5e6)
	count := strconv.Itoa(n)
	return &group{
		rounds: b.pick(15, 7),
		setup:  b.needCC,
		items: []*item{{name: "in C: record one event: 16 bytes, time, pid, tid, address; 1 thread, processor time", unit: nanoseconds,
			oursKey: "ours", theirsKey: "theirs", peer: "LTTng-UST, overwrite, vpid, vtid, ip", bar: mostOn(0.25, 0.15)}},
		steps: []func(series) error{
			each("ours", cpuUsed, n, b.pinned(b.cTarget("loop", "1", count)...)),
			b.recording(each("theirs", cpuUsed, n, b.pinned(b.lttngTarget("loop", "1", count)...))),
		},
	}
}

func (b *bench) cThreads() *group {
	n := b.pick(10e6, 3e6)
	count := strconv.Itoa(n)
	return &group{
		rounds: b.pick(15, 7),
		setup:  func() error { return errors.Join(b.needCC(), twoProcessors()) },
		items: []*item{{name: "in C: the same, 2 threads, total rate", unit: rate,
			oursKey: "ours", theirsKey: "theirs", peer: "LTTng-UST, per-CPU buffers", bar: leastOn(4, 6)}},
		steps: []func(series) error{
			perSecond("ours", 2*n, b.cTarget("loop", "2", count)),
			b.recording(perSecond("theirs", 2*n, b.lttngTarget("loop", "2", count))),
		},
	}
}

func (b *bench) cUntraced() *group {
	n := b.pick(1e9, 2e8)
	count := strconv.Itoa(n)
	ratio := &item{name: "in C: trace point, process not traced", unit: nanoseconds, oursKey: "ours", theirsKey: "theirs",
		peer: "LTTng-UST compiled in, no session", bar: most(1.2)}
	return &group{
		rounds: b.pick(15, 7),
		setup:  b.needCC,
		items:  []*item{ratio, {name: "in C: the same, alone", unit: nanoseconds, oursKey: "ours", bar: atMost(1, nanoseconds)}},
		steps: []func(series) error{
			each("ours", cpuUsed, n, b.pinned(b.cTarget("untraced", count)...)),
			each("theirs", cpuUsed, n, b.pinned(b.lttngTarget("loop", "1", count)...)),
		},
		end: func(series) error {
			// Only a trace point that was inlined refers to it.
			out, err := exec.Command("nm", "-D", b.cTarget()[0]).Output()
			if err == nil && !strings.Contains(string(out), "posixtrace_hot") {
				ratio.fault = "not inlined"
			}
			return err
		},
	}
}

// cReading compares getnext with the two ways of babeltrace2 to go through a trace without printing
// it. Both are whole programs, on one processor.
func (b *bench) cReading() *group {
	n := b.pick(10e6, 3e6)
	ours := b.cTarget("read", b.file("paced"))
	read := func(key string, argv []string) func(series) error {
		return func(s series) error {
			r, err := command("", argv...)
			if err != nil {
				return err
			}
			// The log has a few of the system, too, such as those of flushes.
			var got int
			if _, err := fmt.Sscan(r.out, &got); err != nil || got < n || got > n+n/100 {
				return fmt.Errorf("%s read %q", argv[0], r.out)
			}
			s.put(key, float64(n)/r.wall)
			return nil
		}
	}
	return &group{
		rounds: 3,
		setup:  func() error { return errors.Join(b.needCC(), b.bothLogs()) },
		items: []*item{
			{name: fmt.Sprintf("in C: posix_trace_getnext_event on %.0f million events, one core", float64(n)/1e6), unit: rate,
				oursKey: "ours", theirsKey: "theirs", peer: "babeltrace2, the faster of -o dummy and its counter", bar: least(5)},
			{name: "in C: the same, both cores", unit: rate, oursKey: "ours on all", theirsKey: "theirs", peer: "babeltrace2, one core"},
		},
		steps: []func(series) error{
			read("ours", b.pinned(ours...)),
			read("ours on all", ours),
			func(s series) error {
				best := 0.0
				for _, sink := range [][]string{{"-o", "dummy"}, {"-c", "sink.utils.counter"}} {
					r, err := command("", b.pinned(append([]string{"babeltrace2", b.file("ctf")}, sink...)...)...)
					if err != nil {
						return err
					}
					best = max(best, float64(n)/r.wall)
				}
				s.put("theirs", best)
				return nil
			},
		},
	}
}

// cStart measures what trace points add to a program that nothing traces: to its start and end, and
// to the memory that it shares with no other process. LTTng-UST does not wait here for its daemon.
func (b *bench) cStart() *group {
	n := b.pick(500, 100)
	variant := func(name string) string { return filepath.Join(b.bin, "start-"+name) }
	quick := []string{"env", "LTTNG_UST_REGISTER_TIMEOUT=0"}
	start := func(program string, args ...string) (float64, error) {
		v, err := numbers(1, append(append(quick, filepath.Join(b.bin, "spawn"), strconv.Itoa(n), variant(program)), args...)...)
		if err != nil {
			return 0, err
		}
		return v[0] / float64(n) / 1e9, nil
	}
	memory := func(program string) (float64, error) {
		v, err := numbers(1, append(quick, variant(program), "memory")...)
		if err != nil {
			return 0, err
		}
		return v[0], nil
	}
	added := func(key, program string) func(series) error {
		return func(s series) error {
			var with, without [3]float64
			var err [6]error
			for i, of := range []struct {
				program string
				v       *[3]float64
			}{{"plain", &without}, {program, &with}} {
				of.v[0], err[3*i] = start(of.program)
				of.v[1], err[3*i+1] = start(of.program, "none")
				of.v[2], err[3*i+2] = memory(of.program)
			}
			s.put(key, with[0]-without[0])
			s.put(key+" none", with[1]-without[1])
			s.put(key+" memory", with[2]-without[2])
			return errors.Join(err[:]...)
		}
	}
	return &group{
		rounds: b.pick(15, 7),
		setup:  b.needCC,
		items: []*item{
			{name: "in C: what a trace point adds to the start of a program, not traced", unit: millis,
				oursKey: "ours", theirsKey: "theirs", peer: "LTTng-UST, not waiting for its daemon", bar: most(0.2)},
			{name: "in C: the same, of a program that does not come to it", unit: millis,
				oursKey: "ours none", theirsKey: "theirs none", peer: "LTTng-UST, not waiting for its daemon"},
			{name: "in C: the same, private memory", unit: megabytes,
				oursKey: "ours memory", theirsKey: "theirs memory", peer: "LTTng-UST", bar: most(0.2)},
		},
		steps: []func(series) error{added("ours", "ours"), added("theirs", "lttng")},
	}
}
