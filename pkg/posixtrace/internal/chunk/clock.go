package chunk

import (
	"math"
	"math/bits"
	"sort"
)

// ClockAnchor is a tick and the time that belongs to it.
type ClockAnchor struct {
	Tick  uint64
	Nanos int64 // since the Unix epoch; never runs backwards within a stream
}

// Clock turns ticks into time. It is the broken line through its anchors, which rise in both
// coordinates; the first and the last piece extend beyond the ends. With a single anchor a tick is
// a nanosecond.
type Clock struct {
	anchors []ClockAnchor
	cur     piece
}

type piece struct {
	from  uint64
	ticks uint64 // its length
	nanos int64
	mult  uint64 // nanoseconds per tick, 24.40 bits
}

// Add appends a clock anchor. It drops one that does not rise above the last: a damaged log must
// not make time run backwards.
func (c *Clock) Add(k ClockAnchor) bool {
	if n := len(c.anchors); n > 0 && (k.Tick <= c.anchors[n-1].Tick || k.Nanos < c.anchors[n-1].Nanos) {
		return false
	}
	c.anchors = append(c.anchors, k)
	c.cur = piece{} // empty
	return true
}

// Anchors returns the clock anchors; the caller must not change them.
func (c *Clock) Anchors() []ClockAnchor { return c.anchors }

// Nanos returns the time of tick in nanoseconds since the Unix epoch.
func (c *Clock) Nanos(tick uint64) int64 {
	if ns, ok := c.Near(tick); ok {
		return ns
	}
	return c.find(tick)
}

// Near converts a tick that is close to the one before. It is so small that it is inlined.
func (c *Clock) Near(tick uint64) (ns int64, ok bool) {
	d := tick - c.cur.from
	hi, lo := bits.Mul64(d, c.cur.mult)
	return c.cur.nanos + int64(hi<<24|lo>>40), d < c.cur.ticks
}

// find converts a tick outside of the current piece, and makes its piece the current one.
func (c *Clock) find(tick uint64) int64 {
	k := c.anchors
	p := &c.cur
	switch i := sort.Search(len(k), func(i int) bool { return k[i].Tick > tick }) - 1; {
	case len(k) == 0:
		*p = piece{ticks: math.MaxUint64, mult: 1 << 40}
	case len(k) == 1:
		*p = piece{from: k[0].Tick, ticks: math.MaxUint64 - k[0].Tick, nanos: k[0].Nanos, mult: 1 << 40}
	default:
		i = min(max(i, 0), len(k)-2)
		*p = piece{from: k[i].Tick, ticks: k[i+1].Tick - k[i].Tick, nanos: k[i].Nanos, mult: mult(k[i], k[i+1])}
		if i == len(k)-2 {
			p.ticks = math.MaxUint64 - p.from
		}
	}
	if tick >= p.from {
		hi, lo := bits.Mul64(tick-p.from, p.mult)
		return p.nanos + int64(hi<<24|lo>>40)
	}
	hi, lo := bits.Mul64(p.from-tick, p.mult)
	return p.nanos - int64(hi<<24|lo>>40)
}

func mult(a, b ClockAnchor) uint64 {
	dv, dt := uint64(b.Nanos-a.Nanos), b.Tick-a.Tick
	hi, lo := dv>>24, dv<<40
	if hi >= dt {
		return ^uint64(0) // faster than any clock; only a damaged log says so
	}
	q, _ := bits.Div64(hi, lo, dt)
	return q
}
