package analysis

// Work returns, for each of n parts of equal length of the time from the first to the last event, how
// many processes were at work in the mean: ran, and did not wait for a child.
func (t *Tree) Work(n int) []float64 {
	if n <= 0 || t.End <= t.Start {
		return make([]float64, max(n, 0))
	}
	w := work{start: t.Start, length: float64(length(t.Start, t.End)) / float64(n), parts: make([]float64, n+1), rates: make([]float64, n+1)}
	above := make([]int32, len(t.Nodes))   // the command around a node, or None
	covered := make([]int64, len(t.Nodes)) // until when children have run
	for i := range t.Nodes {
		nd := &t.Nodes[i]
		above[i] = None
		if p := nd.Parent; p != None {
			if above[i] = p; t.Nodes[p].Kind != Process {
				above[i] = above[p]
			}
		}
	}
	for _, i := range t.order {
		nd := &t.Nodes[i]
		if nd.Kind != Process {
			continue
		}
		w.add(nd.Start, nd.End, 1)
		covered[i] = nd.Start
		if p := above[i]; p != None {
			// Where the parent has a child that runs it waits.
			from, to := max(nd.Start, covered[p]), min(nd.End, t.Nodes[p].End)
			if from < to {
				w.add(from, to, -1)
				covered[p] = to
			}
		}
	}
	return w.result()
}

// work is a curve: for each part what is in it alone, and what changes from it on.
type work struct {
	start        int64
	length       float64 // of a part
	parts, rates []float64
}

// add adds processes that work from one moment to another.
func (w *work) add(from, to int64, count float64) {
	w.edge(from, count)
	w.edge(to, -count)
}

// edge changes the number of processes from a moment on.
func (w *work) edge(at int64, count float64) {
	x := float64(length(w.start, at)) / w.length
	i := int(min(x, float64(len(w.parts)-1)))
	w.parts[i] += count * (1 - min(x-float64(i), 1))
	if i+1 < len(w.rates) {
		w.rates[i+1] += count
	}
}

func (w *work) result() []float64 {
	n, sum := len(w.parts)-1, 0.0
	for i := range n {
		sum += w.rates[i]
		w.parts[i] = max(w.parts[i]+sum, 0)
	}
	return w.parts[:n]
}

// Own returns, for each node, its time without that of the nodes inside.
func (t *Tree) Own() []int64 {
	own := make([]int64, len(t.Nodes))
	covered := make([]int64, len(t.Nodes)) // until when a child has run
	for _, i := range t.order {
		n := &t.Nodes[i]
		own[i] += n.Duration()
		covered[i] = n.Start
		if p := n.Parent; p != None {
			from, to := max(n.Start, covered[p], t.Nodes[p].Start), min(n.End, t.Nodes[p].End)
			if from < to {
				own[p] -= length(from, to)
				covered[p] = to
			}
		}
	}
	for i := range own {
		own[i] = max(own[i], 0)
	}
	return own
}
