package tracelog

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

var errContent = errors.New("malformed event")

// openBlock is a block of events that is being read. It yields them in the order of their times.
type openBlock struct {
	cur    chunk.Cursor
	head   chunk.Record // the next event, if ready
	ready  bool         // head is decoded: Peek was not enough
	seq    uint64
	last   uint64 // time of its last event
	left   int    // events that are left; up to date only with sorted
	buf    []byte
	sorted []chunk.Record // all events, if times fall within the chunk
	use    bool           // sorted is in use
	lent   bool           // events of a batch point into buf
}

// reset goes to the first event of a block.
func (s *openBlock) reset(h *header, p []byte, joint bool) {
	if joint {
		s.cur.ResetJoint(p)
	} else {
		s.cur.Reset(p, h.Base)
	}
}

// load prepares the block to yield its events. If they are not what the header says, it returns an
// error; left is how many events it can yield. With maps, they have the notes on mappings.
func (s *openBlock) load(h *header, p []byte, joint, maps bool) error {
	s.cur.Maps = false
	s.reset(h, p, joint)
	sum, err := skim(&s.cur)
	s.seq, s.last, s.left, s.use, s.ready, s.lent = h.Seq, sum.Max, sum.Count, false, false, false
	if sum.Count > 0 && (sum.Min < h.Min || sum.Max > h.Max) {
		s.left = 0 // it would break the order
		return errContent
	}
	if err == nil && sum.Count != int(h.Count) {
		err = errContent
	}
	s.cur.Maps = maps
	s.reset(h, p[:sum.Sound], joint)
	if !sum.Sorted {
		s.use = true
		s.sorted = slices.Grow(s.sorted[:0], sum.Count)
		var rec chunk.Record
		for range sum.Count {
			s.cur.Next(&rec)
			s.sorted = append(s.sorted, rec)
		}
		slices.SortStableFunc(s.sorted, func(a, b chunk.Record) int {
			return cmp.Or(cmp.Compare(a.Tick, b.Tick), cmp.Compare(rank(a.Event), rank(b.Event)))
		})
	}
	return err
}

// peek returns the time of the next event, false at the end. load has decoded the whole chunk, so
// there can be no error.
func (s *openBlock) peek() (tick uint64, ok bool) {
	switch {
	case s.use:
		if s.left == 0 {
			return 0, false
		}
		return s.sorted[len(s.sorted)-s.left].Tick, true
	case s.ready:
		return s.head.Tick, true
	}
	if tick, _, ok := s.cur.Peek(); ok {
		return tick, true
	}
	s.ready, _ = s.cur.Next(&s.head)
	return s.head.Tick, s.ready
}

// rank returns the rank of the next event.
func (s *openBlock) rank() int {
	switch {
	case s.use:
		return rank(s.sorted[len(s.sorted)-s.left].Event)
	case s.ready:
		return rank(s.head.Event)
	}
	_, id, _ := s.cur.Peek()
	return rank(id)
}

// fill decodes the next events into recs: the first whatever its time, and then those before limit.
// It returns how many, and the time of the next one, false if there is none.
func (s *openBlock) fill(recs []chunk.Record, limit uint64) (n int, next uint64, more bool) {
	for {
		if !s.use && !s.ready {
			got, next, over := s.cur.Fill(recs[n:], n == 0, limit)
			if n += got; over {
				return n, next, true
			}
		}
		next, more = s.peek()
		if !more || n == len(recs) || n > 0 && next >= limit {
			return n, next, more
		}
		if s.use {
			recs[n] = s.sorted[len(s.sorted)-s.left]
			s.left--
			n++
		} else if s.ready {
			recs[n] = s.head
			s.ready = false
			n++
		}
	}
}

// node is a block in the heap, with its sort key: the time and rank of its next event, and the
// order in which blocks were written.
type node struct {
	tick, seq uint64
	s         *openBlock
}

func (a *node) before(b *node) bool {
	return a.tick < b.tick || a.tick == b.tick && a.precedes(b)
}

// precedes orders nodes of the same time.
func (a *node) precedes(b *node) bool {
	if r, s := a.s.rank(), b.s.rank(); r != s {
		return r < s
	}
	return a.seq < b.seq
}

// rank orders events of the same time: RESUME precedes an event of its time, which an earlier flush
// may have written.
func rank(id event.ID) int {
	if id == event.Resume {
		return 0
	}
	return 1
}

// merge merges open blocks. Each waits in the heap with the time of its next event, except the top
// one. While there is a top it is the heap's first: its events are read straight on as long as they
// are earlier than limit, and its node keeps an old time that still makes it the first. The next
// event to be reported is that of the top.
type merge struct {
	heap  []node
	top   *openBlock
	limit uint64
	far   uint64 // no block outside of the heap begins before
	free  []*openBlock
	held  int64 // bytes of the payloads in the heap
	hold  *Hold // keeps finished blocks while a batch is read
}

// newBlock returns a block to load.
func (m *merge) newBlock() *openBlock {
	if n := len(m.free); n > 0 {
		s := m.free[n-1]
		m.free = m.free[:n-1]
		return s
	}
	return new(openBlock)
}

// release takes a block back for reuse. It keeps few, however many were open at once, and none into
// which events of a batch still point.
func (m *merge) release(s *openBlock) {
	if len(m.free) < 64 && !s.lent {
		m.free = append(m.free, s)
	}
}

// add adds a loaded block. There must be no top.
func (m *merge) add(s *openBlock) {
	m.held += int64(cap(s.buf))
	tick, _ := s.peek()
	m.push(node{tick, s.seq, s})
}

// finish removes the top block, which is at its end.
func (m *merge) finish() {
	m.held -= int64(cap(m.top.buf))
	if m.hold != nil && m.top.lent {
		m.hold.add(m.top)
	} else {
		m.release(m.top)
	}
	m.top = nil
	n := len(m.heap) - 1
	m.heap[0], m.heap[n] = m.heap[n], node{}
	m.heap = m.heap[:n]
	m.down(0)
}

// yield puts the top block back into the heap, with the time of its next event.
func (m *merge) yield(next uint64) {
	m.heap[0].tick = next
	m.top = nil
	m.down(0)
}

// take makes the first block of the heap the top one. No block outside of the heap begins before
// far.
func (m *merge) take(far uint64) {
	m.top = m.heap[0].s
	limit := far
	for i := 1; i < len(m.heap) && i < 3; i++ {
		limit = min(limit, m.heap[i].tick)
	}
	m.limit, m.far = limit, far
}

// drop removes the blocks behind seq. There must be no top.
func (m *merge) drop(seq uint64) {
	kept := m.heap[:0]
	for _, n := range m.heap {
		if n.seq <= seq {
			kept = append(kept, n)
		}
	}
	clear(m.heap[len(kept):])
	m.heap = kept
	for i := len(kept)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
}

func (m *merge) reset() {
	for _, n := range m.heap {
		m.release(n.s)
	}
	m.heap, m.top, m.held = m.heap[:0], nil, 0
}

func (m *merge) push(n node) {
	m.heap = append(m.heap, n)
	h := m.heap
	for i := len(h) - 1; i > 0; {
		p := (i - 1) / 2
		if !h[i].before(&h[p]) {
			break
		}
		h[i], h[p] = h[p], h[i]
		i = p
	}
}

func (m *merge) down(i int) {
	h := m.heap
	if i >= len(h) {
		return
	}
	n := h[i]
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1].before(&h[c]) {
			c++
		}
		if !h[c].before(&n) {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = n
}

// first returns the time of the first event in the heap, the greatest there is if the heap is empty.
func (m *merge) first() uint64 {
	if len(m.heap) == 0 {
		return math.MaxUint64
	}
	return m.heap[0].tick
}

// newest returns the time of the last event in the heap.
func (m *merge) newest() uint64 {
	t := uint64(0)
	for _, n := range m.heap {
		t = max(t, n.s.last)
	}
	return t
}
