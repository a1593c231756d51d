package analysis

import (
	"cmp"
	"slices"
)

// top keeps the entries with the greatest keys; of equal ones the first.
type top[T any] struct {
	keep int
	seen uint64
	heap []entry[T] // the entry to be replaced next is the first
}

type entry[T any] struct {
	key   int64
	order uint64
	value T
}

func (e *entry[T]) below(o *entry[T]) bool {
	return e.key < o.key || e.key == o.key && e.order > o.order
}

// add returns where to store the value of a key, or nil if the key is too small. The place may
// hold an earlier value, whose memory the caller may use again.
func (t *top[T]) add(key int64) *T {
	t.seen++
	if len(t.heap) < t.keep {
		t.heap = append(t.heap, entry[T]{key: key, order: t.seen})
		i := len(t.heap) - 1
		for i > 0 && t.heap[i].below(&t.heap[(i-1)/2]) {
			t.heap[i], t.heap[(i-1)/2] = t.heap[(i-1)/2], t.heap[i]
			i = (i - 1) / 2
		}
		return &t.heap[i].value
	}
	if t.keep <= 0 || key <= t.heap[0].key {
		return nil
	}
	i, h := 0, t.heap
	h[0].key, h[0].order = key, t.seen
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1].below(&h[c]) {
			c++
		}
		if !h[c].below(&h[i]) {
			break
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
	return &h[i].value
}

// sorted returns the values, that of the greatest key first.
func (t *top[T]) sorted() []*T {
	entries := make([]*entry[T], len(t.heap))
	for i := range t.heap {
		entries[i] = &t.heap[i]
	}
	slices.SortFunc(entries, func(a, b *entry[T]) int {
		return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(a.order, b.order))
	})
	list := make([]*T, len(entries))
	for i, e := range entries {
		list[i] = &e.value
	}
	return list
}
