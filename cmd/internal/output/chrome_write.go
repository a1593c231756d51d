package output

import (
	"cmp"
	"container/heap"
	"slices"
	"strconv"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// write writes a slice that ends now.
func (c *Chrome) write(s *slice, l *laneState, end, note string) {
	if s.key.key != 0 {
		delete(c.keyed, s.key)
	} else if s.doubtful {
		note = "overlaps another without a key"
	}
	until := max(c.last, l.until+gap, s.at)
	l.until = until
	b := c.head(nil, s.title, s.category, 'X', s.at, l.lane)
	b = appendMicros(append(b, `,"dur":`...), until-s.at)
	c.add(appendArgs(b, s.data, end, note), s.at, until-s.at)
}

// mark writes an event without a duration.
func (c *Chrome) mark(l lane, name, category string, scope byte, at int64, data, note string) {
	c.lane(l)
	b := c.head(nil, name, category, 'i', at, l)
	b = append(append(b, `,"s":"`...), scope, '"')
	c.add(appendArgs(b, data, "", note), at, 0)
}

// decoded returns the data of an event as text.
func (c *Chrome) decoded(src *Source, rec *posixtrace.Record) string {
	c.tmp = appendDecoded(c.tmp[:0], src, rec)
	return string(c.tmp)
}

// head appends the members that all events have.
func (c *Chrome) head(b []byte, name, category string, phase byte, at int64, l lane) []byte {
	b = AppendJSONString(append(b, "\n{\"name\":"...), name)
	b = append(append(b, `,"cat":"`...), category...)
	b = append(append(b, `","ph":"`...), phase)
	b = appendMicros(append(b, `","ts":`...), at-c.base)
	b = strconv.AppendInt(append(b, `,"pid":`...), int64(l.pid), 10)
	return strconv.AppendInt(append(b, `,"tid":`...), int64(l.tid), 10)
}

// appendArgs appends what more is known of an event, and closes its object.
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

// appendName appends what a viewer is to know of a process or thread.
func (c *Chrome) appendName(b []byte, what string, l lane, key string, value any) []byte {
	if c.comma {
		b = append(b, ',')
	}
	c.comma = true
	b = c.head(b, what, "__metadata", 'M', c.last, l)
	b = append(b, `,"args":{`...)
	start := len(b)
	b = slices.Delete(AppendMember(b, key, value), start, start+1)
	return append(b, '}', '}')
}

// readyEvent is an event that is to be written.
type readyEvent struct {
	at, dur int64
	seq     int
	text    []byte
}

// readyEvents is a heap of them. Of slices that begin at one time the longer is the outer one, and
// comes first.
type readyEvents []readyEvent

func (r readyEvents) Len() int { return len(r) }

func (r readyEvents) Less(i, j int) bool {
	a, b := &r[i], &r[j]
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.dur, a.dur), cmp.Compare(a.seq, b.seq)) < 0
}

func (r readyEvents) Swap(i, j int) { r[i], r[j] = r[j], r[i] }
func (r *readyEvents) Push(e any)   { *r = append(*r, e.(readyEvent)) }

func (r *readyEvents) Pop() any {
	n := len(*r) - 1
	e := (*r)[n]
	(*r)[n] = readyEvent{}
	*r = (*r)[:n]
	return e
}

func (c *Chrome) add(text []byte, at, dur int64) {
	c.seq++
	c.latest = max(c.latest, at)
	c.bytes += len(text)
	heap.Push(&c.ready, readyEvent{at, dur, c.seq, text})
}

// next appends the oldest of the events that are kept.
func (c *Chrome) next(b []byte) []byte {
	e := heap.Pop(&c.ready).(readyEvent)
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
