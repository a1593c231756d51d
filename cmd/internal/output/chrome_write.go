package output

import (
	"cmp"
	"container/heap"
	"slices"
	"strconv"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// write encodes a slice that ends at the time of the last event.
func (c *Chrome) write(s *slice, l *laneState, end, note string) {
	if s.key.key != 0 {
		delete(c.keyed, s.key)
	} else if s.doubtful {
		note = "overlaps another without a key"
	}
	until := max(c.last, l.until+gap, s.at)
	l.until = until
	b := c.appendHead(nil, s.title, s.category, 'X', s.at, l.lane)
	b = appendMicros(append(b, `,"dur":`...), until-s.at)
	c.enqueue(appendArgs(b, s.data, end, note), s.at, until-s.at)
}

// mark encodes an event without a duration.
func (c *Chrome) mark(l lane, name, category string, scope byte, at int64, data, note string) {
	c.lane(l)
	b := c.appendHead(nil, name, category, 'i', at, l)
	b = append(append(b, `,"s":"`...), scope, '"')
	c.enqueue(appendArgs(b, data, "", note), at, 0)
}

// dataText returns the data of an event as text.
func (c *Chrome) dataText(src *Source, rec *posixtrace.Record) string {
	c.tmp = appendDecoded(c.tmp[:0], src, rec)
	return string(c.tmp)
}

// appendHead appends the members that all events have.
func (c *Chrome) appendHead(b []byte, name, category string, phase byte, at int64, l lane) []byte {
	b = AppendJSONString(append(b, "\n{\"name\":"...), name)
	b = append(append(b, `,"cat":"`...), category...)
	b = append(append(b, `","ph":"`...), phase)
	b = appendMicros(append(b, `","ts":`...), at-c.base)
	b = strconv.AppendInt(append(b, `,"pid":`...), int64(l.pid), 10)
	return strconv.AppendInt(append(b, `,"tid":`...), int64(l.tid), 10)
}

// appendArgs appends the data and the note of an event, and closes its object.
func appendArgs(b []byte, data, end, note string) []byte {
	start := len(b)
	for _, m := range []struct{ key, value string }{{"data", data}, {"end", end}, {"note", note}} {
		if m.value != "" {
			b = AppendMember(b, m.key, m.value)
		}
	}
	if len(b) > start {
		b = slices.Insert(b, start, []byte(`,"args":{`)...)
		b = slices.Delete(b, start+len(`,"args":{`), start+len(`,"args":{`)+1) // the comma
		b = append(b, '}')
	}
	return append(b, '}')
}

// appendName appends a metadata event, such as the name of a process or thread.
func (c *Chrome) appendName(b []byte, what string, l lane, key string, value any) []byte {
	if c.comma {
		b = append(b, ',')
	}
	c.comma = true
	b = c.appendHead(b, what, "__metadata", 'M', c.last, l)
	b = append(b, `,"args":{`...)
	start := len(b)
	b = slices.Delete(AppendMember(b, key, value), start, start+1)
	return append(b, '}', '}')
}

// pendingEvent is an encoded event that is kept back.
type pendingEvent struct {
	at, dur int64
	seq     int
	text    []byte
}

// pendingEvents is a heap, the earliest first. Of slices that start at the same time the
// longest comes first, since it is the outer one.
type pendingEvents []pendingEvent

func (r pendingEvents) Len() int { return len(r) }

func (r pendingEvents) Less(i, j int) bool {
	a, b := &r[i], &r[j]
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.dur, a.dur), cmp.Compare(a.seq, b.seq)) < 0
}

func (r pendingEvents) Swap(i, j int) { r[i], r[j] = r[j], r[i] }
func (r *pendingEvents) Push(e any)   { *r = append(*r, e.(pendingEvent)) }

func (r *pendingEvents) Pop() any {
	n := len(*r) - 1
	e := (*r)[n]
	(*r)[n] = pendingEvent{}
	*r = (*r)[:n]
	return e
}

func (c *Chrome) enqueue(text []byte, at, dur int64) {
	c.seq++
	c.latest = max(c.latest, at)
	c.bytes += len(text)
	heap.Push(&c.pending, pendingEvent{at, dur, c.seq, text})
}

// emitFirst appends the earliest pending event.
func (c *Chrome) emitFirst(b []byte) []byte {
	e := heap.Pop(&c.pending).(pendingEvent)
	c.bytes -= len(e.text)
	if c.comma {
		b = append(b, ',')
	}
	c.comma = true
	return append(b, e.text...)
}

// appendMicros appends nanoseconds as microseconds with three decimals.
func appendMicros(b []byte, ns int64) []byte {
	u := uint64(ns)
	if ns < 0 {
		b = append(b, '-')
		u = -u
	}
	b = strconv.AppendUint(b, u/1000, 10)
	r := u % 1000
	return append(b, '.', byte('0'+r/100), byte('0'+r/10%10), byte('0'+r%10))
}
