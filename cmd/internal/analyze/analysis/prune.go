package analysis

import (
	"bytes"
	"slices"
)

// prune leaves out intervals until the limit is kept, and at least half of the text if that is why.
// An interval that contains others stays longer than they. What failed goes last.
func (b *Builder) prune() {
	want := min(b.limit, len(b.nodes))
	if b.text >= maxText {
		want = min(want, len(b.nodes)/2)
	}
	for len(b.nodes) > want {
		b.pruneLeaves(len(b.nodes) - want)
	}
	b.compact()
}

// pruneLeaves leaves out n intervals that have none inside, or all of these if there are fewer.
func (b *Builder) pruneLeaves(n int) {
	parents := make(map[uint64]struct{}, len(b.nodes)/4)
	for i := range b.nodes {
		parents[b.nodes[i].parent] = struct{}{}
	}
	var keys []int64
	leaf := func(nd *Node) bool { _, ok := parents[nd.id]; return !ok }
	for i := range b.nodes {
		if nd := &b.nodes[i]; leaf(nd) {
			keys = append(keys, b.weight(nd))
		}
	}
	slices.Sort(keys)
	n = min(n, len(keys))
	most := keys[n-1] // the greatest weight that goes
	below, _ := slices.BinarySearch(keys, most)
	equal := n - below // how many of that weight go
	b.nodes = slices.DeleteFunc(b.nodes, func(nd Node) bool {
		if w := b.weight(&nd); w > most || !leaf(&nd) {
			return false
		} else if w == most {
			if equal == 0 {
				return false
			}
			equal--
		}
		b.omit(&nd)
		return true
	})
}

// weight orders the intervals to leave out.
func (b *Builder) weight(n *Node) int64 {
	d := min(n.Duration(), 1<<61-1)
	if n.Failed {
		d += 1 << 61
	}
	if b.Last != 0 && n.Kind == b.Last {
		d += 1 << 62
	}
	return d
}

// omit counts an interval, with those left out inside, at its parent.
func (b *Builder) omit(n *Node) {
	o := b.omitted[n.parent]
	if o == nil {
		o = &omitted{}
		b.omitted[n.parent] = o
	}
	o.count++
	o.longest = max(o.longest, n.Duration())
	o.time = plus(o.time, n.Duration())
	if in := b.omitted[n.id]; in != nil {
		o.count += in.count
		delete(b.omitted, n.id)
	}
}

// compact frees the text of intervals that are left out.
func (b *Builder) compact() {
	b.text, b.block = 0, nil
	shared := b.data
	b.data = map[string][]byte{}
	for i := range b.nodes {
		n := &b.nodes[i]
		b.text += len(n.Error)
		if _, ok := shared[string(n.data)]; ok {
			n.data = b.keep(n.data)
			continue
		}
		n.data = bytes.Clone(n.data)
		b.text += len(n.data)
	}
}

// plus adds durations, none below 0.
func plus(a, b int64) int64 { return int64(min(uint64(a)+uint64(b), 1<<63-1)) }
