package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// An item is one line of the table.
type item struct {
	name, peer string
	unit       unit
	bar        bars
	or         *item // the bar is met, too, if that of this item is

	oursKey, theirsKey  string // of the samples; no theirsKey: there is no peer
	ours, theirs, ratio sample
	fault               string // why the bar is missed, regardless of the ratio
	why                 string // it was not measured
}

// A unit formats a value.
type unit struct {
	scale  float64
	digits int
	name   string
}

var (
	nanoseconds = unit{1, 1, "ns"}
	rate        = unit{1e-6, 2, "M/s"}
	thousands   = unit{1e-3, 2, "k/s"}
	bytesEach   = unit{1, 1, "B"}
	seconds     = unit{1, 3, "s"}
	megabytes   = unit{1e-6, 2, "MB"}
	millis      = unit{1e3, 3, "ms"}
	count       = unit{1, 0, "events"}
)

func (u unit) show(s sample) string {
	if len(s) == 0 {
		return ""
	}
	return fmt.Sprintf("%.*f %s ±%.0f%%", u.digits, s.median()*u.scale, u.name, s.spread())
}

// A bar is the goal of an item. The zero bar is none.
type bar struct {
	limit    float64
	unit     string // of the limit if it bounds our value, not the ratio
	set      bool
	least    bool // at least so much, else at most
	absolute bool // bounds our value, not the ratio
}

// bars has the bar of each family of processors. What a row costs beside its peer depends on the
// processor, so a goal that was found on one kind is none for another: other families have a bar only
// where the two agree.
type bars struct{ intel, amd bar }

func most(limit float64) bars  { return mostOn(limit, limit) }
func least(limit float64) bars { return leastOn(limit, limit) }

// atMost bounds our value.
func atMost(value float64, u unit) bars {
	b := bar{limit: value, set: true, absolute: true, unit: u.name}
	return bars{b, b}
}

// atLeast bounds our value, which the unit shows.
func atLeast(value float64, u unit) bars {
	b := bar{limit: value, set: true, least: true, absolute: true, unit: u.name}
	return bars{b, b}
}

func mostOn(intel, amd float64) bars {
	return bars{bar{limit: intel, set: true}, bar{limit: amd, set: true}}
}

func leastOn(intel, amd float64) bars {
	return bars{bar{limit: intel, set: true, least: true}, bar{limit: amd, set: true, least: true}}
}

func (b bars) of(family string) bar {
	switch {
	case family == intel || b.intel == b.amd:
		return b.intel
	case family == amd:
		return b.amd
	}
	return bar{}
}

func (b bar) String() string {
	if !b.set {
		return ""
	}
	sign, of := "≤", ""
	if b.least {
		sign = "≥"
	}
	if b.absolute {
		of = " " + b.unit
	}
	return fmt.Sprintf("%s %g%s", sign, b.limit, of)
}

// holds reports whether a ratio, or a value in the item's unit, meets the bar.
func (b bar) holds(v float64) bool { return b.least == (v >= b.limit) || v == b.limit }

func (it *item) barText(family string) string {
	b := it.bar.of(family)
	if it.or == nil || !b.set {
		return b.String()
	}
	return fmt.Sprintf("%s, or %g of %s", b, it.or.bar.of(family).limit, it.or.peer)
}

func (it *item) met(family string) string {
	measured, holds := it.judge(family)
	if !holds && it.or != nil {
		_, holds = it.or.judge(family)
	}
	switch {
	case it.fault != "":
		return "NO: " + it.fault
	case !measured:
		return ""
	case holds:
		return "yes"
	}
	return "NO"
}

// judge reports whether there is a bar and a value to judge by it, and whether it holds.
func (it *item) judge(family string) (measured, holds bool) {
	b := it.bar.of(family)
	if b.absolute {
		measured = b.set && len(it.ours) > 0
		return measured, measured && b.holds(it.ours.median()*it.unit.scale)
	}
	measured = b.set && len(it.ratio) > 0
	return measured, measured && b.holds(it.ratio.median())
}

func table(w io.Writer) *tablewriter.Table {
	return tablewriter.NewTable(w,
		tablewriter.WithRenderer(renderer.NewMarkdown()),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithAlignment(tw.Alignment{tw.AlignLeft}),
		tablewriter.WithRowAutoWrap(tw.WrapNone))
}

// printItems prints the table in Markdown, with the bars of a family of processors.
func printItems(w io.Writer, items []*item, family string) error {
	t := table(w)
	t.Header("item", "ours", "peer", "what it is", "ratio", "bar", "met")
	for _, it := range items {
		line := []string{it.name, it.unit.show(it.ours), it.unit.show(it.theirs), it.peer, "", it.barText(family), it.met(family)}
		if it.why != "" {
			line[6] = "not measured: " + strings.ReplaceAll(it.why, "\n", " ")
		} else if len(it.ratio) > 0 {
			line[4] = fmt.Sprintf("%.3g ±%.0f%%", it.ratio.median(), it.ratio.spread())
		}
		if err := t.Append(line); err != nil {
			return err
		}
	}
	return t.Render()
}
