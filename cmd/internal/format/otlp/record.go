package otlp

import (
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Many events have the same process, thread and address: their attributes are kept, in a
// direct-mapped table.

const phraseSlots = 64

type phrase struct {
	pid, tid int
	address  uint64
	known    bool
	text     []byte // each attribute begins with a comma
}

func (l *Log) phraseOf(rec *posixtrace.Record) []byte {
	h := (uint64(rec.TID) ^ rec.Address) * 0x9e3779b97f4a7c15
	h = (h ^ uint64(rec.PID)<<32) * 0x9e3779b97f4a7c15
	p := &l.phrases[h>>58]
	if p.known && p.pid == rec.PID && p.tid == rec.TID && p.address == rec.Address {
		return p.text
	}
	p.pid, p.tid, p.address, p.known = rec.PID, rec.TID, rec.Address, true
	b := p.text[:0]
	if rec.PID != 0 {
		b = appendIntAttribute(b, attr+"process.pid"+isInt, int64(rec.PID))
	}
	if rec.TID != 0 {
		b = appendIntAttribute(b, attr+"thread.id"+isInt, int64(rec.TID))
	}
	if rec.Address != 0 {
		b = appendHexAttribute(b, attr+"posixtrace.address"+isHex, rec.Address)
	}
	p.text = b
	return b
}

// appendWhere appends the attributes that say where an event was.
func (l *Log) appendWhere(b []byte, rec *posixtrace.Record) []byte {
	return append(b, l.phraseOf(rec)...)
}

func appendName(b, raw []byte) []byte { return append(b, raw...) }

// appendPayload appends the data of an event.
func appendPayload(b []byte, is string, rec *posixtrace.Record) []byte {
	if len(rec.Data) == 0 {
		return b
	}
	return appendTextAttribute(b, is, rec.Data)
}

func appendTruncation(b []byte, rec *posixtrace.Record) []byte {
	if rec.Truncation == posixtrace.TruncationNone {
		return b
	}
	return appendStringAttribute(b, attr+"posixtrace.truncation"+isString, rec.Truncation.String())
}

// appendKeys appends the keys of spans: of an event that could not begin or end one.
func appendKeys(b []byte, rec *posixtrace.Record) []byte {
	if rec.Span != 0 {
		b = appendHexAttribute(b, attr+"posixtrace.span"+isHex, rec.Span)
	}
	if rec.Parent != 0 {
		b = appendHexAttribute(b, attr+"posixtrace.parent"+isHex, rec.Parent)
	}
	return b
}

// appendOdd appends what few events have.
func appendOdd(b []byte, rec *posixtrace.Record, t *eventType) []byte {
	b = append(b, t.raw...)
	if rec.UnixNano < 0 {
		b = appendIntAttribute(b, attr+"posixtrace.time"+isInt, rec.UnixNano)
	}
	return appendTruncation(appendKeys(b, rec), rec)
}

func isOdd(rec *posixtrace.Record, t *eventType) bool {
	return t.raw != nil || rec.UnixNano < 0 || rec.Truncation != posixtrace.TruncationNone || rec.Span|rec.Parent != 0
}

// record writes an event as a log record, in a span unless s is nil.
func (l *Log) record(rec *posixtrace.Record, t *eventType, s *span) {
	b := append(l.records.next(), `{"timeUnixNano":"`...)
	from := len(b)
	b = l.clock.appendTime(b, rec.UnixNano)
	at := b[from:]
	b = append(append(b, `","observedTimeUnixNano":"`...), at...)
	b = append(append(b, '"'), t.record...)
	if s != nil {
		b = append(b, s.text[:]...)
		b = s.trace.appendFlags(b)
	} else {
		b = append(b, l.trace.text...)
	}
	if body, ok := bodyOf(rec); ok {
		b = appendValue(append(b, `,"body":`...), body)
	}
	b = l.appendAttributes(b, rec, t, at)
	l.records.end(append(b, '}'))
}

// appendAttributes appends the attributes of a log record. at is its time, as text.
func (l *Log) appendAttributes(b []byte, rec *posixtrace.Record, t *eventType, at []byte) []byte {
	start := len(b)
	b = append(b, `,"attributes":`...)
	first := len(b)
	b = append(append(append(b, l.ids.uid...), at...), '-')
	b = append(escape.AppendHex32(b, l.ids.record(rec)), `"}}`...)
	b = append(b, t.named...)
	b = append(b, l.phraseOf(rec)...)
	if isOdd(rec, t) {
		b = appendOdd(b, rec, t)
	}
	if rec.ID.System() {
		b = l.appendMembers(b, rec, t)
	}
	return closeList(b, start, first)
}

// closeList ends a list of attributes: its first comma becomes the bracket. An empty list goes.
func closeList(b []byte, start, first int) []byte {
	if len(b) == first {
		return b[:start]
	}
	b[first] = '['
	return append(b, ']')
}

// appendEvent appends an event in a span.
func (l *Log) appendEvent(b []byte, s *span, rec *posixtrace.Record, t *eventType) []byte {
	b = l.clock.appendTime(append(b, `{"timeUnixNano":"`...), rec.UnixNano)
	b = append(append(b, `","name":`...), t.name...)
	start := len(b)
	b = append(b, `,"attributes":`...)
	first := len(b)
	if rec.PID != s.pid || rec.TID != s.tid {
		b = append(b, l.phraseOf(rec)...)
	} else if rec.Address != 0 {
		b = appendHexAttribute(b, attr+"posixtrace.address"+isHex, rec.Address)
	}
	if isOdd(rec, t) {
		b = appendOdd(b, rec, t)
	}
	if rec.ID.System() {
		b = l.appendMembers(b, rec, t)
	} else {
		b = appendPayload(b, attr+"posixtrace.data"+isString, rec)
	}
	return append(closeList(b, start, first), '}')
}

// bodyOf returns the data of a user event, or a line of output.
func bodyOf(rec *posixtrace.Record) (body []byte, ok bool) {
	switch {
	case rec.ID.User():
		return rec.Data, len(rec.Data) > 0
	case rec.ID == posixtrace.EventOutputStdout || rec.ID == posixtrace.EventOutputStderr:
		if d, err := posixtrace.DecodeOutput(rec.Data); err == nil {
			return d.Line, true
		}
	}
	return nil, false
}
