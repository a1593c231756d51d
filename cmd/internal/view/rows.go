package view

import (
	"cmp"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/intervals"
	"github.com/posixtrace/posixtrace/cmd/internal/summary"
)

// row is a line of a tree: a node, or those that are left out below one.
type row struct {
	node   int32  // None for those that are left out
	indent string // the lines of the tree before it

	// Of those that are left out:
	hidden  []int32 // the outermost
	count   int64   // all
	longest int64
}

// choice selects rows.
type choice struct {
	*show
	shown []bool
	left  map[int32]int64 // children that are left out, by a node that is shown, or None
	lines int
	limit int
}

// rows returns the rows that say most, at most about limit, in the order of the tree: those of the
// slow path, failures, and what took long. What is left out below a node is a row, too.
func (s *show) rows(limit int) []row {
	c := &choice{show: s, shown: make([]bool, len(s.Nodes)), left: map[int32]int64{}, limit: limit}
	c.open(intervals.None)
	misses := 0
	least := int64(0)
	if s.Top == summary.Screen && len(s.Nodes) > fewNodes {
		least = s.length() / negligible
	}
	for _, i := range s.ranked() {
		if n := &s.Nodes[i]; n.Duration() < least && !n.Failed {
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

// ranked returns the nodes, those that say most first.
func (s *show) ranked() []int32 {
	failedInside := make([]bool, len(s.Nodes))
	weights := make([]int64, len(s.Nodes))
	list := make([]int32, len(s.Nodes))
	for i := len(s.Nodes) - 1; i >= 0; i-- {
		n := &s.Nodes[i]
		list[i], weights[i] = int32(i), n.Duration()/4
		if s.path[int32(i)] != nil {
			weights[i] = n.Duration() / 2
		}
		if n.Failed && !failedInside[i] {
			weights[i] += s.length() / 8 // the cause of a failure
		}
		if n.Parent != intervals.None && (n.Failed || failedInside[i]) {
			failedInside[n.Parent] = true
		}
	}
	slices.SortFunc(list, func(x, y int32) int { return cmp.Or(cmp.Compare(weights[y], weights[x]), cmp.Compare(x, y)) })
	return list
}

// open counts the lines below a node that is going to be shown: one as long as something is left out.
func (c *choice) open(i int32) {
	n := c.Omitted
	if i != intervals.None {
		n = c.Nodes[i].Omitted
	} else {
		for j := range c.Nodes {
			n -= c.Nodes[j].Omitted
		}
		n = max(n, 0)
	}
	c.Children(i, func(int32) bool { n++; return true })
	if c.left[i] = n; n > 0 {
		c.lines++
	}
}

// take selects a node and those around it, if there is room.
func (c *choice) take(i int32) bool {
	var path []int32
	for ; i != intervals.None && !c.shown[i]; i = c.Nodes[i].Parent {
		if path = append(path, i); c.lines+len(path) > c.limit {
			return false
		}
	}
	for _, i := range slices.Backward(path) {
		c.shown[i] = true
		c.lines++
		p := c.Nodes[i].Parent
		if c.left[p]--; c.left[p] == 0 {
			c.lines--
		}
		c.open(i)
	}
	return true
}

// ordered returns the rows in the order of the tree.
func (c *choice) ordered() []row {
	sizes := make([]int64, len(c.Nodes)) // with all inside
	for i := len(c.Nodes) - 1; i >= 0; i-- {
		n := &c.Nodes[i]
		sizes[i] += 1 + n.Omitted
		if n.Parent != intervals.None {
			sizes[n.Parent] += sizes[i]
		}
	}
	var list []row
	type level struct {
		rest   []row // rows on this level that are still to come
		indent string
	}
	levels := []level{{rest: c.below(intervals.None, sizes)}}
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
		list = append(list, r)
		if r.node != intervals.None {
			levels = append(levels, level{c.below(r.node, sizes), deep})
		}
	}
	return list
}

// below returns the rows directly below a node.
func (c *choice) below(i int32, sizes []int64) (list []row) {
	rest := row{node: intervals.None}
	if i != intervals.None {
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
