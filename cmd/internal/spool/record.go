package spool

import (
	"bytes"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// batchAddress marks the events of a batch. No program has this address, nor has one
// of an event whose time is coarse (posixtrace.CoarseAddress).
func batchAddress(gen, offset int64) uint64 {
	return posixtrace.SpoolAddress | uint64(gen)&(1<<22-1)<<40 | uint64(offset)&(1<<40-1)
}

// split takes a batch apart; a line that is no event has no name.
func (t *Taker) split(b []byte) {
	t.lines = t.lines[:0]
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		l, ok := parse(b[:i])
		if !ok || i >= MaxLine {
			l = line{lost: max(l.lost, 1)}
		}
		l.end = i + 1
		if n := len(t.lines); n > 0 {
			l.end += t.lines[n-1].end
		}
		t.lines = append(t.lines, l)
		b = b[i+1:]
	}
}

// clockSet is the least by which a system's clock is set that is worth a
// correction: less is the pace of the two clocks, or our own.
const clockSet = 10 * time.Millisecond

// wallClock is the system's clock; tests set it.
var wallClock = time.Now

// batch records the lines in b, which are whole.
func (t *Taker) batch(gen int64, done *int64, b []byte) error {
	n := len(b)
	t.split(b)
	// Should the system's clock have been set since the stream was created, the
	// stream's has not.
	now := t.rec.Now()
	set := now - wallClock().UnixNano()
	if max(set, -set) < int64(clockSet) {
		set = 0
	}
	t.st.tryGen, t.st.tryEnd, t.st.since = gen, *done+int64(n), now
	t.date(now, set, *done)
	for i := range t.lines {
		t.st.since = min(t.st.since, t.lines[i].nanos)
	}
	if err := t.save(); err != nil {
		return err
	}
	address := batchAddress(gen, *done)
	for i := range t.lines {
		t.record(&t.lines[i], address)
	}
	t.st.tryGen, t.st.tryEnd, t.st.since = 0, 0, 0
	t.st.floor = max(t.st.floor, t.lines[len(t.lines)-1].nanos)
	if err := t.forward(done, n); err != nil {
		return err
	}
	if t.owing += int64(n); t.foreign && t.owing > t.attr.StreamSize/4 {
		// The stream must not become full before its owner comes to look.
		t.owing = 0
		t.s.Flush()
	}
	return nil
}

func (t *Taker) record(l *line, address uint64) {
	if l.name == nil {
		t.lose(l.lost)
		return
	}
	id, ok := t.ids[string(l.name)]
	if !ok {
		var err error
		id, err = t.s.EventID(string(l.name))
		if err != nil {
			id = 0
		}
		if t.ids == nil || len(t.ids) >= posixtrace.UserEventMax {
			t.ids = map[string]posixtrace.EventID{}
		}
		t.ids[string(l.name)] = id
	}
	if id == 0 || id.System() {
		t.lose(1)
		return
	}
	if l.coarse {
		address |= posixtrace.CoarseAddress
	}
	t.rec.Record(posixtrace.EventInfo{ID: id, PID: l.pid, TID: l.pid, UnixNano: l.nanos, Address: address, Span: l.span, Parent: l.parent}, l.data)
}
