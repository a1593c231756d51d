package tracelog

import "github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"

// Hold keeps the payloads that the events of one call of NextBatch point into.
type Hold struct {
	done  []*openBlock // finished blocks
	bytes int64        // of their payloads
}

// maxBatch bounds the payloads that are kept: blocks may have few events each.
const maxBatch = 256 << 10

func (h *Hold) add(s *openBlock) {
	h.done = append(h.done, s)
	h.bytes += int64(cap(s.buf))
}

// NextBatch decodes the next events into recs and returns how many, 0 at the end of the sound part
// of the log or with an error; see Next. It returns fewer than fit rather than wait for a log that
// is read forward. The data of the events is valid until h, or that of a later batch, is used
// again; the data of events that Next has read ahead until Next is called.
func (r *Reader) NextBatch(recs []chunk.Record, h *Hold) (n int, err error) {
	if n = copy(recs, r.ahead); n > 0 {
		r.ahead = r.ahead[n:]
		return n, nil
	}
	m := &r.merge
	h.release(m)
	m.hold = h
	for n < len(recs) && (n == 0 || h.bytes < maxBatch) {
		if m.top == nil {
			if r.err != nil {
				err = r.err
				break
			}
			var more bool
			if more, err = r.advance(n == 0); !more || err != nil {
				break
			}
		}
		got, next, more := m.top.fill(recs[n:], m.limit)
		n += r.lend(recs[n : n+got])
		switch {
		case !more:
			m.finish()
		case next >= m.limit:
			if m.yield(next); next < m.far {
				m.take(m.far)
			}
		}
	}
	m.hold = nil
	if n > 0 {
		err = nil // the next call returns it
	}
	return n, err
}

// release releases the payloads.
func (h *Hold) release(m *merge) {
	for i, s := range h.done {
		s.lent = false
		m.release(s)
		h.done[i] = nil
	}
	h.done, h.bytes = h.done[:0], 0
}

// lend moves the selected events of the top block to the front and returns how many there are.
func (r *Reader) lend(recs []chunk.Record) (n int) {
	if n = len(recs); r.sel.narrow {
		n = r.sel.filter(recs)
	}
	if n > 0 && !r.merge.top.lent {
		r.merge.top.lent = true
	}
	return n
}
