//go:build linux

package hang

import "slices"

// settle finds the threads that no thread can wake, and those among them that wait for themselves.
func (w *world) settle() {
	for again := true; again; {
		again = false
		for _, t := range w.order {
			if !t.live && slices.ContainsFunc(t.on, func(o *thread) bool { return o.live }) {
				t.live, again = true, true
			}
		}
	}
	for _, t := range w.order {
		if t.Stuck = !t.live && !w.cut; !t.Stuck || !t.unowned { // else the others of its process are stuck, too
			continue
		}
		switch others := len(t.p.threads) - 1; {
		case others == 1:
			t.For += ", which waits, too"
		case others > 1:
			t.For += ", which all wait, too"
		}
	}
	w.cycles()
}

// cycles finds the strongly connected parts of the graph of stuck threads, by the algorithm of Tarjan. A wait
// of which it is not known who can end it makes no cycle.
func (w *world) cycles() {
	n := 0
	low := map[*thread]int{}
	var stack []*thread
	on := map[*thread]bool{}
	var visit func(t *thread)
	visit = func(t *thread) {
		n++
		t.rank, low[t] = n, n
		stack = append(stack, t)
		on[t] = true
		if !t.apart {
			for _, o := range t.on {
				if !o.Stuck {
					continue
				}
				if o.rank == 0 {
					visit(o)
					low[t] = min(low[t], low[o])
				} else if on[o] {
					low[t] = min(low[t], o.rank)
				}
			}
		}
		if low[t] != t.rank {
			return
		}
		for first := true; ; first = false {
			o := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			on[o] = false
			o.Cycle = !(first && o == t) || !t.apart && slices.Contains(t.on, t)
			if o == t {
				break
			}
		}
	}
	for _, t := range w.order {
		if t.Stuck && t.rank == 0 {
			visit(t)
		}
	}
}
