package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
)

// lane is a row of the picture: a process with the spans of its first thread, another thread, or
// something else.
type lane struct {
	actor        // tid 0 for a process
	kind   uint8 // as the page has it
	name   string
	parent int32 // in nodes; -1 none
	start  int64

	rows  []int64 // until when each depth is taken
	child int32   // first child in nodes, and the next one of the same parent; -1 none
	next  int32
	index int // in the picture
}

// Kinds of lanes.
const (
	processLane = iota
	threadLane
	otherLane
)

// lanes are the rows of the picture.
type lanes struct {
	nodes []lane
	of    map[actor]int32
	order []int32 // nodes in the order of the picture
}

// maxDepth bounds how many spans of a lane are drawn over each other.
const maxDepth = 256

func (l *lanes) add(x lane) int32 {
	x.parent, x.child, x.next = -1, -1, -1
	l.nodes = append(l.nodes, x)
	return int32(len(l.nodes) - 1)
}

// process returns the lane of a process.
func (l *lanes) process(source, pid int32, at int64) int32 {
	a := actor{source, pid, 0}
	i, ok := l.of[a]
	if !ok {
		i = l.add(lane{actor: a, start: at})
		l.of[a] = i
	}
	return i
}

// thread returns the lane of a thread. The first thread of a process is in the process' lane.
func (l *lanes) thread(source, pid, tid int32, at int64) int32 {
	p := l.process(source, pid, at)
	if tid == 0 || tid == pid {
		return p
	}
	a := actor{source, pid, tid}
	i, ok := l.of[a]
	if !ok {
		i = l.add(lane{actor: a, kind: threadLane, name: "thread " + strconv.Itoa(int(tid)), start: at})
		l.of[a] = i
		l.nodes[i].parent = p
	}
	return i
}

// place gives each span its lane and depth. The spans are sorted by start, those that contain
// others first.
func (l *lanes) place(list []span) {
	byID := make(map[uint64]int32, len(list))
	for i := range list {
		x := &list[i]
		byID[x.id] = int32(i)
		if x.kind == analysis.Process {
			x.lane = l.process(x.source, x.pid, x.start)
			if n := &l.nodes[x.lane]; n.parent < 0 && x.parent != 0 {
				if p, ok := byID[x.parent]; ok && list[p].lane != x.lane {
					n.parent = l.processOf(list[p].lane)
				}
			}
		} else {
			x.lane = l.thread(x.source, x.pid, x.tid, x.start)
		}
		x.depth = l.nodes[x.lane].depth(x)
	}
}

// processOf returns the lane of the process of a lane.
func (l *lanes) processOf(i int32) int32 {
	if l.nodes[i].kind == threadLane {
		return l.nodes[i].parent
	}
	return i
}

// depth takes the first free place below the spans that contain x.
func (l *lane) depth(x *span) int32 {
	least := 0
	for d := len(l.rows) - 1; d >= 0; d-- {
		if l.rows[d] > x.start && l.rows[d] >= x.end {
			least = d + 1
			break
		}
	}
	for d := least; d < len(l.rows); d++ {
		if l.rows[d] <= x.start {
			l.rows[d] = x.end
			return int32(d)
		}
	}
	if len(l.rows) < maxDepth {
		l.rows = append(l.rows, x.end)
		return int32(len(l.rows) - 1)
	}
	x.flags |= overlaps
	l.rows[maxDepth-1] = max(l.rows[maxDepth-1], x.end)
	return maxDepth - 1
}

// arrange puts the lanes in order: children below their parents, by start.
func (l *lanes) arrange() {
	var roots []int32
	byStart := make([]int32, len(l.nodes))
	for i := range byStart {
		byStart[i] = int32(i)
	}
	slices.SortStableFunc(byStart, func(a, b int32) int {
		return cmp.Or(cmp.Compare(l.nodes[a].source, l.nodes[b].source), cmp.Compare(l.nodes[a].start, l.nodes[b].start))
	})
	l.cutCircles()
	for _, i := range slices.Backward(byStart) {
		n := &l.nodes[i]
		if n.parent < 0 {
			roots = append(roots, i)
			continue
		}
		p := &l.nodes[n.parent]
		n.next, p.child = p.child, i
	}
	l.order = l.order[:0]
	stack := roots
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		l.nodes[i].index = len(l.order)
		l.order = append(l.order, i)
		from := len(stack)
		for c := l.nodes[i].child; c >= 0; c = l.nodes[c].next {
			stack = append(stack, c)
		}
		slices.Reverse(stack[from:])
	}
}

// cutCircles makes roots of lanes that are above themselves, as in a log where a process id was
// used again.
func (l *lanes) cutCircles() {
	const (
		fresh = iota
		onPath
		done
	)
	state := make([]uint8, len(l.nodes))
	for i := range l.nodes {
		at := int32(i)
		var path []int32
		for at >= 0 && state[at] == fresh {
			state[at] = onPath
			path = append(path, at)
			if p := l.nodes[at].parent; p >= 0 && state[p] == onPath {
				l.nodes[at].parent = -1
			}
			at = l.nodes[at].parent
		}
		for _, p := range path {
			state[p] = done
		}
	}
}
