package output

import (
	"slices"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
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
	b := c.appendHead(c.text[:0], s.title, s.category, 'X', s.at, l.lane)
	b = appendMicros(append(b, `,"dur":`...), until-s.at)
	c.enqueue(appendArgs(b, s.data, end, note, s.failed), s.at, until-s.at)
}

// mark encodes an event without a duration.
func (c *Chrome) mark(l lane, name, category string, scope byte, at int64, data, note string) {
	c.lane(l)
	b := c.appendHead(c.text[:0], name, category, 'i', at, l)
	b = append(append(b, `,"s":"`...), scope, '"')
	c.enqueue(appendArgs(b, data, "", note, false), at, 0)
}

// markEvent writes a mark for an event, unchanged.
func (c *Chrome) markEvent(src *Source, rec *posixtrace.Record) {
	of := member{src: src, pid: rec.PID, tid: rec.TID, id: rec.ID}
	p, ok := c.phrases.find(&of)
	if !ok {
		c.makeMark(p, &of)
	}
	c.lane(lane{rec.PID, rec.TID})
	b := appendMicros(append(c.text[:0], p.text[:p.size]...), rec.UnixNano-c.base)
	b = append(b, p.text[p.size:]...)
	c.enqueue(append(c.appendData(b, src, rec), '}'), rec.UnixNano, 0)
}

// makeMark makes the phrase of a mark: the text before its time, of p.size bytes, and that after it.
func (c *Chrome) makeMark(p *phrase, of *member) {
	p.of = *of
	name := of.src.name(of.id)
	b := AppendJSONString(append(p.text[:0], "\n{\"name\":"...), name.raw)
	b = append(append(b, `,"cat":"`...), catalog.TypeClass(of.id)...)
	b = append(b, `","ph":"i","ts":`...)
	p.size = len(b)
	b = strconv.AppendInt(append(b, `,"pid":`...), int64(of.pid), 10)
	b = strconv.AppendInt(append(b, `,"tid":`...), int64(of.tid), 10)
	scope := byte('t')
	if of.pid == 0 {
		scope = 'g' // global: it concerns all processes
	}
	p.text = append(append(b, `,"s":"`...), scope, '"')
	if !name.known {
		p.forget()
	}
}

// appendData appends the member args with the data of an event, or nothing if there is no data.
func (c *Chrome) appendData(b []byte, src *Source, rec *posixtrace.Record) []byte {
	start := len(b)
	b = append(b, `,"args":{"data":"`...)
	if data, ok := rawData(rec); ok {
		before := len(b)
		var n int
		if b, n = escape.AppendPlain(b, data); n == len(data) {
			if n == 0 {
				return b[:start]
			}
			return append(b, '"', '}')
		}
		b = b[:before]
	}
	c.tmp = appendDecoded(c.tmp[:0], src, rec)
	if len(c.tmp) == 0 {
		return b[:start]
	}
	return append(appendJSON(b, c.tmp), '"', '}')
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

// appendArgs appends the data and the note of an event and whether it failed, and closes its object.
func appendArgs(b []byte, data, end, note string, failed bool) []byte {
	start := len(b)
	for _, m := range []struct{ key, value string }{{"data", data}, {"end", end}, {"note", note}} {
		switch {
		case m.value == "":
			continue
		case len(b) == start:
			b = append(b, `,"args":{"`...)
		default:
			b = append(b, `,"`...)
		}
		b = AppendJSONString(append(append(b, m.key...), `":`...), m.value)
	}
	if failed { // and then it has an end
		b = append(b, `,"failed":true`...)
	}
	if len(b) > start {
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

// enqueue keeps an encoded event back. Its text may be in c.text, which is free then.
func (c *Chrome) enqueue(text []byte, at, dur int64) {
	c.latest = max(c.latest, at)
	c.pending.push(text, at, dur)
	c.text = text
}

// emitFirst appends the earliest pending event.
func (c *Chrome) emitFirst(b []byte) []byte {
	if c.comma {
		b = append(b, ',')
	}
	c.comma = true
	return c.pending.appendFirst(b)
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
