package dump

import (
	"hash/fnv"
	"strconv"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// position is how far the events of a stream or log were seen. The time of the latest event
// almost determines it. But events may share a time, in an order that differs between a
// stream and its log, and events may appear late, if their writer was interrupted. So
// position also identifies the latest events seen by their contents.
type position struct {
	started bool
	time    int64         // of the latest event seen
	window  time.Duration // how late an event may appear

	floor int64          // all events before it were seen
	seen  []mark         // events seen since floor, roughly in order
	stale int            // how many of them are before floor
	left  map[mark]int32 // those that the current reader has not returned yet
}

// mark identifies an event.
type mark struct {
	time int64
	sum  uint64
}

const (
	// lateness is how late an event may appear in a followed stream.
	lateness = 20 * time.Millisecond
	// maxSeen bounds the number of marks. With more events the window is shorter.
	maxSeen = 1 << 16
)

// again prepares for a new reader.
func (p *position) again() {
	p.left = make(map[mark]int32, len(p.seen))
	for _, m := range p.seen[p.stale:] {
		p.left[m]++
	}
}

// passed reports whether an event was seen before, and counts it as returned.
func (p *position) passed(rec *posixtrace.Record) bool {
	switch {
	case !p.started || rec.UnixNano > p.time:
		return false
	case rec.UnixNano < p.floor:
		return true
	}
	m := markOf(rec)
	if p.left[m] == 0 {
		return false
	}
	p.left[m]--
	return true
}

// advance records that an event was seen.
func (p *position) advance(rec *posixtrace.Record) {
	if !p.started {
		p.started, p.time = true, rec.UnixNano
		p.floor = addTime(p.time, -int64(p.window))
	}
	if rec.UnixNano > p.time {
		p.time = rec.UnixNano
		p.floor = max(p.floor, addTime(p.time, -int64(p.window)))
		p.trim()
	}
	if rec.UnixNano < p.floor {
		return
	}
	if len(p.seen) == maxSeen {
		p.floor = max(p.floor, p.seen[maxSeen/2].time)
		p.trim()
	}
	if len(p.seen) < maxSeen {
		p.seen = append(p.seen, markOf(rec))
	}
}

// trim discards the marks before the floor.
func (p *position) trim() {
	for p.stale < len(p.seen) && p.seen[p.stale].time < p.floor {
		p.stale++
	}
	if p.stale >= (len(p.seen)+1)/2 {
		p.seen = append(p.seen[:0], p.seen[p.stale:]...)
		p.stale = 0
	}
}

// markOf returns the mark of an event: its time, and a hash of its other contents.
func markOf(rec *posixtrace.Record) mark {
	var b [96]byte
	head := b[:0]
	for _, v := range []uint64{uint64(rec.ID), uint64(rec.PID), uint64(rec.TID), rec.Address} {
		head = append(strconv.AppendUint(head, v, 16), ' ')
	}
	h := fnv.New64a()
	h.Write(head)
	h.Write(rec.Data)
	return mark{rec.UnixNano, h.Sum64()}
}
