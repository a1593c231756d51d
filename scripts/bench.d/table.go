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
	bar        bar

	oursKey, theirsKey  string // of the samples
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
	bytesEach   = unit{1, 1, "B"}
	seconds     = unit{1, 3, "s"}
	megabytes   = unit{1e-6, 2, "MB"}
	millis      = unit{1e3, 3, "ms"}
)

func (u unit) show(s sample) string {
	if len(s) == 0 {
		return ""
	}
	return fmt.Sprintf("%.*f %s ±%.0f%%", u.digits, s.median()*u.scale, u.name, s.spread())
}

// A bar is the goal of an item.
type bar struct {
	limit    float64
	least    bool // at least so much, else at most
	absolute bool // bounds our value, not the ratio
}

func most(limit float64) bar   { return bar{limit: limit} }
func least(limit float64) bar  { return bar{limit: limit, least: true} }
func atMost(value float64) bar { return bar{limit: value, absolute: true} }

func (it *item) barText() string {
	if it.bar.limit == 0 {
		return ""
	}
	sign, of := "≤", ""
	if it.bar.least {
		sign = "≥"
	}
	if it.bar.absolute {
		of = " " + it.unit.name
	}
	return fmt.Sprintf("%s %g%s", sign, it.bar.limit, of)
}

func (it *item) met() string {
	v := it.ratio.median()
	if it.bar.absolute {
		v = it.ours.median() * it.unit.scale
	}
	switch {
	case it.fault != "":
		return "NO: " + it.fault
	case it.bar.limit == 0 || len(it.ratio) == 0:
		return ""
	case it.bar.least == (v >= it.bar.limit) || v == it.bar.limit:
		return "yes"
	}
	return "NO"
}

func table(w io.Writer) *tablewriter.Table {
	return tablewriter.NewTable(w,
		tablewriter.WithRenderer(renderer.NewMarkdown()),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithAlignment(tw.Alignment{tw.AlignLeft}),
		tablewriter.WithRowAutoWrap(tw.WrapNone))
}

// printItems prints the table in Markdown, for docs/cost/README.md.
func printItems(w io.Writer, items []*item) error {
	t := table(w)
	t.Header("item", "ours", "peer", "what it is", "ratio", "bar", "met")
	for _, it := range items {
		line := []string{it.name, it.unit.show(it.ours), it.unit.show(it.theirs), it.peer, "", it.barText(), it.met()}
		if it.why != "" {
			line[6] = "not measured: " + strings.ReplaceAll(it.why, "\n", " ")
		} else {
			line[4] = fmt.Sprintf("%.3g ±%.0f%%", it.ratio.median(), it.ratio.spread())
		}
		if err := t.Append(line); err != nil {
			return err
		}
	}
	return t.Render()
}
