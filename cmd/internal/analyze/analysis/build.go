package analysis

import (
	"cmp"
	"slices"
)

const (
	// MaxNodes is the greatest number of nodes that is useful.
	MaxNodes = 1 << 20
	// maxText bounds the data of all nodes.
	maxText = 64 << 20
)

// Builder builds a tree. Its method Add is an analysis.Limits.Each.
type Builder struct {
	// Last is a kind that is left out last. The zero value, that of commands, means nothing.
	Last Kind

	limit   int
	nodes   []Node
	text    int // bytes of data
	data    map[string][]byte
	block   []byte
	labels  *Labels
	omitted map[uint64]*omitted // by parent
}

// omitted counts the intervals inside of another that are left out.
type omitted struct{ count, longest, time int64 }

// NewBuilder returns the builder of a tree of about limit nodes at most, which is at most MaxNodes.
// Beyond them it leaves out the shortest intervals that have none inside.
func NewBuilder(limit int) *Builder {
	return &Builder{limit: min(max(limit, 1), MaxNodes), data: map[string][]byte{}, labels: NewLabels(), omitted: map[uint64]*omitted{}}
}

// Expect makes room for n intervals.
func (b *Builder) Expect(n uint64) {
	b.nodes = slices.Grow(b.nodes, int(min(n, uint64(b.limit+b.limit/2+1))))
}

// maxShared bounds the number of texts that nodes share.
const maxShared = 1 << 12

// Add adds an interval.
func (b *Builder) Add(iv *Interval) {
	if len(b.nodes) >= b.limit+b.limit/2+1 || b.text >= maxText {
		b.prune()
	}
	b.nodes = append(b.nodes, Node{
		Start: iv.Start, End: iv.End, Parent: None, First: None, Next: None,
		Source: int32(iv.Source), PID: int32(iv.PID), TID: int32(iv.TID), Status: int32(iv.Status), Signal: int16(iv.Signal), Errno: int16(iv.Errno),
		Kind: iv.Kind, State: iv.State, Failed: iv.Failed, Overlaps: iv.Overlaps, Forked: iv.Forked,
		CPU: iv.CPU, Memory: iv.Memory, Delay: iv.Delay, Name: iv.Name, Error: string(iv.Error), data: b.keep(iv.Data), fate: iv.Fate, id: iv.ID, parent: iv.Parent,
	})
	b.text += len(iv.Error)
	if iv.Kind == Process && len(iv.Data) > 0 {
		b.labels.Add(iv.Data)
	}
}

// keep returns a copy of data. Nodes with the same data may share it.
func (b *Builder) keep(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	if d, ok := b.data[string(data)]; ok {
		return d
	}
	if len(data) > cap(b.block)-len(b.block) {
		b.block = make([]byte, 0, max(1<<16, len(data)))
	}
	n := len(b.block)
	b.block = append(b.block, data...)
	d := b.block[n:len(b.block):len(b.block)]
	b.text += len(d)
	if len(b.data) < maxShared && len(d) <= MaxSpanData {
		b.data[string(d)] = d
	}
	return d
}

// Tree returns the tree of all intervals that were added. No intervals follow. a is the analysis,
// which is finished.
func (b *Builder) Tree(a *Analysis) *Tree {
	if len(b.nodes) > b.limit {
		b.prune()
	}
	b.sort()
	t := &Tree{Nodes: b.nodes, First: None, Start: a.First, End: a.Last, labels: b.labels}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		n.Parent = t.around(n, t.find(n.parent, i))
		n.Tolerated = n.Failed && n.fate.Tolerated()
		if o := b.omitted[n.id]; o != nil {
			n.Omitted, n.OmittedLongest, n.OmittedTime = o.count, o.longest, o.time
		}
	}
	for _, o := range b.omitted {
		t.Omitted += o.count
	}
	t.limit(a)
	t.link()
	*b = Builder{}
	return t
}

// limit marks what a time limit ended.
func (t *Tree) limit(a *Analysis) {
	if len(a.Timeouts()) == 0 {
		return
	}
	runs := map[int]*Run{}
	for _, r := range a.Runs() {
		runs[r.Command.Source] = r
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		limit, r := a.Timeout(int(n.Source)), runs[int(n.Source)]
		switch {
		case limit == nil || n.Kind == CallKind || n.State == Replaced:
		case r != nil && n.Kind == Process && int(n.PID) == r.PID && n.Start >= r.Start && n.Parent == None:
			n.TimedOut, n.Failed, n.Limit = true, true, limit.Limit
		case n.State == Ended && n.Signal == 0, n.Start > limit.At:
		default:
			n.TimedOut = n.State != Ended || n.End >= limit.At
		}
	}
}

// maxClimb bounds how far out around looks.
const maxClimb = 64

// around returns the node around another, which is inside of p. A span that goes on after the one
// around it is inside what goes on, too.
func (t *Tree) around(n *Node, p int32) int32 {
	if n.Kind != SpanKind {
		return p
	}
	for climbed := 0; p != None && climbed < maxClimb; climbed++ {
		o := &t.Nodes[p]
		if o.Kind != SpanKind || o.State != Ended || length(o.End, n.End) <= slack {
			break
		}
		p = o.Parent
	}
	return p
}

// sort sorts the nodes by ID. They are large: each moves once.
func (b *Builder) sort() {
	order := make([]int32, len(b.nodes))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(x, y int32) int { return cmp.Compare(b.nodes[x].id, b.nodes[y].id) })
	for i := range order {
		if order[i] < 0 {
			continue
		}
		first := b.nodes[i]
		at := i
		for int(order[at]) != i {
			from := int(order[at])
			b.nodes[at], order[at] = b.nodes[from], -1
			at = from
		}
		b.nodes[at], order[at] = first, -1
	}
}

// find returns the node of an ID before another node, or None.
func (t *Tree) find(id uint64, before int) int32 {
	low, high := 0, before
	for low < high {
		if i := (low + high) / 2; t.Nodes[i].id < id {
			low = i + 1
		} else {
			high = i
		}
	}
	if low == before || t.Nodes[low].id != id {
		return None
	}
	return int32(low)
}

// link makes lists of siblings in the order of their start.
func (t *Tree) link() {
	order := make([]int32, len(t.Nodes))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(x, y int32) int { return cmp.Compare(t.Nodes[x].Start, t.Nodes[y].Start) })
	for _, c := range slices.Backward(order) {
		head := &t.First
		if p := t.Nodes[c].Parent; p != None {
			head = &t.Nodes[p].First
		}
		t.Nodes[c].Next, *head = *head, c
	}
	t.order = order
}
