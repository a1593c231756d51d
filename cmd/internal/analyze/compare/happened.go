package compare

import (
	"maps"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// happened counts what only a comparison without times looks at: lines of output, and events that
// are no part of a span.
type happened struct {
	name  func(posixtrace.EventID) string
	raw   map[string]int64 // by kind, name and data
	size  int
	plain map[posixtrace.EventID]bool
	lines map[string]int64
	event map[string]int64
}

// maxHappened bounds the size of the texts of a run. What is beyond has the name alone.
const maxHappened = 32 << 20

// maxEventData bounds the data of an event by which it is matched.
const maxEventData = 256

func newHappened(name func(posixtrace.EventID) string) *happened {
	return &happened{name: name, raw: map[string]int64{}, plain: map[posixtrace.EventID]bool{}, lines: map[string]int64{}, event: map[string]int64{}}
}

const (
	stdoutLine = 'o'
	stderrLine = 'e'
	userEvent  = 'u'
)

func (h *happened) add(recs []posixtrace.Record) {
	var key []byte
	for i := range recs {
		rec := &recs[i]
		switch {
		case rec.ID == posixtrace.EventOutputStdout, rec.ID == posixtrace.EventOutputStderr:
			d, err := posixtrace.DecodeOutput(rec.Data)
			if err != nil || d.Return && escape.Blank(d.Line) {
				continue
			}
			kind := byte(stdoutLine)
			if rec.ID == posixtrace.EventOutputStderr {
				kind = stderrLine
			}
			key = append(append(key[:0], kind), d.Line[:escape.Cut(d.Line, maxEventData)]...)
		case h.isPlain(rec.ID):
			key = append(append(key[:0], userEvent), h.name(rec.ID)...)
			key = append(append(key, 0), rec.Data[:escape.Cut(rec.Data, maxEventData)]...)
		default:
			continue
		}
		if n, ok := h.raw[string(key)]; ok {
			h.raw[string(key)] = n + 1
			continue
		}
		if h.size > maxHappened {
			key = key[:1]
			if rec.ID.User() {
				key = append(append(key, h.name(rec.ID)...), 0)
			}
		}
		h.size += len(key)
		h.raw[string(key)]++
	}
}

// isPlain reports whether events of a type are the user's and no part of a span.
func (h *happened) isPlain(id posixtrace.EventID) bool {
	plain, ok := h.plain[id]
	if !ok {
		plain = id.User() && analysis.Plain(id, h.name(id))
		h.plain[id] = plain
	}
	return plain
}

// finish masks the texts.
func (h *happened) finish(pids map[int32]bool) {
	for key, n := range h.raw {
		kind, text := key[0], key[1:]
		if kind != userEvent {
			h.lines[string(kind)+maskLine([]byte(mask(text, pids)))] += n
			continue
		}
		name, data, _ := strings.Cut(text, "\x00")
		if data = mask(data, pids); data != "" {
			name += " " + data
		}
		h.event[name] += n
	}
	h.raw = nil
}

// findHappened finds what differs in events, lines and the kinds of system calls.
func (c *comparison) findHappened() {
	c.findCounts(Event, func(r *Run) map[string]int64 { return r.happened.event })
	c.findCounts(Line, func(r *Run) map[string]int64 { return r.happened.lines })
	if c.both(func(r *Run) bool { return len(r.calls) > 0 }) {
		c.findCounts(SystemCall, func(r *Run) map[string]int64 {
			names := map[string]int64{}
			for name := range r.calls {
				names[name] = 1 // how often depends on what waits for what
			}
			return names
		})
	}
}

func (c *comparison) findCounts(what What, of func(*Run) map[string]int64) {
	keys := map[string]bool{}
	var perRun [2][]map[string]int64
	for side, runs := range c.sides {
		for _, r := range runs {
			m := of(r)
			perRun[side] = append(perRun[side], m)
			for key := range m {
				keys[key] = true
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		var n [2][]int64
		for side, list := range perRun {
			for _, m := range list {
				n[side] = append(n[side], m[key])
			}
		}
		c.Compared++
		if !counts(n[Old], n[New]) {
			continue
		}
		d := &Difference{What: what, How: More, Name: key, Status: -1, Count: Change{Old: median(n[Old]), New: median(n[New])}}
		if what == Line {
			d.Name = key[1:]
		}
		switch {
		case slices.Max(n[Old]) == 0:
			d.How = Added
		case slices.Max(n[New]) == 0:
			d.How = Gone
		case d.Count.By() < 0:
			d.How = Fewer
		}
		c.Differences = append(c.Differences, d)
	}
}

// movedIn reports whether an item is within something else in all new runs, or comes before an item
// that it followed in all old ones. Only where no two ran at a time has the order a meaning.
func (c *comparison) movedIn(m *matched) bool {
	moved := c.values(m, New, func(s *stat) int64 {
		if s.moved {
			return 1
		}
		return 0
	})
	if slices.Min(moved) > 0 {
		return true
	}
	i := slices.Index(m.parent.children, m)
	if i <= 0 {
		return false
	}
	for _, before := range m.parent.children[max(i-maxOrder, 0):i] {
		if c.order(before, m, Old) > 0 && c.order(before, m, New) < 0 {
			return true
		}
	}
	return false
}

// maxOrder bounds how many items before another one are compared with it.
const maxOrder = 64

// order returns 1 if an item ends before another one begins in all runs of a side, -1 if
// it begins after the end of the other one, else 0.
func (c *comparison) order(a, b *matched, side Side) int {
	all := 0
	from := 0
	if side == New {
		from = len(c.Old)
	}
	for i, r := range c.sides[side] {
		x, y, up := a.places[from+i], b.places[from+i], a.parent.places[from+i]
		if x < 0 || y < 0 || up < 0 {
			return 0
		}
		items := r.profile.items
		p, q := &items[x], &items[y]
		if !items[up].sequential || p.count != 1 || q.count != 1 {
			return 0
		}
		n := 0
		switch {
		case p.last <= q.first:
			n = 1
		case q.last <= p.first:
			n = -1
		}
		if n == 0 || all != 0 && n != all {
			return 0
		}
		all = n
	}
	return all
}
