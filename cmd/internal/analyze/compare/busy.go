package compare

import "github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"

// Busier has a number of analysis.Busy for both groups: the medians.
type Busier struct {
	Old, New float64
}

// findBusier finds whether the runs of one side took longer because the machine was busier: half of the
// change of the wall time, or more, is what they have lost to others.
func (c *comparison) findBusier() {
	if !c.Wall.Beyond || c.Golden {
		return
	}
	parts, worthy := c.busy(func(b analysis.Busy) float64 { return b.Waited })
	var lost [2][]int64
	for side, runs := range c.sides {
		for i, r := range runs {
			lost[side] = append(lost[side], int64(parts[side][i]*float64(r.Wall)))
		}
	}
	by := median(lost[New]) - median(lost[Old])
	if worthy && (by > 0) == (c.Wall.By() > 0) && 2*abs(by) >= abs(c.Wall.By()) {
		c.Busier = &Busier{Old: middle(parts[Old]), New: middle(parts[New])}
	}
}

// othersUsed returns the part of the processors that others used, of the runs of which no more is known.
// ok reports whether it is larger where the runs took longer.
func (c *comparison) othersUsed() (used Busier, ok bool) {
	parts, worthy := c.busy(func(b analysis.Busy) float64 { return b.Others })
	used = Busier{Old: middle(parts[Old]), New: middle(parts[New])}
	const least = .2
	by := used.New - used.Old
	return used, worthy && c.Wall.Beyond && !c.Golden && max(by, -by) >= least && (by > 0) == (c.Wall.By() > 0)
}

// busy returns a number of each run. worthy reports whether it is worth a word for a run of the side that
// took longer.
func (c *comparison) busy(of func(analysis.Busy) float64) (parts [2][]float64, worthy bool) {
	for side, runs := range c.sides {
		for _, r := range runs {
			part := 0.
			if r.Command != nil {
				b, ok := r.Command.Busy()
				part = of(b)
				worthy = worthy || ok && part > 0 && (Side(side) == New) == (c.Wall.By() > 0)
			}
			parts[side] = append(parts[side], part)
		}
	}
	return parts, worthy
}

// middle returns the median of parts of a whole.
func middle(parts []float64) float64 {
	const units = 1e6
	var list []int64
	for _, p := range parts {
		list = append(list, int64(p*units))
	}
	return float64(median(list)) / units
}

// waitedFor reports whether an item takes another time because it waited for a processor: without that
// wait there is no difference, or hardly one. The tracer waited, too, and threads that stop for it with it.
func (c *comparison) waitedFor(m *matched, t *Change) bool {
	if c.Busier == nil || (t.By() > 0) != (c.Wall.By() > 0) {
		return false
	}
	without := c.times(c.values(m, Old, undelayed), c.values(m, New, undelayed))
	const rest = 5
	return !without.Beyond || (without.By() > 0) != (t.By() > 0) || rest*abs(without.By()) <= abs(t.By())
}

// worked reports whether what commands and spans did without the wait for a processor explains half of the
// change of the wall time: then that is the cause.
func (c *comparison) worked() bool {
	worked := 0.
	for _, d := range c.Differences {
		if d.item != nil && !d.First && d.Known {
			worked += float64(bounded(c.effect(d.item, undelayed), d.Effect))
		}
	}
	return 2*worked/float64(c.Wall.By()) >= 1
}

func undelayed(s *stat) int64 { return max(s.self-s.delay, 0) }
