package otlp

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

const (
	// MaxEvents bounds the events in a span.
	MaxEvents = 128
	// maxSpanBytes bounds what they take.
	maxSpanBytes = 1 << 20
	// maxOpen bounds the open spans, and maxHeld the bytes that they hold. Beyond maxEventsHeld,
	// events are log records.
	maxOpen       = 1 << 15
	maxHeld       = 16 << 20
	maxEventsHeld = 8 << 20
	// maxKept bounds the bytes that spans keep for later ones.
	maxKept = 2 << 20
	// spanBytes is what a span takes beside its texts.
	spanBytes = 512
)

// spanKey finds an open span: by its key in its process, or by its name in its thread.
type spanKey struct {
	pid, tid int
	key      uint64
	typ      *spanType
}

// spanType is a name of spans.
type spanType struct {
	name []byte // a JSON string
	raw  []byte // an attribute, if the name is not UTF-8
	hash uint64
}

// span is an open span.
type span struct {
	trace  *trace
	id     uint64
	parent uint64 // 0 for none
	text   [73]byte
	name   []byte // a JSON string
	typ    *spanType
	start  int64
	nth    uint64

	pid, tid    int
	key         spanKey
	shadowed    *span // an older one that has the same key
	home        *home
	older       *span // in its home
	newer       *span
	depth       int  // of a span with a key: how many with keys are around it, and itself
	shell       bool // comes from a shell
	whole       bool // all threads of the process are in it
	process     bool
	guessed     bool // a process whose parent is not known, or not yet
	executed    bool
	program     []byte // room for the name of a process
	end         int64
	held        int
	failed      bool
	message     []byte
	attributes  []byte
	events      []byte
	eventsCount int
}

// compose writes the members of a log record in the span.
func (s *span) compose() {
	b := append(s.text[:0], s.trace.text[:traceText]...)
	b = appendID(append(b, `,"spanId":"`...), s.id)
	_ = append(b, '"')
}

func appendID(b []byte, id uint64) []byte {
	var digits [16]byte
	escape.PutHex(&digits, id)
	return append(b, digits[:]...)
}

// newSpan returns a span, or nil if too many are open.
func (l *Log) newSpan(rec *posixtrace.Record) *span {
	if l.count >= maxOpen || l.held+len(rec.Data) >= maxHeld {
		return nil
	}
	s := l.free
	if s != nil {
		l.free = s.older
		l.kept -= s.room()
		*s = span{attributes: s.attributes[:0], events: s.events[:0], message: s.message[:0], program: s.program[:0]}
	} else {
		s = &span{}
	}
	l.count++
	l.number++
	s.nth, s.start, s.pid, s.tid = l.number, rec.UnixNano, rec.PID, rec.TID
	return s
}

// room returns the size of the memory for texts that a span has.
func (s *span) room() int { return cap(s.attributes) + cap(s.events) }

// hold counts the memory of a span whose texts have grown.
func (l *Log) hold(s *span) {
	n := spanBytes + s.room()
	l.held += n - s.held
	s.held = n
}

// describe gives a span its ids: those of its context, if it has one, or else some of its own.
func (l *Log) describe(s *span, rec *posixtrace.Record, name uint64, around *span, d *posixtrace.ContextData, described bool) {
	switch {
	case described:
		s.trace, s.id, s.parent = l.traceOf(d), binary.BigEndian.Uint64(d.SpanID[:]), binary.BigEndian.Uint64(d.Parent[:])
	case around != nil:
		s.trace, s.id, s.parent = around.trace, l.ids.span(rec, name), around.id
	default:
		s.trace, s.id = l.trace, l.ids.span(rec, name)
	}
	s.compose()
}

// begin starts a span. It reports false if there are too many.
func (l *Log) begin(rec *posixtrace.Record, t *eventType, d posixtrace.ContextData, described bool) bool {
	s := l.newSpan(rec)
	if s == nil {
		return false
	}
	s.typ, s.name = t.span, t.span.name
	s.key = keyOf(rec, t)
	s.shell = rec.Address&posixtrace.SpoolAddress != 0
	h := l.homeOf(rec, true)
	s.home = h
	s.whole = rec.TID != rec.PID && h != nil && h.span != nil && h.pid == rec.TID
	around, missing := l.around(s, h, rec)
	l.describe(s, rec, t.span.hash, around, &d, described)
	if missing != 0 && !described {
		s.parent = missing
	}
	b := l.appendWhere(s.attributes, rec)
	b = appendName(b, t.span.raw)
	if rec.Span != 0 {
		b = appendHexAttribute(b, attr+"posixtrace.span"+isHex, rec.Span)
	}
	b = appendTruncation(appendPayload(b, attr+"posixtrace.data"+isString, rec), rec)
	s.attributes = b
	l.hold(s)
	s.shadowed = l.open[s.key]
	l.open[s.key] = s
	h.push(s)
	l.changes++
	return true
}

// keyOf returns the key of the span of an event.
func keyOf(rec *posixtrace.Record, t *eventType) spanKey {
	switch {
	case rec.Span == 0:
		return spanKey{rec.PID, rec.TID, 0, t.span}
	case catalog.IsRecipeKey(rec.Span): // unique in the log
		return spanKey{-1, -1, rec.Span, nil}
	}
	return spanKey{rec.PID, -1, rec.Span, nil}
}

// end ends a span. It reports false if none is open.
func (l *Log) end(rec *posixtrace.Record, t *eventType) bool {
	s := l.open[keyOf(rec, t)]
	if s == nil || s.typ != t.span {
		return false
	}
	b := s.attributes
	if rec.TID != s.tid {
		b = appendIntAttribute(b, attr+"posixtrace.end.thread.id"+isInt, int64(rec.TID))
	}
	if rec.Address != 0 {
		b = appendHexAttribute(b, attr+"posixtrace.end.address"+isHex, rec.Address)
	}
	b = appendPayload(b, attr+"posixtrace.end.data"+isString, rec)
	if rec.Truncation != posixtrace.TruncationNone {
		b = appendStringAttribute(b, attr+"posixtrace.end.truncation"+isString, rec.Truncation.String())
	}
	s.attributes = b
	if end := analysis.OutcomeOf(rec); end.Failed {
		s.failed = true
		if s.message = append(s.message[:0], end.Error...); end.Status != 0 {
			s.message = strconv.AppendInt(append(s.message, "status "...), int64(end.Status), 10)
		}
	}
	s.end = rec.UnixNano
	l.unlink(s)
	l.write(s, 0)
	l.release(s)
	return true
}

// unlink removes a span from those that are open.
func (l *Log) unlink(s *span) {
	if s.shadowed != nil {
		l.open[s.key] = s.shadowed
	} else {
		delete(l.open, s.key)
	}
	s.home.pull(s)
	if s.key.key != 0 {
		l.remember(s)
	}
	l.changes++
}

func (l *Log) release(s *span) {
	l.count--
	l.held -= s.held
	// The next span needs room as well, and thousands of spans would keep too much.
	if l.kept+s.room() > maxKept {
		s.attributes, s.events = nil, nil
	}
	l.kept += s.room()
	s.older, l.free = l.free, s
}

// addEvent adds an event to a span, or reports false if it has no room.
func (l *Log) addEvent(s *span, rec *posixtrace.Record, t *eventType) bool {
	if s.eventsCount >= MaxEvents || len(s.events) >= maxSpanBytes || l.held >= maxEventsHeld {
		return false
	}
	b := s.events
	if len(b) > 0 {
		b = append(b, ',')
	}
	s.events = l.appendEvent(b, s, rec, t)
	s.eventsCount++
	l.hold(s)
	return true
}

// write writes a span that has ended.
func (l *Log) write(s *span, lost uint64) {
	b := append(l.spans.next(), '{')
	b = append(b, s.text[1:]...)
	if s.parent != 0 {
		b = append(appendID(append(b, `,"parentSpanId":"`...), s.parent), '"')
	}
	b = s.trace.appendFlags(b)
	if s.trace.state != "" {
		b = appendString(append(b, `,"traceState":`...), s.trace.state)
	}
	b = append(append(b, `,"name":`...), s.name...)
	b = l.clock.appendTime(append(b, `,"kind":1,"startTimeUnixNano":"`...), s.start)
	b = l.clock.appendTime(append(b, `","endTimeUnixNano":"`...), max(s.start, s.end))
	b = append(b, '"')
	if len(s.attributes) > 0 {
		b = append(append(append(b, `,"attributes":[`...), bytes.TrimPrefix(s.attributes, comma)...), ']')
	}
	if len(s.events) > 0 {
		b = append(append(append(b, `,"events":[`...), s.events...), ']')
	}
	if lost > 0 {
		b = appendInt(append(b, `,"droppedEventsCount":`...), int64(dropped(lost)))
	}
	if s.failed {
		b = append(appendString(append(b, `,"status":{"message":`...), s.message), `,"code":2}`...)
	}
	l.spans.end(append(b, '}'))
}

// unfinished ends a span whose end is not in the log.
func (l *Log) unfinished(s *span, at int64) {
	s.end, s.failed = at, true
	s.attributes = appendBoolAttribute(s.attributes, attr+"posixtrace.unfinished"+isBool, true)
	s.message = append(s.message[:0], "unfinished"...)
}

// finish ends what is still open, the latest first, and the span of the run.
func (l *Log) finish(lost uint64) {
	var left []*span
	for _, s := range l.open {
		for ; s != nil; s = s.shadowed {
			left = append(left, s)
		}
	}
	for _, h := range l.homes {
		if h.span != nil && h.span != l.root {
			left = append(left, h.span)
		}
	}
	slices.SortFunc(left, func(x, y *span) int { return cmp.Compare(y.nth, x.nth) })
	if l.root != nil {
		left, l.first = append(left, l.root), nil
	}
	for _, s := range left {
		l.unfinished(s, l.to)
		if s == l.root {
			l.first = s
			break
		}
		l.write(s, 0)
	}
	switch {
	case l.first != nil:
		l.write(l.losing(l.first, lost), lost)
	case lost > 0:
		l.write(l.losing(l.whole(), lost), lost)
	}
}

// whole returns a span of the whole log, for one that has no span of its command.
func (l *Log) whole() *span {
	s := &span{trace: l.trace, start: l.from, end: l.to, name: []byte(`"posixtrace"`)}
	s.id = l.ids.span(&posixtrace.Record{EventInfo: posixtrace.EventInfo{UnixNano: l.from}}, hash("posixtrace"))
	s.compose()
	return s
}

// losing notes lost events in a span: the count of the protocol has 32 bits.
func (l *Log) losing(s *span, lost uint64) *span {
	if lost > 0 {
		s.attributes = appendIntAttribute(s.attributes, attr+"posixtrace.lost"+isInt, int64(min(lost, 1<<63-1)))
	}
	return s
}
