package output

import "bytes"

// queue is a queue in parts, so that it grows without copies. Parts are used again.
type queue[T any] struct {
	head, tail *queuePart[T] // of the first and the last element
	start      int           // index of the first element in head
	end        int           // index behind the last element in tail
	count      int
	spare      *queuePart[T]
}

type queuePart[T any] struct {
	next     *queuePart[T]
	elements [queuePartSize]T
}

const queuePartSize = 256

// push appends an element, which has an old value. Its address stays until it is removed.
func (q *queue[T]) push() *T {
	if q.tail == nil || q.end == queuePartSize {
		p := q.spare
		if p != nil {
			q.spare, p.next = p.next, nil
		} else {
			p = new(queuePart[T])
		}
		if q.tail == nil {
			q.head = p
		} else {
			q.tail.next = p
		}
		q.tail, q.end = p, 0
	}
	q.end++
	q.count++
	return q.last()
}

func (q *queue[T]) first() *T { return &q.head.elements[q.start] }

func (q *queue[T]) last() *T { return &q.tail.elements[q.end-1] }

// pop removes the first element.
func (q *queue[T]) pop() {
	q.count--
	if q.start++; q.start < queuePartSize {
		return
	}
	p := q.head
	if q.head, q.start = p.next, 0; q.head == nil {
		q.tail = nil
	}
	p.next, q.spare = q.spare, p
}

// dataBlocks holds the data of the elements of a queue, in blocks that are used again.
type dataBlocks struct {
	block *dataBlock // the latest; used bytes of it are in use
	used  int
	full  queue[*dataBlock] // those before it that are in use
	spare []*dataBlock
}

// dataBlock is a block, large enough to make allocations rare.
type dataBlock [64 << 10]byte

// keep returns a copy of the data of the next element. If it begins a block, the one before has data
// of earlier elements only; the caller calls reuse when they are gone.
func (d *dataBlocks) keep(data []byte) (kept []byte, begins bool) {
	if d.block == nil || len(data) > len(d.block)-d.used {
		if len(data) > len(d.block)/8 {
			return bytes.Clone(data), false
		}
		if d.used, begins = 0, d.block != nil; begins {
			*d.full.push() = d.block
		}
		if n := len(d.spare); n > 0 {
			d.block, d.spare = d.spare[n-1], d.spare[:n-1]
		} else {
			d.block = new(dataBlock)
		}
	}
	kept = d.block[d.used : d.used+copy(d.block[d.used:], data)]
	d.used += len(kept)
	return kept, begins
}

// reuse takes back the oldest block.
func (d *dataBlocks) reuse() {
	d.spare = append(d.spare, *d.full.first())
	d.full.pop()
}
