package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// parts prints the cost of each necessary part of an event, measured alone, beside the
// event itself, all in one process.
func (b *bench) parts(w io.Writer) error {
	argv := b.pinned(filepath.Join(b.bin, "posixtrace.test"), "-test.run=^$", "-test.bench=^BenchmarkParts$",
		"-test.benchtime="+strconv.Itoa(b.pick(100, 30))+"ms")
	s := series{}
	var order []string
	for range b.pick(15, 9) {
		r, err := command("", argv...)
		if err != nil {
			return err
		}
		for l := range strings.Lines(r.out) {
			f := strings.Fields(l)
			if len(f) < 4 || f[3] != "ns/op" {
				continue
			}
			name, _, _ := strings.Cut(strings.TrimPrefix(f[0], "BenchmarkParts/"), "-")
			v, err := strconv.ParseFloat(f[2], 64)
			if err != nil {
				return err
			}
			if s[name] == nil {
				order = append(order, name)
			}
			s.put(name, v)
		}
	}
	if len(s["event"]) == 0 {
		return errors.New("no event was measured")
	}
	fmt.Fprintln(w)
	t := table(w)
	t.Header("part of an event, 1 thread", "ns", "of the event")
	event, sum := s["event"].median(), 0.0
	show := func(name string, v float64, spread string) error {
		return t.Append([]string{strings.ReplaceAll(name, "_", " "), fmt.Sprintf("%.1f%s", v, spread), fmt.Sprintf("%.0f %%", v/event*100)})
	}
	for _, name := range order {
		if !strings.HasPrefix(name, "event") && !strings.HasPrefix(name, "together") {
			sum += s[name].median()
		}
		if name == "event" {
			if err := show("sum of these parts", sum, ""); err != nil {
				return err
			}
		}
		if err := show(name, s[name].median(), fmt.Sprintf(" ±%.0f%%", s[name].spread())); err != nil {
			return err
		}
	}
	return t.Render()
}
