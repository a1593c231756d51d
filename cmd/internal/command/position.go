package command

import (
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// position is a place in the events of a stream or log: the time of the latest
// event seen, and which events of that very time were. Their order among each
// other may differ between a stream and its log, so they are known by what is in
// them.
type position struct {
	begun bool
	time  int64
	seen  []uint64 // sums of the events of that time
	left  []uint64 // of them, those that the present reader has not met yet
}

// maxSeen bounds the events of one nanosecond that are told apart. Where there
// are more some may be seen twice, none is missed.
const maxSeen = 4096

// again says that a reader begins anew.
func (p *position) again() { p.left = append(p.left[:0], p.seen...) }

// passed reports whether an event is at or before the position.
func (p *position) passed(rec *posixtrace.Record) bool {
	if !p.begun || rec.UnixNano > p.time {
		return false
	}
	if rec.UnixNano < p.time {
		return true
	}
	i := slices.Index(p.left, sumOf(rec))
	if i < 0 {
		return false
	}
	p.left = slices.Delete(p.left, i, i+1)
	return true
}

// advance puts the position behind an event.
func (p *position) advance(rec *posixtrace.Record) {
	switch {
	case !p.begun || rec.UnixNano > p.time:
		p.begun, p.time, p.seen, p.left = true, rec.UnixNano, p.seen[:0], p.left[:0]
	case rec.UnixNano < p.time:
		return
	}
	if len(p.seen) < maxSeen {
		p.seen = append(p.seen, sumOf(rec))
	}
}

// sumOf is a number for what an event says beside its time.
func sumOf(rec *posixtrace.Record) uint64 {
	var b [96]byte
	head := b[:0]
	for _, v := range []uint64{uint64(rec.ID), uint64(rec.PID), uint64(rec.TID), rec.Address} {
		head = append(strconv.AppendUint(head, v, 16), ' ')
	}
	h := fnv.New64a()
	h.Write(head)
	h.Write(rec.Data)
	return h.Sum64()
}
