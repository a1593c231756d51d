package stream

import (
	"bytes"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// Pattern is a step of a filter, for names registered later.
type Pattern struct {
	Reject bool
	Glob   string
}

// MaxPattern is the longest pattern in bytes.
const MaxPattern = patternSize - 2

// Patterns returns the patterns of the filter, in order.
func (m *Mem) Patterns() (ps []Pattern) {
	for i := range min(m.h.npat.Load(), MaxPatterns) {
		b := m.h.patterns[i] // a copy
		if n := int(b[1]); n <= MaxPattern {
			ps = append(ps, Pattern{b[0] == 1, string(bytes.Clone(b[2 : 2+n]))})
		}
	}
	return
}

// SetPatterns replaces the patterns; there are at most MaxPatterns, none longer
// than MaxPattern. The caller holds the stream's lock, and no Decide is under way.
func (m *Mem) SetPatterns(ps []Pattern) {
	m.h.npat.Store(0)
	for i, p := range ps[:min(len(ps), MaxPatterns)] {
		b := &m.h.patterns[i]
		b[0] = b2u(p.Reject)
		b[1] = uint8(copy(b[2:], p.Glob))
	}
	m.h.npat.Store(uint32(min(len(ps), MaxPatterns)))
}

// Decide applies the patterns to a name before its id is published: the last
// match decides. If none matches, the id gets the bit that all ids of its class have that have no name:
// the filter may have another bit from a name whose registration was cut short. Decide does not take the
// stream's lock, whose holder may be waiting for the caller. No event has the id yet, so no instant
// matters. The caller excludes changes of the filter by other means.
func (m *Mem) Decide(id event.ID, name string) {
	ps := m.Patterns()
	if !id.Valid() || len(ps) == 0 {
		return
	}
	last := event.FirstDynamic - 1
	if id > last {
		last = event.Max - 1
	}
	filter := &m.h.filter[m.h.state.Load()/filterB&1]
	reject := filter[last>>6].Load()>>(last&63)&1 != 0
	for i := len(ps) - 1; i >= 0; i-- {
		if Match(ps[i].Glob, name) {
			reject = ps[i].Reject
			break
		}
	}
	if reject {
		filter[id>>6].Or(1 << (id & 63))
	} else {
		filter[id>>6].And(^uint64(1 << (id & 63)))
	}
}

// Match reports whether name matches a pattern, in which * matches any bytes
// and ? one. Its time is at most proportional to the product of the lengths.
func Match(pattern, name string) bool {
	p, n := 0, 0
	star, mark := -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
