package output

import "bytes"

// queue is a ring that grows to a limit.
type queue[T any] struct {
	ring  []T
	start int // index of the first element
	count int
}

// push appends an element, which has an old value.
func (q *queue[T]) push(limit int) *T {
	if q.count == len(q.ring) {
		grown := make([]T, max(64, len(q.ring)+1, min(2*len(q.ring), limit)))
		n := copy(grown, q.ring[q.start:])
		copy(grown[n:], q.ring[:q.start])
		q.ring, q.start = grown, 0
	}
	q.count++
	return q.last()
}

func (q *queue[T]) first() *T { return &q.ring[q.start] }

func (q *queue[T]) last() *T {
	i := q.start + q.count - 1
	if i >= len(q.ring) {
		i -= len(q.ring)
	}
	return &q.ring[i]
}

// pop removes the first element.
func (q *queue[T]) pop() {
	if q.start++; q.start == len(q.ring) {
		q.start = 0
	}
	q.count--
}

// dataBlocks holds the data of the elements of a queue, in blocks that are used again.
type dataBlocks struct {
	block *dataBlock // the latest; used bytes of it are in use
	used  int
	spare []*dataBlock
}

// dataBlock is a block, large enough to make allocations rare.
type dataBlock [64 << 10]byte

// keep returns a copy of the data of the next element. If full is not nil, it is a block that has
// data of earlier elements only; the caller passes it to reuse when they are gone.
func (d *dataBlocks) keep(data []byte) (kept []byte, full *dataBlock) {
	if d.block == nil || len(data) > len(d.block)-d.used {
		if len(data) > len(d.block)/8 {
			return bytes.Clone(data), nil
		}
		full, d.used = d.block, 0
		if n := len(d.spare); n > 0 {
			d.block, d.spare = d.spare[n-1], d.spare[:n-1]
		} else {
			d.block = new(dataBlock)
		}
	}
	kept = d.block[d.used : d.used+copy(d.block[d.used:], data)]
	d.used += len(kept)
	return kept, full
}

// reuse takes back a block, which may be nil.
func (d *dataBlocks) reuse(full *dataBlock) {
	if full != nil {
		d.spare = append(d.spare, full)
	}
}
