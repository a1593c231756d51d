package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Logs: writing them, and reading them.

func (b *bench) tool(name string) string { return filepath.Join(b.bin, "bin", name) }

// file returns the path of a file in the work directory.
func (b *bench) file(name string) string { return filepath.Join(b.work, name) }

// lost returns the number of lost events in the status of a log.
func (b *bench) lost(log string) (float64, error) {
	r, err := command("", b.tool("ptrace-dump"), "--status", "-j", log)
	if err != nil {
		return 0, err
	}
	var status struct {
		Lost    float64 `json:"lost"`
		LogLost float64 `json:"log_lost"`
	}
	err = json.Unmarshal([]byte(r.out), &status)
	return status.Lost + status.LogLost, err
}

// Both sides record the same work at the same rate, a million events per second at most,
// into buffers of the same size, and write it to the same file system.
const (
	burst = 10000
	pause = 10000 // microseconds
)

func (b *bench) streamed() *group {
	n := b.pick(10e6, 3e6)
	args := []string{"paced", strconv.Itoa(n), strconv.Itoa(burst), strconv.Itoa(pause)}
	run := func(args ...string) (r result, target float64, err error) {
		os.Remove(b.file("paced")) // a new file, like the peer's
		r, err = command("", append([]string{b.tool("ptrace-run"), "-e", "none", "-o", b.file("paced"), "--stream-size=16M", "--"}, b.target(args...)...)...)
		if err == nil {
			var wall float64
			_, err = fmt.Sscan(r.out, &wall, &target)
		}
		return r, target / 1e9, err
	}
	cpu := &item{name: "streamed to a file, 0 lost: processor time of target and flusher per event", unit: nanoseconds,
		oursKey: "ours", theirsKey: "theirs", peer: "LTTng-UST and consumerd", bar: mostOn(0.37, 0.28)}
	disk := &item{name: "bytes on disk per event of that work", unit: bytesEach,
		oursKey: "our bytes", theirsKey: "their bytes", peer: "LTTng CTF, same contexts", bar: most(0.7)}
	return &group{
		rounds: 3,
		items:  []*item{cpu, disk},
		steps: []func(series) error{
			func(s series) error {
				none, _, err := run("paced", "0", "1", "1") // the cost of starting both
				if err != nil {
					return err
				}
				r, _, err := run(args...)
				if err != nil {
					return err
				}
				s.put("ours", (r.cpu-none.cpu)/float64(n)*1e9)
				st, err := os.Stat(b.file("paced"))
				if err != nil {
					return err
				}
				s.put("our bytes", float64(st.Size())/float64(n))
				lost, err := b.lost(b.file("paced"))
				if lost != 0 {
					cpu.fault = fmt.Sprintf("%.0f lost", lost)
				}
				return err
			},
			func(s series) error {
				if b.noLT != nil {
					return b.noLT
				}
				os.RemoveAll(b.file("ctf"))
				t, err := b.lttng.start(nil, "--discard", "--subbuf-size=2M", "--num-subbuf=8")
				if err != nil {
					return err
				}
				v, err := numbers(2, b.lttngTarget(args...)...)
				consumer, stopped := t.stop()
				if err := errors.Join(err, stopped, t.destroy()); err != nil {
					return err
				}
				s.put("theirs", (v[cpuUsed]/1e9+consumer)/float64(n)*1e9)
				bytes, err := size(t.out)
				s.put("their bytes", bytes/float64(n))
				return errors.Join(err, os.Rename(t.out, b.file("ctf")))
			},
		},
		end: func(series) error {
			got, err := counted(b.file("ctf"))
			if err == nil && got != n {
				cpu.fault += fmt.Sprintf(" the peer has %d of %d events", got, n)
			}
			return err
		},
	}
}

// counted returns the number of events that babeltrace2 finds.
func counted(trace string) (n int, err error) {
	r, err := command("", "babeltrace2", trace, "-c", "sink.utils.counter")
	for l := range strings.Lines(r.out) {
		if f := strings.Fields(l); len(f) > 1 && f[1] == "Event" {
			n, _ = strconv.Atoi(strings.ReplaceAll(f[0], ",", ""))
		}
	}
	return n, err
}

// bothLogs writes the two logs of streamed where it was not selected, or failed.
func (b *bench) bothLogs() error {
	if _, err := os.Stat(b.file("ctf")); err == nil {
		return nil
	}
	logs := b.streamed()
	logs.rounds = 1
	return logs.measure()
}

// reading times readers of the two logs of streamed, which hold the same events.
func (b *bench) reading() *group {
	n := float64(b.pick(10e6, 3e6))
	timed := func(key string, argv ...string) func(series) error {
		return func(s series) error {
			r, err := command(os.DevNull, argv...)
			if err == nil {
				s.put(key, n/r.wall)
			}
			return err
		}
	}
	// export times a program that makes a directory.
	export := func(key, dest string, argv ...string) func(series) error {
		return func(s series) error {
			r, err := command(os.DevNull, argv...)
			if err == nil {
				s.put(key, n/r.wall)
				s.put(key+" memory", r.rss)
			}
			return errors.Join(err, os.RemoveAll(dest))
		}
	}
	dump, log := b.tool("ptrace-dump"), b.file("paced")
	ourCTF, theirCTF := b.file("export"), b.file("copy")
	events := fmt.Sprintf("%.0f million events", n/1e6)
	return &group{
		rounds: 3,
		setup:  b.bothLogs,
		items: []*item{
			{name: "dump " + events + " as text to /dev/null, one core", unit: rate, oursKey: "text", theirsKey: "their text", peer: "babeltrace2", bar: least(30)},
			{name: "the same, both cores", unit: rate, oursKey: "text on all", theirsKey: "their text on all", peer: "babeltrace2", bar: least(40)},
			{name: "the same as JSON, one core", unit: rate, oursKey: "json", theirsKey: "their text", peer: "babeltrace2 text", bar: least(12)},
			{name: "the same as CSV, one core", unit: rate, oursKey: "csv", theirsKey: "text", peer: "as text (ptrace-dump)", bar: least(0.33)},
			{name: "the same with --golden, one core", unit: rate, oursKey: "golden", theirsKey: "text", peer: "as text (ptrace-dump)", bar: least(0.33)},
			{name: "the same with --chrome, one core", unit: rate, oursKey: "chrome", theirsKey: "text", peer: "as text (ptrace-dump)", bar: least(0.33)},
			{name: "count events of one type in " + events + " (-s -e NAME), one core", unit: rate, oursKey: "count", theirsKey: "their count", peer: "babeltrace2, sink.utils.counter", bar: least(30)},
			{name: "export " + events + " as CTF (ptrace-export --to=ctf), one core", unit: rate, oursKey: "ctf", theirsKey: "their ctf", peer: "babeltrace2, CTF to CTF", bar: least(10)},
			{name: "the same: memory", unit: megabytes, oursKey: "ctf memory", theirsKey: "their ctf memory", peer: "babeltrace2, CTF to CTF", bar: most(1)},
		},
		steps: []func(series) error{
			export("ctf", ourCTF, b.pinned(b.tool("ptrace-export"), "--to=ctf", "-o", ourCTF, log)...),
			export("their ctf", theirCTF, b.pinned("babeltrace2", "--output-format=ctf", "--output="+theirCTF, b.file("ctf"))...),
			timed("text", b.pinned(dump, log)...),
			timed("their text", b.pinned("babeltrace2", b.file("ctf"))...),
			timed("json", b.pinned(dump, "-j", log)...),
			timed("csv", b.pinned(dump, "--csv", log)...),
			timed("golden", b.pinned(dump, "--golden", log)...),
			timed("chrome", b.pinned(dump, "--chrome", log)...),
			timed("text on all", dump, log),
			timed("their text on all", "babeltrace2", b.file("ctf")),
			timed("count", b.pinned(dump, "-s", "-e", "bench.event", log)...),
			timed("their count", b.pinned("babeltrace2", b.file("ctf"), "-c", "sink.utils.counter")...),
		},
		end: func(series) error {
			r, err := command("", dump, "-s", "--json", "-e", "bench.event", log)
			if err == nil && !strings.Contains(r.out, strconv.Itoa(int(n))) {
				err = fmt.Errorf("ptrace-dump -s counts otherwise: %.100s", r.out)
			}
			return err
		},
	}
}

// compressed reads the log of streamed as zstd and gzip compress it.
func (b *bench) compressed() *group {
	n := float64(b.pick(10e6, 3e6))
	timed := func(key string, argv ...string) func(series) error {
		return func(s series) error {
			r, err := command(os.DevNull, b.pinned(argv...)...)
			if err == nil {
				s.put(key, n/r.wall)
				s.put(key+" memory", r.rss)
			}
			return err
		}
	}
	dump, log := b.tool("ptrace-dump"), b.file("paced")
	piped := func(command, log string) []string {
		return []string{"sh", "-c", command + ` -dc "$1" | "$2" -`, "sh", log, dump}
	}
	return &group{
		rounds: 3,
		setup: func() error {
			if err := b.bothLogs(); err != nil {
				return err
			}
			_, err := command("", "zstd", "-qf", log, "-o", log+".zst")
			if err == nil {
				_, err = command(log+".gz", "gzip", "-1c", log)
			}
			return err
		},
		items: []*item{
			{name: "dump a log that zstd compressed, as text, one core", unit: rate, oursKey: "zstd", theirsKey: "zstd pipe", peer: "ptrace-dump behind zstd -dc", bar: least(0.8)},
			{name: "the same: memory", unit: megabytes, oursKey: "zstd memory", theirsKey: "plain memory", peer: "of the log as it was written"},
			{name: "dump a log that gzip compressed, as text, one core", unit: rate, oursKey: "gzip", theirsKey: "gzip pipe", peer: "ptrace-dump behind gzip -dc", bar: least(0.8)},
			{name: "the same: memory", unit: megabytes, oursKey: "gzip memory", theirsKey: "plain memory", peer: "of the log as it was written"},
		},
		steps: []func(series) error{
			timed("plain", dump, log),
			timed("zstd", dump, log+".zst"),
			timed("zstd pipe", piped("zstd", log+".zst")...),
			timed("gzip", dump, log+".gz"),
			timed("gzip pipe", piped("gzip", log+".gz")...),
		},
		end: func(series) error { return errors.Join(os.Remove(log+".zst"), os.Remove(log+".gz")) },
	}
}

// comparing compares two logs, beside the summaries of both.
func (b *bench) comparing() *group {
	const count = 100_000
	logs := []string{b.file("old spans"), b.file("new spans")}
	time := func(key string, commands ...[]string) func(series) error {
		return func(s series) error {
			wall, rss := 0., 0.
			for _, argv := range commands {
				r, err := command(os.DevNull, argv...)
				if err != nil {
					return err
				}
				wall, rss = wall+r.wall, max(rss, r.rss)
			}
			s.put(key, wall)
			s.put(key+" memory", rss)
			return nil
		}
	}
	dump := b.tool("ptrace-dump")
	return &group{
		rounds: b.pick(15, 7),
		setup: func() error {
			for _, log := range logs {
				if _, err := command("", b.target("spans", log, strconv.Itoa(count))...); err != nil {
					return err
				}
			}
			return nil
		},
		items: []*item{
			{name: "compare two logs of 1 million events with 100,000 spans (ptrace-diff)", unit: millis, oursKey: "diff", theirsKey: "summaries", peer: "ptrace-dump -s of both", bar: most(2)},
			{name: "the same: memory", unit: megabytes, oursKey: "diff memory", theirsKey: "summaries memory", peer: "ptrace-dump -s of one"},
		},
		steps: []func(series) error{
			time("diff", []string{b.tool("ptrace-diff"), "--threshold=10%,1h", logs[0], logs[1]}),
			time("summaries", []string{dump, "-s", logs[0]}, []string{dump, "-s", logs[1]}),
		},
		end: func(series) error {
			return errors.Join(os.Remove(logs[0]), os.Remove(logs[1]))
		},
	}
}

// search finds one second in the middle of ten minutes.
func (b *bench) search() *group {
	bytes := b.pick(10e9, 1e9)
	one := func(key, log string, args ...string) func(series) error {
		return func(s series) error {
			r, err := command(os.DevNull, append(append([]string{b.tool("ptrace-dump")}, args...), b.file(log))...)
			if err == nil {
				s.put(key, r.wall)
				s.put(key+" memory", r.rss)
			}
			return err
		}
	}
	second := []string{"--since", "+300s", "--until", "+301s"}
	return &group{
		rounds: b.pick(5, 5),
		setup: func() error {
			if err := roomFor(b.work, float64(bytes)*1.2); err != nil {
				return err
			}
			for name, size := range map[string]int{"span": bytes, "tenth": bytes / 10} {
				if _, err := command("", b.target("span", b.file(name), "1000", strconv.Itoa(size/1008), "10m")...); err != nil {
					return err
				}
			}
			return nil
		},
		items: []*item{
			{name: fmt.Sprintf("find the events of one second in a 10-minute, %g GB log", float64(bytes)/1e9), unit: millis,
				oursKey: "second", theirsKey: "all", peer: "reading it all (ptrace-dump)", bar: b.whole(most(0.01))},
			{name: "the same: memory", unit: megabytes, oursKey: "second memory", theirsKey: "tenth memory", peer: "in a log of a tenth", bar: most(1.2)},
		},
		steps: []func(series) error{
			one("second", "span", second...),
			one("all", "span"),
			one("tenth", "tenth", second...),
		},
		end: func(series) error {
			r, err := command("", append(append([]string{b.tool("ptrace-dump"), "-s", "--json", "-e", "bench.event"}, second...), b.file("span"))...)
			if err == nil && !strings.Contains(r.out, "bench.event") {
				err = errors.New("that second has no events")
			}
			os.Remove(b.file("span"))
			os.Remove(b.file("tenth"))
			return err
		},
	}
}
