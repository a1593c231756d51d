package output

import (
	"slices"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Text is the form for people and grep: one line for each event,
//
//	0.000812440 4711 build.begin "compile"
//
// The data of system events is decoded.
type Text struct {
	Style TimeStyle
	// Base is the origin of relative times.
	Base int64
	// Colour sequences around times.
	TimeOn, TimeOff string
	// Paints has the other colours, nil for none.
	Paints *Paints
	// Note, unless nil, returns what to show beside an event.
	Note func(src *Source, rec *posixtrace.Record) Note

	times   textTimes
	phrases phrases // the text from the process to the name
}

// Begin appends nothing.
func (t *Text) Begin(b []byte) []byte { return b }

// End appends nothing.
func (t *Text) End(b []byte) []byte { return b }

// Append appends the line of one event.
func (t *Text) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if t.Paints != nil || t.Note != nil || src.symbols != nil || src.frames != nil || src.ended != nil {
		return t.appendShown(b, src, rec)
	}
	p := t.phrases.last
	if p == nil || p.of.id != rec.ID || p.of.pid != rec.PID || p.of.src != src {
		p = t.phrase(src, rec)
	}
	b = slices.Grow(b, stampRoom+phraseRoom)
	if d := t.window(rec.UnixNano); d < t.times.stamp.room && len(t.TimeOn) == 0 {
		b = t.times.stamp.appendTo(b, uint32(d))
	} else {
		b = append(t.appendTime(append(b, t.TimeOn...), rec.UnixNano), t.TimeOff...)
	}
	return append(appendBody(p.appendTo(b), src, rec), '\n')
}

// phrase returns the process and the name of an event.
func (t *Text) phrase(src *Source, rec *posixtrace.Record) *phrase {
	of := member{src: src, pid: rec.PID, id: rec.ID}
	p, ok := t.phrases.find(&of)
	if ok {
		return p
	}
	p.of = of
	b := append(strconv.AppendInt(p.text[:0], int64(of.pid), 10), ' ')
	name := of.src.name(of.id)
	p.set(append(b, name.text...))
	if !name.known {
		p.forget()
	}
	return p
}

// appendBody appends the data of an event, with a space before it.
func appendBody(b []byte, src *Source, rec *posixtrace.Record) []byte {
	switch {
	case rec.ID.User():
		return appendData(b, rec.Data, rec.Truncation)
	case isOutput(rec.ID) && len(rec.Data) > 0 && rec.Data[0] == 0 && rec.Truncation == posixtrace.TruncationNone:
		return appendQuoted(append(b, ' '), rec.Data[1:]) // a whole line, which has no flags
	}
	return appendSystemText(b, src, rec)
}

// appendData appends a space and the data between quotes, or nothing if there is no data.
// Dots after the quote mean that the data was truncated.
func appendData(b []byte, data []byte, cut posixtrace.Truncation) []byte {
	if len(data) == 0 && cut == posixtrace.TruncationNone {
		return b
	}
	b = appendQuoted(append(b, ' '), data)
	if cut != posixtrace.TruncationNone {
		b = append(b, "..."...)
	}
	return b
}

// appendQuoted appends escaped data between quotes.
func appendQuoted(b, data []byte) []byte {
	return append(escape.AppendText(append(b, '"'), data), '"')
}

// isOutput reports whether events of a type are lines of captured output.
func isOutput(id posixtrace.EventID) bool {
	return id == posixtrace.EventOutputStdout || id == posixtrace.EventOutputStderr
}

// AppendData appends the data of an event as Text shows it.
func AppendData(b []byte, src *Source, rec *posixtrace.Record) []byte {
	n := len(b)
	b = appendBody(b, src, rec)
	return append(b[:n], b[min(len(b), n+1):]...) // without the space
}
