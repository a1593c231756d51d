package output

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Paint is the colour sequences before and after a text.
type Paint struct{ On, Off string }

func (p Paint) append(b []byte, texts ...[]byte) []byte {
	b = append(b, p.On...)
	for _, text := range texts {
		b = append(b, text...)
	}
	return append(b, p.Off...)
}

// Paints are the colours of Text. Each says what the text says, too.
type Paints struct {
	System, User Paint // the names of events, by their class
	Stderr       Paint // lines of standard error
	Failure      Paint // failures, error numbers and losses
}

// Note is what Text shows beside an event.
type Note struct {
	Text   string // after the data; on a terminal only
	Failed bool   // the event is the end of a span with a status that means failure
}

// appendShown appends an event's line with colours and notes.
func (t *Text) appendShown(b []byte, src *Source, rec *posixtrace.Record) []byte {
	var note Note
	if t.Note != nil {
		note = t.Note(src, rec)
	}
	p := t.Paints
	if p == nil {
		p = &Paints{}
	}
	b = append(t.appendTime(append(b, t.TimeOn...), rec.UnixNano), t.TimeOff...)
	b = append(strconv.AppendInt(b, int64(rec.PID), 10), ' ')
	name, paint := src.name(rec.ID).text, p.User
	if rec.ID.System() {
		paint = p.System
	}
	body := appendBody(nil, src, rec)
	if src.ended != nil {
		body = appendEndedText(body, src.ended)
	}
	switch {
	case note.Failed || failure(rec) || loss(rec.ID):
		b = p.Failure.append(b, name, body)
	case rec.ID == posixtrace.EventOutputStderr:
		b = p.Stderr.append(b, name, body)
	default:
		b = paint.append(b, name)
		errno := -1
		if isSyscall(src, rec.ID) {
			errno = bytes.LastIndex(body, []byte(" errno="))
		}
		if errno < 0 {
			b = append(b, body...)
			break
		}
		end := len(body)
		if i := bytes.IndexByte(body[errno+1:], ' '); i >= 0 {
			end = errno + 1 + i
		}
		b = p.Failure.append(append(b, body[:errno]...), body[errno:end])
		b = append(b, body[end:]...)
	}
	b = appendSymbolText(b, src, rec)
	if note.Text != "" && src.ended == nil { // which has the duration
		b = append(b, ' ')
		b = append(append(append(b, t.TimeOn...), note.Text...), t.TimeOff...)
	}
	return appendStackOf(append(b, '\n'), src, rec)
}

// failure reports whether an event says that a process failed.
func failure(rec *posixtrace.Record) bool {
	if rec.ID != posixtrace.EventProcExit {
		return false
	}
	d, err := posixtrace.DecodeExit(rec.Data)
	return err == nil && (d.Status != 0 || d.Signal != 0)
}

// loss reports whether events of a type say that events are missing.
func loss(id posixtrace.EventID) bool {
	return slices.Contains([]posixtrace.EventID{posixtrace.EventOverflow, posixtrace.EventError}, id)
}
