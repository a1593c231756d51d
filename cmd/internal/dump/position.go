package dump

import (
	"hash/fnv"
	"strconv"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// position is a place in the events of a stream or log: how far they were seen.
// The times of events nearly say it, but some have their time in common, in an order
// that may differ between a stream and its log, and some appear late, when
// others with a later time were seen: their writer was interrupted. So the latest
// events seen are known by what is in them.
type position struct {
	begun  bool
	time   int64         // of the latest event seen
	window time.Duration // how long before that an event may still appear

	floor int64          // what is before is known to have been seen
	seen  []mark         // what was seen since, roughly in order
	stale int            // of these, how many are before the floor
	left  map[mark]int32 // of that, what the present reader has not met yet
}

// mark tells an event from others.
type mark struct {
	time int64
	sum  uint64
}

const (
	// lateness is how late an event may appear in a stream that is followed.
	lateness = 20 * time.Millisecond
	// maxSeen bounds the events that are told apart. Where there are more the
	// window is shorter.
	maxSeen = 1 << 16
)

// again says that a reader begins anew.
func (p *position) again() {
	p.left = make(map[mark]int32, len(p.seen))
	for _, m := range p.seen[p.stale:] {
		p.left[m]++
	}
}

// passed reports whether an event was seen, and if so crosses it off.
func (p *position) passed(rec *posixtrace.Record) bool {
	switch {
	case !p.begun || rec.UnixNano > p.time:
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

// advance notes that an event was seen.
func (p *position) advance(rec *posixtrace.Record) {
	if !p.begun {
		p.begun, p.time = true, rec.UnixNano
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

// trim forgets what is before the floor.
func (p *position) trim() {
	for p.stale < len(p.seen) && p.seen[p.stale].time < p.floor {
		p.stale++
	}
	if p.stale >= (len(p.seen)+1)/2 {
		p.seen = append(p.seen[:0], p.seen[p.stale:]...)
		p.stale = 0
	}
}

// markOf makes the mark of an event: its time, and a number for all else that it says.
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
