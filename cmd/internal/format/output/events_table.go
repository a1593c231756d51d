package output

import (
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// EventTable is the form for reading on a terminal: aligned columns that fit its width. It
// lays out a page of events at a time, so that its memory is bounded. From page to page the
// columns only get wider.
type EventTable struct {
	Text  *Text // has the style and base of the times
	Width int   // of the terminal; 0 for no limit

	table   *Table
	started bool
	widest  int // longest data in the page, in bytes
	tmp     []byte
}

// The limits of a page: events, and bytes when they are aligned.
const (
	tablePage = 200
	tableRoom = 1 << 20
)

func newEventTable(s *Settings) (Form, error) {
	return &EventTable{Text: s.Text, Width: s.Width()}, nil
}

// Begin appends nothing.
func (t *EventTable) Begin(b []byte) []byte { return b }

// End appends the events that are kept back, or the names of the columns if there was no
// event.
func (t *EventTable) End(b []byte) []byte {
	t.start()
	return t.Flush(b)
}

// Append adds a row.
func (t *EventTable) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	t.start()
	var cells []string
	if t.Text.Style != NoTime {
		t.tmp = t.Text.appendTime(t.tmp[:0], rec.UnixNano)
		cells = append(cells, string(t.tmp[:len(t.tmp)-1])) // without the space after it
	}
	t.tmp = appendReadable(t.tmp[:0], src, rec)
	if rec.Truncation != posixtrace.TruncationNone {
		t.tmp = append(t.tmp, "..."...)
	}
	t.table.Add(append(cells, strconv.Itoa(rec.PID), strconv.Itoa(rec.TID), string(src.name(rec.ID).text), string(t.tmp))...)
	t.widest = max(t.widest, len(t.tmp))
	if n := len(t.table.Rows); n >= tablePage || n*t.widest >= tableRoom {
		b = t.Flush(b)
	}
	return b
}

func (t *EventTable) start() {
	if t.started {
		return
	}
	t.started = true
	header, align := []string{"time", "pid", "tid", "event", "data"}, []Align{Right, Right, Right}
	if t.Text.Style == NoTime {
		header, align = header[1:], align[1:]
	}
	t.table = &Table{Header: header, Align: align, Width: t.Width, Escaped: true}
}

// Flush appends the rows that are kept back.
func (t *EventTable) Flush(b []byte) []byte {
	if t.table == nil || len(t.table.Rows) == 0 && t.table.Header == nil {
		return b
	}
	b = t.table.Append(b)
	t.table.Header, t.table.Rows, t.widest = nil, t.table.Rows[:0], 0
	return b
}

// appendReadable appends the data for people: without anything that a terminal would act
// on, and without the escapes that only help parsers.
func appendReadable(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if rec.ID.User() {
		return escape.AppendCell(b, rec.Data)
	}
	if rec.ID == posixtrace.EventOutputStdout || rec.ID == posixtrace.EventOutputStderr {
		if d, err := posixtrace.DecodeOutput(rec.Data); err == nil {
			return escape.AppendCell(b, escape.Unstyled(d.Line))
		}
	}
	return appendDecoded(b, src, rec)
}
