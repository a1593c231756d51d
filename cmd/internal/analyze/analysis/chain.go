package analysis

import (
	"cmp"
	"slices"
)

// Link is a part of a chain: an interval, or the part of it that mattered.
type Link struct {
	Node       int32
	Depth      int   // how many links are around it
	Start, End int64 // the part of the chain in which the interval ran
	Self       int64 // the part of that in which nothing inside of it did
}

// Chain returns the intervals that decided how long the run took, in the order of their start, an
// interval before those inside. They are found from the end: what ended last decided when the run
// could end; what ended last before that one began decided when that could begin. The same holds
// inside of each. Each log has a chain of its own.
func (t *Tree) Chain() []Link {
	list := make([]Link, 0, len(t.Nodes)) // memory that is not used costs nothing
	type part struct {
		node     int32 // None for the run
		link     int32 // its index in list
		from, to int64
		source   int32 // of those without a parent
	}
	var stack []part
	for _, source := range t.sources() {
		stack = append(stack, part{None, None, t.Start, t.End, source})
	}
	for len(stack) > 0 {
		p := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		depth := 0
		if p.link != None {
			depth = list[p.link].Depth + 1
		}
		at := p.to
		for _, c := range t.byEnd(p.node, p.to, p.source) {
			n := &t.Nodes[c]
			from, to := max(n.Start, p.from), min(n.End, p.to)
			if to > at || from >= to {
				continue // it ran on, or took no time
			}
			if p.link != None {
				list[p.link].Self -= length(from, to)
			}
			list = append(list, Link{Node: c, Depth: depth, Start: from, End: to, Self: length(from, to)})
			if n.First != None {
				stack = append(stack, part{c, int32(len(list) - 1), from, to, p.source})
			}
			at = from
		}
	}
	slices.Reverse(list) // mostly in order then, which is faster
	slices.SortFunc(list, func(x, y Link) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.Depth, y.Depth), cmp.Compare(x.Node, y.Node))
	})
	return list
}

// sources returns the numbers of the logs that have intervals.
func (t *Tree) sources() (list []int32) {
	seen := map[int32]bool{}
	t.Children(None, func(c int32) bool {
		if s := t.Nodes[c].Source; !seen[s] {
			seen[s] = true
			list = append(list, s)
		}
		return true
	})
	return list
}

// slack is how much later than the interval around it one may seem to end: a shell may know the time
// to a hundredth of a second only.
const slack = 1e7

// byEnd returns the children of a node, or the outermost nodes of a log, that ended by some time, the one that ended last first. Of
// those that ended at the same time the one that began first is first: it contains the others.
func (t *Tree) byEnd(i int32, by int64, source int32) (list []int32) {
	t.Children(i, func(c int32) bool {
		n := &t.Nodes[c]
		if i == None && n.Source != source {
			return true
		}
		if n.End <= by || n.Start < by && length(by, n.End) <= min(slack, length(n.Start, by)) {
			list = append(list, c)
		}
		return true
	})
	slices.Reverse(list) // mostly in order then
	slices.SortFunc(list, func(x, y int32) int {
		return cmp.Or(cmp.Compare(min(t.Nodes[y].End, by), min(t.Nodes[x].End, by)), cmp.Compare(t.Nodes[x].Start, t.Nodes[y].Start), cmp.Compare(x, y))
	})
	return list
}
