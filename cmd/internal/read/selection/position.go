// Which events of a stream or log were seen, for readers that read it again and again.

package selection

import (
	"hash/fnv"
	"math"
	"strconv"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Position is how far the events of a stream or log were seen. The time of the latest event
// almost determines it. But events may share a time, in an order that differs between a
// stream and its log, and events may appear late, if their writer was interrupted. So
// Position also identifies the latest events seen by their contents.
type Position struct {
	Started bool
	Time    int64         // of the latest event seen
	Window  time.Duration // how late an event may appear

	Floor int64          // all events before it were seen
	Seen  []Mark         // events seen since Floor, roughly in order
	stale int            // how many of them are before Floor
	left  map[Mark]int32 // those that the current reader has not returned yet
}

// Mark identifies an event: its time, and a hash of its other contents.
type Mark struct {
	Time int64
	Sum  uint64
}

const (
	// Lateness is how late an event may appear in a followed stream.
	Lateness = 20 * time.Millisecond
	// maxSeen bounds the number of marks. With more events the window is shorter.
	maxSeen = 1 << 16
)

// Again prepares for a new reader.
func (p *Position) Again() {
	p.left = make(map[Mark]int32, len(p.Seen))
	for _, m := range p.Seen[p.stale:] {
		p.left[m]++
	}
}

// Passed reports whether an event was seen before, and counts it as returned.
func (p *Position) Passed(rec *posixtrace.Record) bool {
	switch {
	case !p.Started || rec.UnixNano > p.Time:
		return false
	case rec.UnixNano < p.Floor:
		return true
	}
	m := markOf(rec)
	if p.left[m] == 0 {
		return false
	}
	p.left[m]--
	return true
}

// Advance records that an event was seen.
func (p *Position) Advance(rec *posixtrace.Record) {
	if !p.Started {
		p.Started, p.Time = true, rec.UnixNano
		p.Floor = p.early()
	}
	if rec.UnixNano > p.Time {
		p.Time = rec.UnixNano
		p.Floor = max(p.Floor, p.early())
		p.trim()
	}
	if rec.UnixNano < p.Floor {
		return
	}
	if len(p.Seen) == maxSeen {
		p.Floor = max(p.Floor, p.Seen[maxSeen/2].Time)
		p.trim()
	}
	if len(p.Seen) < maxSeen {
		p.Seen = append(p.Seen, markOf(rec))
	}
}

// early returns the earliest time of an event that is not too late.
func (p *Position) early() int64 {
	if t := p.Time - int64(p.Window); t <= p.Time {
		return t
	}
	return math.MinInt64
}

// trim discards the marks before the floor.
func (p *Position) trim() {
	for p.stale < len(p.Seen) && p.Seen[p.stale].Time < p.Floor {
		p.stale++
	}
	if p.stale >= (len(p.Seen)+1)/2 {
		p.Seen = append(p.Seen[:0], p.Seen[p.stale:]...)
		p.stale = 0
	}
}

// markOf returns the mark of an event: its time, and a hash of its other contents.
func markOf(rec *posixtrace.Record) Mark {
	var b [96]byte
	head := b[:0]
	for _, v := range []uint64{uint64(rec.ID), uint64(rec.PID), uint64(rec.TID), rec.Address} {
		head = append(strconv.AppendUint(head, v, 16), ' ')
	}
	h := fnv.New64a()
	h.Write(head)
	h.Write(rec.Data)
	return Mark{rec.UnixNano, h.Sum64()}
}
