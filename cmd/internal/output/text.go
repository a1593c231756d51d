package output

import (
	"strconv"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// TimeStyle says how text shows the time of an event.
type TimeStyle uint8

// The time styles.
const (
	RelativeTime TimeStyle = iota // seconds since the first event
	AbsoluteTime                  // date and time, local
	DeltaTime                     // seconds since the event before
	NoTime
)

// Text is the form for people and grep: one line for each event,
//
//	0.000812440 4711 build.begin "compile"
//
// with decoded members where the data is the system's.
type Text struct {
	Style TimeStyle
	// Base is the time that relative times count from.
	Base int64
	// These surround times and the names of system events, to colour them.
	TimeOn, TimeOff     string
	SystemOn, SystemOff string

	last    int64 // of the event before, for DeltaTime
	begun   bool
	sec     int64   // the second that date and zone are for
	date    []byte  // what precedes the nanoseconds in this second
	zone    []byte  // and what follows them
	from    int64   // the beginning of a span, in nanoseconds from Base or the epoch
	shown   []byte  // what precedes the last digits in this span; empty at first
	phrases phrases // from the process to the name
}

func newText(s *Settings) (Form, error) { return s.Text, nil }

// Begin appends nothing.
func (t *Text) Begin(b []byte) []byte { return b }

// End appends nothing.
func (t *Text) End(b []byte) []byte { return b }

// Append appends the line of one event.
func (t *Text) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	b = append(b, t.TimeOn...)
	b = t.appendTime(b, rec.UnixNano)
	b = append(b, t.TimeOff...)
	of := member{src: src, pid: rec.PID, id: rec.ID}
	p := t.phrases.place(&of)
	if !p.is(&of) {
		t.make(p, &of)
	}
	b = append(b, p.text...)
	if rec.ID.System() {
		return append(appendSystemText(b, src, rec), '\n')
	}
	return append(appendData(b, rec.Data, rec.Truncation), '\n')
}

// make makes the phrase of a member: process and name.
func (t *Text) make(p *phrase, of *member) {
	p.of = *of
	b := append(strconv.AppendInt(p.text[:0], int64(of.pid), 10), ' ')
	name := of.src.name(of.id)
	if of.id.System() {
		b = append(append(append(b, t.SystemOn...), name.text...), t.SystemOff...)
	} else {
		b = append(b, name.text...)
	}
	p.text = b
	if !name.known {
		p.forget()
	}
}

// appendTime appends the time and a space.
func (t *Text) appendTime(b []byte, ns int64) []byte {
	switch t.Style {
	case NoTime:
		return b
	case AbsoluteTime:
		if !within(ns, t.from) || len(t.shown) == 0 {
			sec, nsec := splitNano(ns)
			if sec != t.sec || !t.begun {
				t.begun, t.sec = true, sec
				tm := time.Unix(sec, 0)
				t.date = tm.AppendFormat(t.date[:0], "2006-01-02T15:04:05.")
				t.zone = tm.AppendFormat(t.zone[:0], "Z07:00 ")
			}
			t.begin(ns, nsec)
		}
		return append(append4(append(b, t.shown...), uint32(ns-t.from)), t.zone...)
	case DeltaTime:
		if !t.begun {
			t.begun, t.last = true, ns
		}
		b = append(AppendSeconds(b, ns-t.last), ' ')
		t.last = ns
		return b
	}
	rel := ns - t.Base
	if rel < 0 {
		return append(AppendSeconds(b, rel), ' ')
	}
	if !within(rel, t.from) || len(t.shown) == 0 {
		sec := rel / second
		t.date = append(strconv.AppendInt(t.date[:0], sec, 10), '.')
		t.begin(rel, uint32(rel-sec*second))
	}
	return append(append4(append(b, t.shown...), uint32(rel-t.from)), ' ')
}

// begin begins the span of a time whose second is that of date.
func (t *Text) begin(ns int64, nsec uint32) {
	t.from = ns - int64(nsec%span)
	t.shown = append9(append(t.shown[:0], t.date...), nsec)
	t.shown = t.shown[:len(t.shown)-lastDigits]
}

// appendData appends a space and the data between quotes, nothing if there is
// none. Dots after the quote tell that it was cut.
func appendData(b []byte, data []byte, cut posixtrace.Truncation) []byte {
	if len(data) == 0 && cut == posixtrace.TruncationNone {
		return b
	}
	b = append(b, ' ', '"')
	b = AppendEscaped(b, data)
	b = append(b, '"')
	if cut != posixtrace.TruncationNone {
		b = append(b, "..."...)
	}
	return b
}
