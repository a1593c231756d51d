package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The commands beside tools that do nearly the same.

func (b *bench) groups() []*group {
	return []*group{
		b.record(), b.threads(), b.processes(), b.crowds(), b.streams(), b.scaling(), b.untraced(), b.order(),
		b.cRecord(), b.cThreads(), b.cUntraced(), b.cStart(),
		b.streamed(), b.reading(), b.compressed(), b.cReading(), b.lines(), b.summaries(), b.search(), b.comparing(),
		b.exportCTF(), b.exportOTLP(), b.exportParquet(), b.redacting(),
		b.capture(), b.oneShot(), b.shell(), b.calls(), b.longCalls(), b.stacks(), b.children(), b.searchFiles(), b.buildFiles(), b.attached(), b.sources(), b.memory(),
	}
}

func roomFor(dir string, bytes float64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return err
	}
	if free := float64(st.Bavail) * float64(st.Bsize); free < bytes {
		return fmt.Errorf("it takes %.0f GB in %s, and there are %.0f", bytes/1e9, dir, free/1e9)
	}
	return nil
}

func (b *bench) capture() *group {
	n := b.pick(2e6, 200e3)
	seq := "seq " + strconv.Itoa(n)
	out := b.file("out")
	run := func(key string, argv ...string) func(series) error {
		return func(s series) error {
			r, err := command(out, argv...)
			if err != nil {
				return err
			}
			s.put(key, r.wall)
			s.put(key+" each", r.cpu/float64(n)*1e9)
			return nil
		}
	}
	return &group{
		rounds: b.pick(5, 3),
		items: []*item{
			{name: fmt.Sprintf("ptrace-run -c on %s into a file, wall", seq), unit: seconds, oursKey: "ours", theirsKey: "ts", peer: "ts '%.s'", bar: most(0.05)},
			{name: "the same, processor time per line", unit: nanoseconds, oursKey: "ours each", theirsKey: "script each", peer: "script -q --log-timing", bar: most(0.4)},
			{name: "the same, wall", unit: seconds, oursKey: "ours", theirsKey: "cat", peer: "cat"},
		},
		steps: []func(series) error{
			run("ours", b.tool("ptrace-run"), "-c", "-o", b.file("captured"), "--", "seq", strconv.Itoa(n)),
			run("ts", "sh", "-c", seq+" | ts '%.s'"),
			run("script", "script", "-q", "--log-timing", b.file("timing"), "--log-out", b.file("typescript"), "-c", seq),
			run("cat", "sh", "-c", seq+" | cat"),
		},
		end: func(series) error {
			lost, err := b.lost(b.file("captured"))
			if err == nil && lost > 0 {
				err = fmt.Errorf("%.0f lines were lost", lost)
			}
			return err
		},
	}
}

func (b *bench) oneShot() *group {
	n := b.pick(500, 100)
	spawn := []string{filepath.Join(b.bin, "spawn"), strconv.Itoa(n)}
	start := func(key string, around []string, argv ...string) func(series) error {
		return func(s series) error {
			v, err := numbers(1, append(append(around, spawn...), argv...)...)
			if err == nil {
				s.put(key, v[0]/float64(n)/1e9)
			}
			return err
		}
	}
	event := b.tool("ptrace-event")
	logger := &item{name: "one-shot ptrace-event NAME, as built by scripts/install", unit: millis, oursKey: "event", theirsKey: "logger", peer: "logger --no-act x", bar: most(1.2)}
	empty := &item{name: "the same, beside an empty Go program", unit: millis, oursKey: "event", theirsKey: "empty", peer: "an empty Go program", bar: most(1.25)}
	logger.or, empty.or = empty, logger // whichever is larger
	return &group{
		rounds: b.pick(15, 7),
		items: []*item{logger, empty,
			{name: "the same, of a program that is traced", unit: millis, oursKey: "traced", theirsKey: "logger", peer: "logger --no-act x"},
		},
		steps: []func(series) error{
			start("event", nil, event, "build.step"),
			start("empty", nil, filepath.Join(b.bin, "empty")),
			// Without a syslog daemon logger fails, after all of its work.
			start("logger", nil, "logger", "--no-act", "--socket-errors=off", "x"),
			start("traced", []string{b.tool("ptrace-run"), "--dump=never", "-e", "none", "--"}, event, "build.step"),
		},
	}
}

// shell times the trace point of a shell alternating with printf, in one process.
func (b *bench) shell() *group {
	return &group{
		rounds: 1,
		items: []*item{{name: "pt NAME in bash", unit: nanoseconds, oursKey: "pt", theirsKey: "printf",
			peer: "printf of the same four fields to a pipe", bar: most(2.5)}},
		steps: []func(series) error{func(s series) error {
			r, err := command("", b.tool("ptrace-event"), "--shell=bash")
			if err != nil {
				return err
			}
			if err := os.WriteFile(b.file("pt.bash"), []byte(r.out), 0o600); err != nil {
				return err
			}
			r, err = command("", b.tool("ptrace-run"), "--dump=never", "--stream-size=64M", "--", "bash", "scripts/bench.d/pt.bash",
				b.file("pt.bash"), strconv.Itoa(b.pick(15, 7)), strconv.Itoa(b.pick(20000, 5000)))
			if err != nil {
				return err
			}
			for l := range strings.Lines(r.out) {
				var plain, point float64
				if _, err := fmt.Sscan(l, &plain, &point); err != nil {
					return fmt.Errorf("pt.bash printed %q", l)
				}
				s.put("printf", plain)
				s.put("pt", point)
			}
			return nil
		}},
	}
}
