package output

import (
	"strconv"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// TimeStyle is how a form shows the time of an event.
type TimeStyle uint8

// The time styles.
const (
	RelativeTime TimeStyle = iota // seconds since the first event
	AbsoluteTime                  // date and time, local
	DeltaTime                     // seconds since the previous event
	NoTime
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
	// Colour sequences around times and around the names of system events.
	TimeOn, TimeOff     string
	SystemOn, SystemOff string

	last    int64 // time of the previous event, for DeltaTime
	started bool
	sec     int64   // the second that date and zone belong to
	date    []byte  // the text before the nanoseconds, in this second
	zone    []byte  // the text after them
	from    int64   // the start of the window, in nanoseconds from Base or the Epoch
	shown   []byte  // the text before the last digits, in this window; empty at first
	phrases phrases // the text from the process to the name
}

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
	p := t.phrases.at(&of)
	if !p.is(&of) {
		t.make(p, &of)
	}
	b = append(b, p.text...)
	if rec.ID.System() {
		return append(appendSystemText(b, src, rec), '\n')
	}
	return append(appendData(b, rec.Data, rec.Truncation), '\n')
}

// make makes the phrase of a member: the process and the name.
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
			if sec != t.sec || !t.started {
				t.started, t.sec = true, sec
				tm := time.Unix(sec, 0)
				t.date = tm.AppendFormat(t.date[:0], "2006-01-02T15:04:05.")
				t.zone = tm.AppendFormat(t.zone[:0], "Z07:00 ")
			}
			t.begin(ns, nsec)
		}
		return append(append4(append(b, t.shown...), uint32(ns-t.from)), t.zone...)
	case DeltaTime:
		if !t.started {
			t.started, t.last = true, ns
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

// begin starts the window of a time; date must be that of its second.
func (t *Text) begin(ns int64, nsec uint32) {
	t.from = ns - int64(nsec%window)
	t.shown = append9(append(t.shown[:0], t.date...), nsec)
	t.shown = t.shown[:len(t.shown)-lastDigits]
}

// appendData appends a space and the data between quotes, or nothing if there is no data.
// Dots after the quote mean that the data was truncated.
func appendData(b []byte, data []byte, cut posixtrace.Truncation) []byte {
	if len(data) == 0 && cut == posixtrace.TruncationNone {
		return b
	}
	b = append(b, ' ', '"')
	b = escape.Append(b, data)
	b = append(b, '"')
	if cut != posixtrace.TruncationNone {
		b = append(b, "..."...)
	}
	return b
}
