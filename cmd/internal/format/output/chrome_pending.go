package output

import (
	"bytes"
	"container/heap"
)

// pendingEvents has the encoded events that Chrome keeps back. It yields them by their times. Of
// slices that start at the same time the longest comes first, since it is the outer one.
//
// Most events come in this order. They are in a queue; the others are in a heap.
type pendingEvents struct {
	queue  queue[pendingEvent]
	blocks dataBlocks // the text of those in queue
	late   lateEvents
	seq    int
	bytes  int // of the text
}

// pendingEvent is an encoded event that is kept back.
type pendingEvent struct {
	at, dur int64
	seq     int
	text    []byte
	begins  bool // a block of text
}

func (a *pendingEvent) before(b *pendingEvent) bool {
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.dur != b.dur:
		return a.dur > b.dur
	}
	return a.seq < b.seq
}

func (p *pendingEvents) count() int { return p.queue.count + len(p.late) }

// push adds an event. It copies the text.
func (p *pendingEvents) push(text []byte, at, dur int64) {
	p.seq++
	p.bytes += len(text)
	e := pendingEvent{at: at, dur: dur, seq: p.seq}
	if p.queue.count > 0 && e.before(p.queue.last()) {
		e.text = bytes.Clone(text)
		heap.Push(&p.late, e)
		return
	}
	q := p.queue.push()
	q.at, q.dur, q.seq = at, dur, p.seq
	q.text, q.begins = p.blocks.keep(text)
}

// appendFirst appends the text of the first event and removes the event. There must be one.
func (p *pendingEvents) appendFirst(b []byte) []byte {
	if len(p.late) > 0 && (p.queue.count == 0 || p.late[0].before(p.queue.first())) {
		e := heap.Pop(&p.late).(pendingEvent)
		p.bytes -= len(e.text)
		return append(b, e.text...)
	}
	e := p.queue.first()
	p.bytes -= len(e.text)
	b = append(b, e.text...)
	if e.begins {
		p.blocks.reuse()
	}
	e.text = nil
	p.queue.pop()
	return b
}

// lateEvents is a heap, the earliest event first.
type lateEvents []pendingEvent

func (l lateEvents) Len() int           { return len(l) }
func (l lateEvents) Less(i, j int) bool { return l[i].before(&l[j]) }
func (l lateEvents) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *lateEvents) Push(e any)        { *l = append(*l, e.(pendingEvent)) }

func (l *lateEvents) Pop() any {
	n := len(*l) - 1
	e := (*l)[n]
	(*l)[n] = pendingEvent{}
	*l = (*l)[:n]
	return e
}
