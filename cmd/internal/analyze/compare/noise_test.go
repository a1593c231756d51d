package compare

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestMedianAndSpread(t *testing.T) {
	for _, tt := range []struct {
		list           []int64
		median, spread int64
	}{
		{[]int64{7}, 7, 0},
		{[]int64{9, 1}, 5, 5},
		{[]int64{3, 1, 2}, 2, 1},
		{[]int64{1, 2, 3, 4, 1000}, 3, 249},
		{[]int64{1 << 62, 1<<62 + 2}, 1<<62 + 1, 1},
	} {
		if m, s := median(tt.list), spread(tt.list); m != tt.median || s != tt.spread {
			t.Errorf("%v: %d ± %d, want %d ± %d", tt.list, m, s, tt.median, tt.spread)
		}
	}
}

func compareTimes(tests int, old, new []int64) bool {
	c := &comparison{Options: &Options{Percent: DefaultPercent, Least: DefaultLeast}, tests: tests}
	d := c.times(old, new)
	return d.Beyond
}

func ms(list ...float64) (ns []int64) {
	for _, f := range list {
		ns = append(ns, int64(f*float64(time.Millisecond)))
	}
	return ns
}

func TestThresholds(t *testing.T) {
	for _, tt := range []struct {
		name     string
		old, new []int64
		want     bool
	}{
		{"below the duration", ms(100), ms(149), false},
		{"beyond both", ms(100), ms(151), true},
		{"beyond both, faster", ms(151), ms(100), true},
		{"below the part", ms(10000), ms(10900), false},
		{"beyond the part", ms(10000), ms(11001), true},
		{"nothing", ms(0), ms(0), false},
		{"groups apart", ms(100, 102, 104), ms(200, 203, 201), true},
		{"groups that overlap", ms(100, 102, 250), ms(200, 203, 201), false},
		{"groups apart by their noise", ms(100, 140, 180), ms(190, 230, 260), false},
		{"one old run and many new", ms(100), ms(200, 203, 201), true},
	} {
		if got := compareTimes(10, tt.old, tt.new); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// Of ten runs of the same build, split at random twenty times, at most one split differs; the noise
// is that of a busy machine. A build that takes twice as long does differ.
func TestNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const runs, parts = 10, 12
	noise := func() float64 { // a fifth of the time, and now and then an outlier
		f := 1 + .2*rng.Float64()
		if rng.IntN(10) == 0 {
			f += rng.ExpFloat64() / 2
		}
		return f
	}
	failed, found := 0, 0
	const trials = 200
	for range trials {
		var times [parts][runs]int64
		for r := range runs {
			whole := noise()
			for p := range parts {
				times[p][r] = int64(300e6 * whole * noise())
			}
		}
		reports := 0
		for range 20 {
			order := rng.Perm(runs)
			differ := false
			for p := range parts {
				var old, new []int64
				for i, r := range order {
					if i < runs/2 {
						old = append(old, times[p][r])
					} else {
						new = append(new, times[p][r])
					}
				}
				differ = differ || compareTimes(parts, old, new)
			}
			if differ {
				reports++
			}
		}
		if reports > 1 {
			failed++
		}
		slow := make([]int64, runs)
		for r := range runs {
			slow[r] = int64(600e6 * noise())
		}
		if compareTimes(parts, times[0][:5], slow[:5]) {
			found++
		}
	}
	if failed > trials/20 || found < trials/3 {
		t.Errorf("of %d trials, %d report a difference twice or more; %d of %d slow builds found", trials, failed, found, trials)
	}
}

// What Seen says holds: a larger difference of the medians is beyond thresholds and noise, in either
// direction, and a smaller one is not in at least one of them.
func TestSeen(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		group := func() (list []int64) {
			base, width := 1+r.Int64N(2e9), 1+r.Int64N(1<<r.IntN(31))
			for range 1 + r.IntN(9) {
				list = append(list, base+r.Int64N(width))
			}
			return list
		}
		old, new := group(), group()
		c := &comparison{Options: defaults(), tests: 1 + r.IntN(500)}
		d := c.times(old, new)
		c.see(&d, old, new)
		beyond := func(by int64) bool {
			shifted := make([]int64, len(new))
			for i, v := range new {
				shifted[i] = v - d.New + d.Old + by
			}
			got := c.times(old, shifted)
			return got.Beyond
		}
		if !beyond(d.Seen+1) || d.Seen+1 < d.Old && !beyond(-d.Seen-1) {
			t.Fatalf("%v, %v: a difference of more than %d is not seen", old, new, d.Seen)
		}
		if least := max(d.Seen-2, 1); beyond(least) && beyond(-least) {
			t.Fatalf("%v, %v: a difference of %d is seen, too, not only %d", old, new, least, d.Seen)
		}
		if by := max(d.By(), -d.By()); !d.Beyond && d.Noisy && by > d.Seen {
			t.Fatalf("%v, %v: differ by %d, more than %d, and that is not beyond", old, new, by, d.Seen)
		}
		if limit := int64(max(float64(d.Old)/DefaultPercent, float64(DefaultLeast))); !d.Noisy && d.Seen > limit+1 {
			t.Fatalf("%v, %v: noisy is %v: %d, thresholds %d", old, new, d.Noisy, d.Seen, limit)
		}
	}
	for _, tt := range []struct {
		old, new []int64
		seen     int64
		noisy    bool
	}{
		{ms(100), ms(900), ms(50)[0], false},
		{ms(2000), ms(900), ms(200)[0], false},
		{ms(100, 101), ms(101, 102), ms(50)[0], false},
	} {
		c := &comparison{Options: defaults(), tests: 10}
		d := c.times(tt.old, tt.new)
		if c.see(&d, tt.old, tt.new); d.Seen != tt.seen || d.Noisy != tt.noisy {
			t.Errorf("%v, %v: sees %d, noisy %v", tt.old, tt.new, d.Seen, d.Noisy)
		}
	}
}
