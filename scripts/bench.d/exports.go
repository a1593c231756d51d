package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Exports: other formats, beside what a user would write without ptrace-export.

// exported is a kind of events, see target/recorded.go.
type exported struct{ kind, name string }

var exportedKinds = []exported{
	{"points", "user events"},
	{"lines", "captured lines"},
	{"calls", "system calls"},
	{"processes", "events of processes"},
}

// How many times fewer events the peers get, which would take many minutes for all. Their rates are those
// of the events that they get.
const (
	jqShare     = 200
	duckDBShare = 20
)

// exportLog records the log of a kind, and returns its path.
func (b *bench) exportLog(k exported, count int) (string, error) {
	log := b.file("export." + k.kind)
	_, err := command("", b.target("recorded", log, k.kind, strconv.Itoa(count))...)
	return log, err
}

// toOTLP is what a jq user writes: a log record for each event, and all members as attributes.
const toOTLP = `{timeUnixNano: "\(.sec)\(.nsec | tostring | "000000000"[length:] + .)", eventName: .event, attributes: [
	to_entries[] | select(.key | IN("time", "sec", "nsec", "event") | not) | {key, value: {stringValue: .value | tostring}}]}`

// exportOTLP times ptrace-export --to=otlp.
func (b *bench) exportOTLP() *group {
	n := b.pick(10e6, 1e6)
	g := &group{rounds: 3}
	for _, k := range exportedKinds {
		log := b.file("export." + k.kind)
		ours, theirs := k.kind, "their "+k.kind
		events := fmt.Sprintf("%d million %s", n/1e6, k.name)
		g.items = append(g.items,
			&item{name: "export " + events + " as OTLP (ptrace-export --to=otlp) to /dev/null, one core", unit: thousands, oursKey: ours, theirsKey: theirs,
				peer: "jq over ptrace-dump -j", bar: least(10)},
			&item{name: "the same, by itself", unit: rate, oursKey: ours, bar: b.whole(atLeast(2, rate))},
			&item{name: "the same: memory", unit: megabytes, oursKey: ours + " memory", bar: atMost(64, megabytes)})
		jq := fmt.Sprintf("'%s' -j '%s' | head -n %d | jq -c '%s'", b.tool("ptrace-dump"), log, n/jqShare, toOTLP)
		g.steps = append(g.steps,
			b.export(ours, "", n, b.pinned(b.tool("ptrace-export"), "--to=otlp", "-o", "-", log)...),
			b.export(theirs, "", n/jqShare, b.pinned("sh", "-c", jq)...))
	}
	return b.onLogs(g, n)
}

// export times a program that writes events, and removes what it wrote.
func (b *bench) export(key, dest string, n int, argv ...string) func(series) error {
	return func(s series) error {
		r, err := command(os.DevNull, argv...)
		if err == nil {
			s.put(key, float64(n)/r.wall)
			s.put(key+" memory", r.rss)
		}
		if dest != "" {
			err = errors.Join(err, os.RemoveAll(dest))
		}
		return err
	}
}

// onLogs records the logs of all kinds before the steps of a group, and removes them after it.
func (b *bench) onLogs(g *group, n int) *group {
	g.setup = func() error {
		for _, k := range exportedKinds {
			if _, err := b.exportLog(k, n); err != nil {
				return err
			}
		}
		return nil
	}
	g.end = func(series) error {
		logs, err := filepath.Glob(b.file("export.*"))
		for _, log := range logs {
			err = errors.Join(err, os.Remove(log))
		}
		return err
	}
	return g
}

// exportParquet times ptrace-export --to=parquet. DuckDB gets the lines of JSON, whose making is not
// part of its time, and the types of their members.
func (b *bench) exportParquet() *group {
	n := b.pick(10e6, 1e6)
	g := &group{rounds: 3}
	lines, ourRows, theirRows := b.file("export.json"), b.file("ours.parquet"), b.file("theirs.parquet")
	for _, k := range exportedKinds {
		log := b.file("export." + k.kind)
		ours, theirs := k.kind, "their "+k.kind
		events := fmt.Sprintf("%d million %s", n/1e6, k.name)
		g.items = append(g.items,
			&item{name: "export " + events + " as Parquet (ptrace-export --to=parquet), one core", unit: thousands, oursKey: ours, theirsKey: theirs,
				peer: "DuckDB, one thread, the same events from JSON to Parquet", bar: least(1.5)},
			&item{name: "the same, by itself", unit: rate, oursKey: ours, bar: b.whole(atLeast(2, rate))},
			&item{name: "the same: memory", unit: megabytes, oursKey: ours + " memory", theirsKey: theirs + " memory",
				peer: "DuckDB in node", bar: atMost(256, megabytes)})
		g.steps = append(g.steps,
			b.export(ours, ourRows, n, b.pinned(b.tool("ptrace-export"), "--to=parquet", "-o", ourRows, log)...),
			func(s series) error {
				dump := fmt.Sprintf("'%s' -j '%s' | head -n %d", b.tool("ptrace-dump"), log, n/duckDBShare)
				if _, err := command(lines, "sh", "-c", dump); err != nil {
					return err
				}
				r, err := command("", b.pinned("node", "scripts/extra/parquet.d/convert.mjs", lines, theirRows)...)
				if err != nil {
					return err
				}
				var count, wall float64
				if _, err := fmt.Sscan(r.out, &count, &wall); err != nil || int(count) != n/duckDBShare {
					return fmt.Errorf("DuckDB wrote %q of %d rows", strings.TrimSpace(r.out), n/duckDBShare)
				}
				s.put(theirs, count/wall)
				s.put(theirs+" memory", r.rss)
				return os.Remove(theirRows)
			})
	}
	return b.onLogs(g, n)
}

// exportCTF times ptrace-export --to=ctf on the kinds that reading does not have.
func (b *bench) exportCTF() *group {
	n := b.pick(10e6, 1e6)
	g := &group{rounds: 3}
	dest := b.file("export-ctf")
	for _, k := range exportedKinds {
		events := fmt.Sprintf("%d million %s", n/1e6, k.name)
		g.items = append(g.items,
			&item{name: "export " + events + " as CTF (ptrace-export --to=ctf), one core, by itself", unit: rate, oursKey: k.kind},
			&item{name: "the same: memory", unit: megabytes, oursKey: k.kind + " memory", bar: atMost(64, megabytes)})
		g.steps = append(g.steps, b.export(k.kind, dest, n, b.pinned(b.tool("ptrace-export"), "--to=ctf", "-o", dest, b.file("export."+k.kind))...))
	}
	g.items[0].bar = b.whole(atLeast(10, rate)) // of user events
	return b.onLogs(g, n)
}

// redacting times recordings with and without --redact.
func (b *bench) redacting() *group {
	lines, calls := b.pick(2e6, 300e3), b.pick(200e3, 50e3)
	out, log := b.file("out"), b.file("redacted")
	build := fmt.Sprintf(`yes '[ 42%%] Building C object src/CMakeFiles/app.dir/main.c.o' | head -n %d`, lines)
	run := func(key string, n int, options []string, program ...string) func(series) error {
		return func(s series) error {
			r, err := command(out, append(append([]string{b.tool("ptrace-run"), "-o", log}, options...), program...)...)
			if err != nil {
				return err
			}
			s.put(key, r.wall)
			s.put(key+" each", r.cpu/float64(n)*1e9)
			return errors.Join(os.Remove(log), os.Remove(out))
		}
	}
	capture := func(key string, options ...string) func(series) error {
		return run(key, lines, append(options, "-c"), "--", "sh", "-c", build)
	}
	trace := func(key string, options ...string) func(series) error {
		return run(key, calls, append(options, "-e", "syscall"), "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count="+strconv.Itoa(calls/2), "status=none")
	}
	const pattern = "--redact=password=[^ ]+"
	count := fmt.Sprintf("ptrace-run -c of %.2g million lines into a file", float64(lines)/1e6)
	dd := fmt.Sprintf("every system call of dd bs=1 count=%d", calls/2)
	return &group{
		rounds: b.pick(7, 5),
		items: []*item{
			{name: count + " with " + pattern + ", wall", unit: seconds, oursKey: "one", theirsKey: "none", peer: "without"},
			{name: "the same, processor time per line", unit: nanoseconds, oursKey: "one each", theirsKey: "none each", peer: "without"},
			{name: count + " with --redact=@tokens, wall", unit: seconds, oursKey: "tokens", theirsKey: "none", peer: "without", bar: most(1.15)},
			{name: "the same, processor time per line", unit: nanoseconds, oursKey: "tokens each", theirsKey: "none each", peer: "without"},
			{name: dd + " with " + pattern, unit: seconds, oursKey: "call one", theirsKey: "call none", peer: "without"},
			{name: dd + " with --redact=@tokens", unit: seconds, oursKey: "call tokens", theirsKey: "call none", peer: "without", bar: most(1.15)},
		},
		steps: []func(series) error{
			capture("none"), capture("one", pattern), capture("tokens", "--redact=@tokens"),
			trace("call none"), trace("call one", pattern), trace("call tokens", "--redact=@tokens"),
		},
	}
}
