package dump

import (
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// lastEvents is a ring of the last events.
type lastEvents struct {
	keep int
	ring []keptEvent
	at   int // index of the oldest event, once the ring is full
}

type keptEvent struct {
	in   *input
	rec  posixtrace.Record
	base int64
	end  *output.Ended
}

func (l *lastEvents) push(ev *selected) {
	var k *keptEvent
	switch {
	case l.keep == 0:
		return
	case len(l.ring) < l.keep:
		l.ring = append(l.ring, keptEvent{})
		k = &l.ring[len(l.ring)-1]
	default:
		k = &l.ring[l.at]
		l.at = (l.at + 1) % l.keep
	}
	k.in, k.base, k.end, k.rec.EventInfo = ev.in, ev.base, ev.end, ev.rec.EventInfo
	k.rec.Data = append(k.rec.Data[:0], ev.rec.Data...)
}

// each calls f for the events in the ring, oldest first, until f returns false.
func (l *lastEvents) each(f func(ev *selected) bool) {
	for i := range l.ring {
		k := &l.ring[(l.at+i)%len(l.ring)]
		if !f(&selected{in: k.in, rec: &k.rec, base: k.base, end: k.end, wanted: true}) {
			return
		}
	}
}
