package compare

import (
	"math"
	"slices"
)

// Change is a number in both groups: the medians, and how much it varies within each.
type Change struct {
	Old, New             int64
	OldSpread, NewSpread int64 // 0 for a single run
	Beyond               bool  // the difference is beyond thresholds and noise
	Seen                 int64 // of the wall time: a larger difference would be beyond both
	Noisy                bool  // of the wall time: the noise hides differences that the thresholds would not
}

// By returns the difference of the medians.
func (c *Change) By() int64 { return c.New - c.Old }

// median returns the median of numbers, rounded down.
func median(list []int64) int64 {
	if len(list) == 0 {
		return 0
	}
	s := slices.Clone(list)
	slices.Sort(s)
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return s[n/2-1] + (s[n/2]-s[n/2-1])/2
}

// spread returns the median distance from the median, scaled so that it estimates the standard
// deviation of a normal distribution. A few runs underestimate it: so it is at least a quarter of
// the distance from the least to the greatest.
func spread(list []int64) int64 {
	if len(list) < 2 {
		return 0
	}
	m := median(list)
	away := make([]int64, len(list))
	for i, v := range list {
		if away[i] = v - m; v < m {
			away[i] = m - v
		}
	}
	return max(int64(1.4826*float64(median(away))), (slices.Max(list)-slices.Min(list))/4)
}

// times compares durations of both groups. They differ beyond the thresholds if the medians differ
// by more than both of them: the duration, and the part of the old one. With several runs the
// difference must also stand out of the noise: see standsOut.
func (c *comparison) times(old, new []int64) Change { return c.changed(old, new, int64(c.Least)) }

// changed compares numbers as times does, with another threshold than a duration.
func (c *comparison) changed(old, new []int64, atLeast int64) Change {
	d := Change{Old: median(old), New: median(new), OldSpread: spread(old), NewSpread: spread(new)}
	by := math.Abs(float64(d.New) - float64(d.Old))
	least := max(c.Percent/100*float64(min(d.Old, d.New)), float64(atLeast))
	d.Beyond = by > least && (len(old)+len(new) == 2 || c.standsOut(&d, old, new))
	return d
}

// standsOut reports whether a difference is more than noise: of all pairs of an old and a new
// run, 98 percent differ in its direction, and it is several times as large as the spread within the
// groups. How many times depends on how much is compared: of many times, some differ by chance.
func (c *comparison) standsOut(d *Change, old, new []int64) bool {
	agree := 0
	for _, x := range old {
		for _, y := range new {
			if y > x == (d.New > d.Old) && x != y {
				agree++
			}
		}
	}
	if 50*agree < 49*len(old)*len(new) {
		return false
	}
	return math.Abs(float64(d.New)-float64(d.Old)) > c.noise(d)
}

// noise returns the difference above which one is more than the spread within the groups.
func (c *comparison) noise(d *Change) float64 {
	factor := 1.5 + math.Sqrt(math.Log(float64(max(c.tests, 1))))
	return factor * max(float64(d.OldSpread), float64(d.NewSpread))
}

// see finds which difference would be beyond thresholds and noise, if the new runs varied as they do
// and all were slower by some time, or all faster.
func (c *comparison) see(d *Change, old, new []int64) {
	thresholds := max(c.Percent/100*float64(d.Old), float64(c.Least))
	seen := thresholds
	if len(old)+len(new) > 2 {
		var gaps []float64 // from each old run to each new one, if the medians were equal
		for _, x := range old {
			for _, y := range new {
				gaps = append(gaps, float64(y-d.New)-float64(x-d.Old))
			}
		}
		slices.Sort(gaps)
		few := len(gaps) - (49*len(gaps)+49)/50 // as many pairs may differ in the other direction
		apart := max(-gaps[few], gaps[len(gaps)-1-few])
		seen = max(seen, c.noise(d), apart)
	}
	d.Seen, d.Noisy = int64(math.Ceil(min(seen, 1<<62))), seen > thresholds
}

// counts reports whether numbers of both groups differ in all runs: the smallest of one is larger
// than the largest of the other.
func counts(old, new []int64) bool {
	return slices.Max(old) < slices.Min(new) || slices.Max(new) < slices.Min(old)
}
