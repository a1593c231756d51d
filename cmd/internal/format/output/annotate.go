package output

import (
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Annotate shows captured output as it was written, each line with a time before it, like
// ts(1):
//
//	0.000812 cc -c a.c
//
// It leaves out the control sequences that changed nothing of the line, and escapes all others, and
// what else a terminal would act on except tabs. With Color it passes colours on and resets them at
// the end of each line; otherwise it leaves them out. Other events appear as name and data in brackets. With CostTime, proc.exit is not shown: it ends the
// last line of its command.
type Annotate struct {
	Text  *Text // has the style and base of the times
	Color bool  // pass sequences that select a graphic rendition
	Exits bool  // with CostTime: show proc.exit, too

	colored bool  // the current line has selected a rendition
	last    int64 // time of the previous line, for DeltaTime
	started bool
	open    bool // the current line has no newline yet
	costs   costs
	parts   bool // it continues in a later event
	id      posixtrace.EventID
	pid     int
}

func newAnnotate(s *Settings) (Form, error) {
	return &Annotate{Text: s.Text, Color: s.Color, Exits: s.Exits}, nil
}

// Begin appends nothing.
func (a *Annotate) Begin(b []byte) []byte { return b }

// End ends a line whose rest was not recorded. A line that was written without a newline
// gets none.
func (a *Annotate) End(b []byte) []byte {
	if a.Text.Style == CostTime {
		return a.endCosts(b)
	}
	return a.endLine(b)
}

func (a *Annotate) endLine(b []byte) []byte {
	b = a.reset(b)
	if a.open && a.parts {
		b = append(b, '\n')
	}
	return b
}

// Append appends a line, or the next part of one.
func (a *Annotate) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if a.Text.Style == CostTime {
		return a.appendCosts(b, src, rec)
	}
	continues := a.continues(rec)
	if !continues && overwritten(rec) {
		return b
	}
	if !continues {
		if a.open {
			b = append(a.reset(b), '\n')
		}
		on, off := a.around(rec.ID)
		b = append(a.appendTime(append(b, on...), rec.UnixNano), off...)
	}
	return a.appendText(b, src, rec)
}

// overwritten reports whether an event is a line without text that the next one overwrote: a carriage
// return at the start of a line.
func overwritten(rec *posixtrace.Record) bool {
	if !isOutput(rec.ID) {
		return false
	}
	d, err := posixtrace.DecodeOutput(rec.Data)
	return err == nil && d.Return && escape.Blank(d.Line)
}

// continues reports whether an event is the next part of the current line.
func (a *Annotate) continues(rec *posixtrace.Record) bool {
	return a.open && a.parts && a.id == rec.ID && a.pid == rec.PID
}

// appendText appends an event without its time.
func (a *Annotate) appendText(b []byte, src *Source, rec *posixtrace.Record) []byte {
	a.open, a.id, a.pid = false, rec.ID, rec.PID
	if rec.ID == posixtrace.EventOutputStdout || rec.ID == posixtrace.EventOutputStderr {
		if d, err := posixtrace.DecodeOutput(rec.Data); err == nil {
			b = a.appendLine(b, d.Line)
			if rec.Truncation != posixtrace.TruncationNone {
				b = append(b, "..."...)
			}
			a.open, a.parts = d.Continues || d.NoNewline, d.Continues
			if a.open {
				return b
			}
			return append(a.reset(b), '\n')
		}
	}
	on, off := "", ""
	if p := a.Text.Paints; p != nil && (failure(rec) || a.Text.Note != nil && a.Text.Note(src, rec).Failed) {
		on, off = p.Failure.On, p.Failure.Off
	}
	b = append(append(append(b, on...), '['), src.name(rec.ID).text...)
	if rec.ID.System() {
		b = appendSystemText(b, src, rec)
	} else {
		b = appendData(b, rec.Data, rec.Truncation)
	}
	return append(append(append(b, ']'), off...), '\n')
}

// around returns the colour sequences around the time of a line: another one for standard error.
func (a *Annotate) around(id posixtrace.EventID) (on, off string) {
	if p := a.Text.Paints; p != nil && id == posixtrace.EventOutputStderr && a.Text.Style != NoTime {
		return p.Stderr.On, p.Stderr.Off
	}
	return a.Text.TimeOn, a.Text.TimeOff
}

// appendTime appends the time of a line and a space.
func (a *Annotate) appendTime(b []byte, ns int64) []byte {
	from := a.Text.Base
	switch a.Text.Style {
	case NoTime:
		return b
	case AbsoluteTime:
		return time.Unix(0, ns).AppendFormat(b, "2006-01-02T15:04:05.000000Z07:00 ")
	case DeltaTime:
		if !a.started {
			a.last = ns
		}
		from = a.last
	}
	a.started, a.last = true, ns
	return appendMicroseconds(b, "", ns-from)
}

// appendMicroseconds appends a duration in a column, after a mark, and a space.
func appendMicroseconds(b []byte, mark string, ns int64) []byte {
	var buf [32]byte
	d := AppendSeconds(append(buf[:0], mark...), ns)
	return appendColumn(b, d[:len(d)-3])
}

// appendColumn appends text that ends at the right edge of the column of times, and a space.
func appendColumn(b, text []byte) []byte {
	const width = len("1234.567890")
	for n := len(text); n < width; n++ {
		b = append(b, ' ')
	}
	return append(append(b, text...), ' ')
}

// appendLine appends a line of output, escaped as Annotate says.
func (a *Annotate) appendLine(b, line []byte) []byte {
	b, colored := escape.AppendStyled(b, line, a.Color)
	a.colored = a.colored || colored
	return b
}

// reset ends the colours of a line.
func (a *Annotate) reset(b []byte) []byte {
	if !a.colored {
		return b
	}
	a.colored = false
	return append(b, "\x1b[0m"...)
}
