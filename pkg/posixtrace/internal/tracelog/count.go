package tracelog

import (
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// counting is how events are counted.
type counting uint8

const (
	undecided counting = iota
	byBlock
	inOrder
)

// Counts is the number of events of each type.
type Counts struct {
	Types  [event.Max]chunk.Count
	Events uint64 // of all types
	Max    uint64 // the time of the latest of them

	how  counting
	src  openBlock // the block that is being counted
	recs []chunk.Record
	hold Hold
}

// Count counts some of the events that Next would report, and returns false when there are no more.
// Without a selection of times, a log in a file is counted block by block, whatever the order of
// its events, as long as it is sound. The effect of damage depends on the order of blocks, so Count
// then restarts in that order. An error means that reading failed.
func (r *Reader) Count(c *Counts) (bool, error) {
	file, ok := r.src.(fileSource)
	if c.how == undecided {
		c.how = inOrder
		all := r.sel.min == 0 && r.sel.max == ^uint64(0)
		if ok && !r.bad && all && file.untouched() && len(r.ahead) == 0 {
			c.how = byBlock
		}
	}
	if c.how == byBlock {
		d, err := file.take(^uint64(0))
		if d == nil {
			return false, err
		}
		h, p, err := file.read(d, c.src.buf)
		if err == errReplaced {
			return true, nil
		}
		if err == nil {
			c.src.buf = p
			if r.countBlock(c, &h, p) {
				return true, nil
			}
		}
		c.clear()
		c.how = inOrder
		if err := r.Rewind(); err != nil {
			return false, err
		}
	}
	if c.recs == nil {
		c.recs = make([]chunk.Record, 512)
	}
	n, err := r.NextBatch(c.recs, &c.hold)
	for i := range c.recs[:n] {
		r.add(c, &c.recs[i])
	}
	return n > 0, err
}

func (c *Counts) clear() {
	c.Types, c.Events, c.Max = [event.Max]chunk.Count{}, 0, 0
}

// countBlock counts the events of a block whose checksum is right. If it returns false, the events
// are not what the header says and the counts are void.
func (r *Reader) countBlock(c *Counts, h *header, p []byte) bool {
	s := &c.src
	s.reset(h, p, r.super.LogFullPolicy == Loop)
	var rec chunk.Record
	total, first, latest := 0, ^uint64(0), uint64(0)
	for last := uint64(0); ; {
		if total > 0 {
			n := 0
			n, last = s.cur.Count(last)
			total += n
			latest = max(latest, last)
		}
		ok, err := s.cur.Next(&rec)
		if err != nil {
			return false
		}
		if !ok {
			break
		}
		last = rec.Tick
		first, latest = min(first, last), max(latest, last)
		total++
		r.add(c, &rec)
	}
	s.cur.Met(func(n *chunk.Count) { r.addCount(c, n) })
	return total == int(h.Count) && first >= h.Min && latest <= h.Max
}

// add counts an event.
func (r *Reader) add(c *Counts, rec *chunk.Record) {
	r.addCount(c, &chunk.Count{Event: rec.Event, Events: 1, Bytes: uint64(len(rec.Data)), Min: rec.Tick, Max: rec.Tick})
}

func (r *Reader) addCount(c *Counts, n *chunk.Count) {
	if r.sel.has(n.Event) {
		c.Types[n.Event].Add(n)
		c.Events += n.Events
		c.Max = max(c.Max, n.Max)
	}
}
