package view

import (
	"cmp"
	"math"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
)

// row is a line of a tree: a node, or those that are left out below one.
type row struct {
	node   int32  // None for those that are left out
	indent string // the lines of the tree before it

	// Of those that are left out:
	hidden  []int32 // the outermost
	count   int64   // all; of a node, those below it that have no row
	longest int64
}

// choice selects rows.
type choice struct {
	*show
	shown []bool
	left  map[int32]rest // what is left out directly below a node that is shown, or below None
	lines int
	limit int
}

// rest is what is left out directly below a node.
type rest struct{ count, time int64 }

// What is left out below a node has no row of its own if it is at most so many and took at most a part of the
// node's time, one of so many.
const (
	littleCount = 8
	littleTime  = 20
)

// row reports whether what is left out below a node needs a row. Otherwise the row of the node counts it.
func (c *choice) row(i int32, r rest) bool {
	return r.count > littleCount || r.count > 0 && (i == analysis.None || r.time > c.Nodes[i].Duration()/littleTime)
}

// rows returns the rows that say most, at most limit, in the order of the tree: the causes of failures,
// those of the slow path, and what took long. What is left out below a node is a row, too, unless
// it took little of the time.
func (s *show) rows(limit int) []row {
	c := &choice{show: s, shown: make([]bool, len(s.Nodes)), left: map[int32]rest{}, limit: max(limit, 2)}
	if c.left[analysis.None] = c.inside(analysis.None); c.row(analysis.None, c.left[analysis.None]) {
		c.lines++
	}
	misses := 0
	least := int64(0)
	if s.Top == summary.Screen && len(s.Nodes) > fewNodes {
		least = s.length() / negligible
	}
	causes := s.causes(limit / causeShare)
	for _, i := range s.ranked(causes) {
		if s.Nodes[i].Duration() < least && !causes[i] {
			continue
		}
		if !c.take(i) {
			if misses++; misses == maxMisses {
				break
			}
		}
	}
	return c.ordered()
}

// Unless the user asks for a number of rows, an interval that took less than a negligible part of
// the time is left out, if there are more than a few.
const (
	negligible = 500
	fewNodes   = 20
)

// maxMisses is after how many nodes that do not fit rows stops.
const maxMisses = 64

// causeShare is the part of the rows, one of so many, that the causes of failures may take before all others.
const causeShare = 4

// causes returns the causes of failures, the latest if there are more than a limit: nodes that failed
// with none inside that did. What a script tolerates is no cause.
func (s *show) causes(limit int) map[int32]bool {
	inside := make([]bool, len(s.Nodes))
	var list []int32
	for i := len(s.Nodes) - 1; i >= 0; i-- {
		n := &s.Nodes[i]
		failed := s.counts(n)
		if failed && !inside[i] {
			list = append(list, int32(i))
		}
		if n.Parent != analysis.None && (failed || inside[i]) {
			inside[n.Parent] = true
		}
	}
	slices.SortFunc(list, func(x, y int32) int { return cmp.Or(cmp.Compare(s.Nodes[y].End, s.Nodes[x].End), cmp.Compare(x, y)) })
	causes := map[int32]bool{}
	for _, i := range list[:min(len(list), max(limit, 1))] {
		causes[i] = true
	}
	return causes
}

// counts reports whether a failure is one of the run. A script that succeeds has tolerated the status of
// its steps. The text of an error counts.
func (s *show) counts(n *analysis.Node) bool {
	return n.Failed && !n.Tolerated && (n.Kind != analysis.SpanKind || n.Error != "" || !s.succeeded[n.Source])
}

// ranked returns the nodes, those that say most first: the causes of failures, then by the time on the slow
// path. Time beside it counts half.
func (s *show) ranked(causes map[int32]bool) []int32 {
	weights := make([]int64, len(s.Nodes))
	list := make([]int32, len(s.Nodes))
	for i := range s.Nodes {
		list[i], weights[i] = int32(i), s.Nodes[i].Duration()/4
		if p := s.path[int32(i)]; p != nil {
			weights[i] = max(weights[i], (p.to-p.from)/2)
		}
		if causes[int32(i)] {
			weights[i] += math.MaxInt64 / 2
		}
	}
	slices.SortFunc(list, func(x, y int32) int { return cmp.Or(cmp.Compare(weights[y], weights[x]), cmp.Compare(x, y)) })
	return list
}

// inside returns what is directly below a node.
func (c *choice) inside(i int32) rest {
	r := rest{count: c.Omitted}
	if i != analysis.None {
		r.count, r.time = c.Nodes[i].Omitted, c.Nodes[i].OmittedTime
	} else {
		for j := range c.Nodes {
			r.count -= c.Nodes[j].Omitted
		}
		r.count = max(r.count, 0)
	}
	c.Children(i, func(child int32) bool {
		r.count++
		r.time += min(c.Nodes[child].Duration(), math.MaxInt64-r.time)
		return true
	})
	return r
}

// without returns what is left out if a child is shown.
func (c *choice) without(r rest, child int32) rest {
	return rest{r.count - 1, max(r.time-c.Nodes[child].Duration(), 0)}
}

// take selects a node and those around it, if there is room.
func (c *choice) take(i int32) bool {
	lines, left := c.lines, map[int32]rest{}
	enter := func(i int32, r rest) {
		left[i] = r
		if c.row(i, r) {
			lines++
		}
	}
	if !c.shown[i] {
		enter(i, c.inside(i))
	}
	for ; i != analysis.None && !c.shown[i]; i = c.Nodes[i].Parent {
		if lines++; lines > c.limit+1 {
			return false
		}
		p := c.Nodes[i].Parent
		r, open := c.left[p]
		if !open {
			r = c.inside(p)
		} else if c.row(p, r) {
			lines--
		}
		enter(p, c.without(r, i))
	}
	if lines > c.limit {
		return false
	}
	c.lines = lines
	for i, r := range left {
		c.left[i] = r
		if i != analysis.None {
			c.shown[i] = true
		}
	}
	return true
}

// ordered returns the rows in the order of the tree.
func (c *choice) ordered() []row {
	sizes := make([]int64, len(c.Nodes)) // with all inside
	for i := len(c.Nodes) - 1; i >= 0; i-- {
		n := &c.Nodes[i]
		sizes[i] += 1 + n.Omitted
		if n.Parent != analysis.None {
			sizes[n.Parent] += sizes[i]
		}
	}
	var list []row
	type level struct {
		rest   []row // rows on this level that are still to come
		indent string
	}
	levels := []level{{rest: c.below(analysis.None, sizes)}}
	for len(levels) > 0 {
		l := &levels[len(levels)-1]
		if len(l.rest) == 0 {
			levels = levels[:len(levels)-1]
			continue
		}
		r := l.rest[0]
		l.rest = l.rest[1:]
		deep := ""
		if len(levels) > 1 {
			r.indent, deep = c.branch(l.indent, len(l.rest) == 0, len(levels))
		}
		if r.node != analysis.None {
			inside := c.below(r.node, sizes)
			if n := len(inside) - 1; n >= 0 && inside[n].node == analysis.None && !c.row(r.node, c.left[r.node]) {
				r.count, inside = inside[n].count, inside[:n]
			}
			levels = append(levels, level{inside, deep})
		}
		list = append(list, r)
	}
	return list
}

// below returns the rows directly below a node.
func (c *choice) below(i int32, sizes []int64) (list []row) {
	rest := row{node: analysis.None}
	if i != analysis.None {
		n := &c.Nodes[i]
		rest.count, rest.longest = n.Omitted, n.OmittedLongest
	} else {
		rest.count = c.Omitted
		for j := range c.Nodes {
			rest.count -= c.Nodes[j].Omitted
		}
		rest.count = max(rest.count, 0)
	}
	c.Children(i, func(child int32) bool {
		if c.shown[child] {
			list = append(list, row{node: child})
			return true
		}
		rest.hidden = append(rest.hidden, child)
		rest.count += sizes[child]
		rest.longest = max(rest.longest, c.Nodes[child].Duration())
		return true
	})
	if rest.count > 0 {
		list = append(list, rest)
	}
	return list
}

// maxIndent is the number of levels after which rows are not indented further.
const maxIndent = 16

// branch returns the lines of the tree before a row, and those before the rows below it.
func (c *choice) branch(indent string, last bool, depth int) (here, below string) {
	parts := [4]string{"├─", "└─", "│ ", "  "}
	if c.ASCII {
		parts = [4]string{"|-", "`-", "| ", "  "}
	}
	at := 0
	if last {
		at = 1
	}
	here, below = indent+parts[at], indent+parts[at+2]
	if depth > maxIndent {
		below = indent
	}
	return here, below
}
