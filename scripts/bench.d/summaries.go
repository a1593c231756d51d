package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// summaries times summaries of logs of which each event matters: spans and processes.
func (b *bench) summaries() *group {
	g := &group{rounds: 3}
	kinds := []struct {
		kind, name string
		count      int
	}{
		{"spans", "events of spans", b.pick(10e6, 3e6)},
		{"keyed", "events of spans with keys", b.pick(10e6, 3e6)},
		{"steps", "events of steps of a script", b.pick(10e6, 3e6)},
		{"processes", "events of processes", b.pick(5e6, 2e6)},
	}
	for _, k := range kinds {
		log := b.file("recorded." + k.kind)
		g.items = append(g.items, &item{name: fmt.Sprintf("summarise %d million %s (-s), one core", k.count/1e6, k.name), unit: rate,
			oursKey: k.kind, bar: b.whole(atLeast(20, rate))})
		g.steps = append(g.steps, func(s series) error {
			r, err := command(os.DevNull, b.pinned(b.tool("ptrace-dump"), "-s", log)...)
			if err == nil {
				s.put(k.kind, float64(k.count)/r.wall)
			}
			return err
		})
	}
	g.setup = func() error {
		for _, k := range kinds {
			if _, err := command("", b.target("recorded", b.file("recorded."+k.kind), k.kind, strconv.Itoa(k.count))...); err != nil {
				return err
			}
		}
		return nil
	}
	g.end = func(series) error {
		defer func() {
			for _, k := range kinds {
				os.Remove(b.file("recorded." + k.kind))
			}
		}()
		r, err := command("", b.tool("ptrace-dump"), "-s", "-j", b.file("recorded.spans"))
		if err == nil && !strings.Contains(r.out, fmt.Sprintf(`"span":"parse","count":%d,`, kinds[0].count/4)) {
			err = fmt.Errorf("ptrace-dump -s counts otherwise: %.100s", r.out)
		}
		return err
	}
	return g
}
