package diff

import (
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/compare"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// columns are the columns of the table. The cells of the last two are untrusted.
var columns = []struct {
	name  string
	align output.Align
	cell  func(s *show, d *compare.Difference) string
}{
	{"effect", output.Right, func(s *show, d *compare.Difference) string { return s.effect(d) }},
	{"change", output.Left, func(_ *show, d *compare.Difference) string { return string(d.How) }},
	{"old", output.Right, func(s *show, d *compare.Difference) string {
		return s.value(d, compare.Old, d.Time.Old, d.Whole.Old, d.Time.OldSpread)
	}},
	{"new", output.Right, func(s *show, d *compare.Difference) string {
		return s.value(d, compare.New, d.Time.New, d.Whole.New, d.Time.NewSpread)
	}},
	{"times", output.Right, func(_ *show, d *compare.Difference) string { return counted(d) }},
	{"what", output.Left, func(_ *show, d *compare.Difference) string { return string(d.What) }},
	{"name", output.Left, func(_ *show, d *compare.Difference) string { return nameOf(d) }},
	{"in", output.Left, func(_ *show, d *compare.Difference) string { return d.In }},
}

// untrusted is the index of the first column with untrusted text.
const untrusted = 6

// isLine reports whether the name of a difference is a line of output.
func isLine(d *compare.Difference) bool { return d.What == compare.Line || d.What == compare.Pause }

// value returns a time, with its spread and the whole time that it is a part of, or how what fails on one side ended.
func (s *show) value(d *compare.Difference, side compare.Side, ns, whole, spread int64) string {
	if d.What == compare.Memory {
		c := &d.Bytes
		text := summary.Size([]int64{c.Old, c.New}[side])
		if spread = []int64{c.OldSpread, c.NewSpread}[side]; spread > 0 {
			text += " ± " + summary.Size(spread)
		}
		return text
	}
	of := ""
	if ownTime(d) && !uses(d) {
		of = " of " + took(whole)
	}
	switch {
	case d.How == compare.Fails && side == compare.New, d.How == compare.Succeeds && side == compare.Old:
		return outcome(d)
	case (d.How == compare.Fails || d.How == compare.Succeeds) && d.Ended:
		return output.EndPhrase(0, 0)
	case d.How == compare.Fails || d.How == compare.Succeeds:
		return "-"
	case s.Golden || d.Time == (compare.Change{}):
		return "-"
	case spread > 0:
		return took(ns) + " ± " + took(spread) + of
	}
	return took(ns) + of
}

// counted returns how often there is something.
func counted(d *compare.Difference) string {
	c := &d.Count
	switch {
	case c.Old == 0 && c.New == 0:
		return "-"
	case c.Old == c.New:
		return strconv.FormatInt(c.New, 10)
	}
	return strconv.FormatInt(c.Old, 10) + " → " + strconv.FormatInt(c.New, 10)
}

func nameOf(d *compare.Difference) string {
	switch {
	case d.Start:
		return "(start)"
	case d.Empty:
		return "(empty line)"
	case uses(d) && d.Name == "":
		return "(run)"
	case d.What == compare.File:
		return d.Name + " (" + d.Use + ")"
	case d.Was != "" && d.Was != d.Name:
		return d.Name + " (was " + d.Was + ")"
	}
	return d.Name
}

func (s *show) appendTable(b []byte) []byte {
	b = s.head(b)
	list, left := s.limited()
	if len(list) > 0 {
		t := output.Table{Escaped: true, Width: s.width}
		for _, c := range columns {
			t.Header, t.Align = append(t.Header, c.name), append(t.Align, c.align)
		}
		for _, d := range list {
			cells := make([]string, len(columns))
			for i, c := range columns {
				switch cells[i] = c.cell(s, d); {
				case i == untrusted && isLine(d):
					cells[i] = summary.ShownLine(summary.Cut(cells[i], widest))
				case i >= untrusted:
					cells[i] = summary.Shown(summary.Cut(cells[i], widest))
				}
			}
			t.Add(cells...)
			paint := ""
			if bad(d) {
				paint = s.red
			}
			t.Paint = append(t.Paint, paint)
		}
		b = t.Append(append(b, '\n'))
	}
	return s.foot(b, left)
}
