package tracelog

import (
	"cmp"
	"errors"
	"slices"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

var errContent = errors.New("events contradict the header")

// source is an open block of events. It yields them in the order of their
// times.
type source struct {
	cur    chunk.Cursor
	head   chunk.Record // the next event, while in the heap
	seq    uint64
	last   uint64 // time of its last event
	left   int    // events that it still yields; kept up to date only with sorted
	buf    []byte
	sorted []chunk.Record // when times fall within the chunk
	use    bool           // sorted is in use
}

// load gets the source ready to yield the events of a block. If they are not
// what they should be, the error tells, and left how many can be had.
func (s *source) load(h *header, p []byte) error {
	sum, err := Summarize(&s.cur, p, h.Base)
	s.seq, s.last, s.left, s.use = h.Seq, sum.Max, sum.Count, false
	if sum.Count > 0 && (sum.Min < h.Min || sum.Max > h.Max) {
		s.left = 0 // in the wrong place of the order
		return errContent
	}
	if err == nil && sum.Count != int(h.Count) {
		err = errContent
	}
	s.cur.Reset(p[:sum.Sound], h.Base)
	if !sum.Sorted {
		s.use = true
		s.sorted = s.sorted[:0]
		var rec chunk.Record
		for range sum.Count {
			s.cur.Next(&rec)
			s.sorted = append(s.sorted, rec)
		}
		slices.SortStableFunc(s.sorted, func(a, b chunk.Record) int { return cmp.Compare(a.Tick, b.Tick) })
	}
	return err
}

// next decodes the next event. The whole chunk has been decoded before, so it
// cannot fail other than by reaching the end.
func (s *source) next(rec *chunk.Record) bool {
	if s.use {
		if s.left == 0 {
			return false
		}
		*rec = s.sorted[len(s.sorted)-s.left]
		s.left--
		return true
	}
	ok, _ := s.cur.Next(rec)
	return ok
}

// before orders sources by the times of their heads, then as they were written.
func (s *source) before(t *source) bool {
	return s.head.Tick < t.head.Tick || s.head.Tick == t.head.Tick && s.seq < t.seq
}

// merge merges open blocks: a heap of those whose next event waits in head, and
// the top one, which is read straight on while it stays below limit.
type merge struct {
	heap  []*source
	top   *source
	limit uint64
	free  []*source
	held  int64 // bytes of the payloads in sources that were added
}

// source returns a source to load a block into.
func (m *merge) source() *source {
	if n := len(m.free); n > 0 {
		s := m.free[n-1]
		m.free = m.free[:n-1]
		return s
	}
	return new(source)
}

// release takes a source back. Few are kept, however many were open at once.
func (m *merge) release(s *source) {
	if len(m.free) < 64 {
		m.free = append(m.free, s)
	}
}

// add puts a loaded source into the heap.
func (m *merge) add(s *source) {
	m.held += int64(cap(s.buf))
	s.next(&s.head)
	m.push(s)
}

// finish is called when the top source is at its end.
func (m *merge) finish() {
	m.held -= int64(cap(m.top.buf))
	m.release(m.top)
	m.top = nil
}

// yield puts the top source back into the heap with the event just decoded.
func (m *merge) yield(rec *chunk.Record) {
	m.top.head = *rec
	m.push(m.top)
	m.top = nil
}

// take makes the first source of the heap the top one and moves its event to
// rec. The top source may go on below limit.
func (m *merge) take(rec *chunk.Record, limit uint64) {
	m.top = m.pop()
	*rec = m.top.head
	m.limit = limit
	if len(m.heap) > 0 {
		m.limit = min(limit, m.heap[0].head.Tick)
	}
}

// drop takes out the sources of blocks behind seq.
func (m *merge) drop(seq uint64) {
	kept := m.heap[:0]
	for _, s := range m.heap {
		if s.seq <= seq {
			kept = append(kept, s)
		}
	}
	clear(m.heap[len(kept):])
	m.heap = kept
	for i := len(kept)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
}

func (m *merge) reset() {
	if m.top != nil {
		m.finish()
	}
	for _, s := range m.heap {
		m.release(s)
	}
	m.heap, m.held = m.heap[:0], 0
}

func (m *merge) push(s *source) {
	m.heap = append(m.heap, s)
	h := m.heap
	for i := len(h) - 1; i > 0; {
		p := (i - 1) / 2
		if !h[i].before(h[p]) {
			break
		}
		h[i], h[p] = h[p], h[i]
		i = p
	}
}

func (m *merge) pop() *source {
	h := m.heap
	s, n := h[0], len(h)-1
	h[0], h[n] = h[n], nil
	m.heap = h[:n]
	m.down(0)
	return s
}

func (m *merge) down(i int) {
	h := m.heap
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

// newest returns the time of the last event in the heap.
func (m *merge) newest() uint64 {
	t := uint64(0)
	for _, s := range m.heap {
		t = max(t, s.last)
	}
	return t
}
