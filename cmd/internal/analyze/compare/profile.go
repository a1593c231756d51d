package compare

import (
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
)

// profile has the items of a run. Item 0 is the run itself; a parent comes before its children.
type profile struct {
	items   []item
	labels  []label
	ignored uint64 // intervals beyond the limit
	doubted uint64 // spans whose begin and end may not belong together, and what is inside
}

// item is all intervals of one label within one parent item.
type item struct {
	parent int32
	label  int32 // an index of labels; -1 for the run itself
	stat
	first, last int64 // start of the first and end of the last interval
	sequential  bool  // no two intervals within it ran at the same time
	children    []int32
}

// stat is what is compared of an item in one run.
type stat struct {
	count  uint64
	wall   int64  // of all, from start to end
	self   int64  // without what is inside
	delay  int64  // the wait for a processor
	chain  int64  // the part of the wall time of the run
	inside uint64 // intervals inside
	failed uint64
	ended  uint64 // with status 0
	status int32
	signal int16
	error  string // of a span that failed with the text of one
	limit  int64  // of the first command, if it timed out
	moved  bool   // it has another parent
}

// maxItems bounds the items of a run.
const maxItems = 1 << 16

// doubted stands for the item of an interval that is left out because it may be wrong.
const doubted = -2

// newProfile unites the intervals of a run. Those that may be wrong pairs are left out, with what is
// inside.
func newProfile(t *analysis.Tree, pids map[int32]bool) profile {
	names := newNames(pids)
	p := profile{items: make([]item, 1, 256)}
	_, parallel := cover(t, t.First, t.Start, t.End)
	p.items[0] = item{label: -1, stat: stat{count: 1}, sequential: !parallel}
	at := map[uint64]int32{}
	of := make([]int32, len(t.Nodes)) // the item of a node, -1 for none
	for i := range t.Nodes {
		n := &t.Nodes[i]
		parent := int32(0)
		if n.Parent != analysis.None {
			parent = of[n.Parent]
		}
		of[i] = -1
		switch {
		case n.Overlaps || parent == doubted:
			of[i] = doubted
			p.doubted++
			continue
		case parent < 0:
			p.ignored++
			continue
		}
		label := names.of(n)
		key := uint64(parent)<<32 | uint64(label)
		k, ok := at[key]
		if !ok {
			if len(p.items) >= maxItems {
				p.ignored++
				continue
			}
			k = int32(len(p.items))
			at[key] = k
			p.items = append(p.items, item{parent: parent, label: label})
			p.items[parent].children = append(p.items[parent].children, k)
		}
		of[i] = k
		p.items[k].enter(t, n, p.within(k))
	}
	for _, l := range t.Chain() {
		if k := of[l.Node]; k >= 0 {
			p.items[k].chain = sum(p.items[k].chain, max(l.Self, 0))
		}
	}
	p.labels = names.list
	p.total()
	return p
}

// maxWithin bounds how far up within looks.
const maxWithin = 16

// within reports whether an item is inside of another one of its label, whose time has that of it.
func (p *profile) within(k int32) bool {
	for up, n := p.items[k].parent, 0; up != 0 && n < maxWithin; up, n = p.items[up].parent, n+1 {
		if p.items[up].label == p.items[k].label {
			return true
		}
	}
	return false
}

// enter adds an interval.
func (m *item) enter(t *analysis.Tree, n *analysis.Node, within bool) {
	if m.count == 0 {
		m.first, m.last, m.sequential, m.status = n.Start, n.End, true, -1
	}
	m.first, m.last = min(m.first, n.Start), max(m.last, n.End)
	m.count++
	if !within {
		m.wall = sum(m.wall, n.Duration())
	}
	self, parallel := own(t, n)
	m.self = sum(m.self, self)
	m.delay = sum(m.delay, n.Delay)
	m.sequential = m.sequential && !parallel
	if n.TimedOut && n.Limit == 0 {
		return // the run failed, and it with the run
	}
	if n.Failed {
		m.failed++
		m.status, m.signal, m.error, m.limit = n.Status, n.Signal, n.Error, n.Limit
		if n.Error != "" {
			m.status = -1
		}
	} else if n.State == analysis.Ended && n.Status == 0 {
		m.ended++
	}
}

// own returns the time of an interval in which nothing inside of it ran, and whether two of these
// ran at the same time.
func own(t *analysis.Tree, n *analysis.Node) (self int64, parallel bool) {
	covered, parallel := cover(t, n.First, n.Start, n.End)
	return max(n.Duration()-sum(covered, n.OmittedTime), 0), parallel
}

// cover returns how much of the time between two moments siblings cover, and whether two of them ran
// at the same time.
func cover(t *analysis.Tree, first int32, until, end int64) (covered int64, parallel bool) {
	for c := first; c != analysis.None; c = t.Nodes[c].Next {
		k := &t.Nodes[c]
		parallel = parallel || k.Start < until
		to := min(k.End, end)
		covered = sum(covered, since(to, max(k.Start, until)))
		until = max(until, to)
	}
	return covered, parallel
}

// total counts the intervals inside of each item.
func (p *profile) total() {
	for i := range p.items {
		p.items[i].inside = 0
	}
	for i := len(p.items) - 1; i > 0; i-- {
		m := &p.items[i]
		p.items[m.parent].inside += m.inside + m.count
	}
}

// collapse makes one item of those in one parent whose labels have become the same.
func (p *profile) collapse(to []int32) {
	items := p.items
	p.items = make([]item, 1, len(items))
	p.items[0] = items[0]
	p.items[0].children = nil
	of := make([]int32, len(items))
	at := map[uint64]int32{}
	for i := 1; i < len(items); i++ {
		m := items[i]
		m.parent, m.label, m.children = of[m.parent], to[m.label], nil
		key := uint64(m.parent)<<32 | uint64(uint32(m.label))
		k, ok := at[key]
		if !ok {
			k = int32(len(p.items))
			at[key] = k
			p.items = append(p.items, m)
			p.items[m.parent].children = append(p.items[m.parent].children, k)
		} else {
			p.items[k].unite(&m)
		}
		of[i] = k
	}
	p.total()
}

// unite adds another item.
func (m *item) unite(o *item) {
	m.sequential = m.sequential && o.sequential
	m.first, m.last = min(m.first, o.first), max(m.last, o.last)
	m.stat.add(&o.stat)
}

// add adds what another item has.
func (s *stat) add(o *stat) {
	s.count += o.count
	s.wall, s.self, s.chain = sum(s.wall, o.wall), sum(s.self, o.self), sum(s.chain, o.chain)
	s.delay = sum(s.delay, o.delay)
	s.failed, s.ended = s.failed+o.failed, s.ended+o.ended
	if o.failed > 0 {
		s.status, s.signal, s.error, s.limit = o.status, o.signal, o.error, o.limit
	}
}
