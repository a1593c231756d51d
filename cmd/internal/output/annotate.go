package output

import (
	"bytes"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Annotate is captured output as it was written, each line with a time before
// it, in the manner of ts(1):
//
//	0.000812 cc -c a.c
//
// What a terminal would act on is escaped, but for tabs. Events that are no output
// are shown by name and data between brackets.
type Annotate struct {
	Text *Text // whose style and base are those of the times

	last  int64 // of the line before, for DeltaTime
	begun bool
	open  bool // the line so far has no newline
	parts bool // because it goes on in a later event
	id    posixtrace.EventID
	pid   int
}

// Begin appends nothing.
func (a *Annotate) Begin(b []byte) []byte { return b }

// End ends a line whose rest was not recorded. One that was written without a
// newline stays as it was.
func (a *Annotate) End(b []byte) []byte {
	if a.open && a.parts {
		b = append(b, '\n')
	}
	return b
}

// Append appends a line, or the next part of one.
func (a *Annotate) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	goesOn := a.open && a.parts && a.id == rec.ID && a.pid == rec.PID
	if !goesOn {
		if a.open {
			b = append(b, '\n')
		}
		b = append(b, a.Text.TimeOn...)
		b = a.appendTime(b, rec.UnixNano)
		b = append(b, a.Text.TimeOff...)
	}
	a.open, a.id, a.pid = false, rec.ID, rec.PID
	if rec.ID == posixtrace.EventOutputStdout || rec.ID == posixtrace.EventOutputStderr {
		if d, err := posixtrace.DecodeOutput(rec.Data); err == nil {
			b = appendLine(b, d.Line)
			if rec.Truncation != posixtrace.NotTruncated {
				b = append(b, "..."...)
			}
			a.open, a.parts = d.Continues || d.NoNewline, d.Continues
			if a.open {
				return b
			}
			return append(b, '\n')
		}
	}
	b = append(append(b, '['), src.name(rec.ID).text...)
	if rec.ID.System() {
		b = appendSystemText(b, src, rec)
	} else {
		b = appendData(b, rec.Data, rec.Truncation)
	}
	return append(b, ']', '\n')
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
		if !a.begun {
			a.last = ns
		}
		from = a.last
	}
	a.begun, a.last = true, ns
	var buf [32]byte
	d := AppendSeconds(buf[:0], ns-from)
	d = d[:len(d)-3] // microseconds will do
	const width = len("1234.567890")
	for n := len(d); n < width; n++ {
		b = append(b, ' ')
	}
	return append(append(b, d...), ' ')
}

// appendLine appends a line as people may see it.
func appendLine(b, line []byte) []byte {
	for {
		before, after, found := bytes.Cut(line, []byte{'\t'})
		b = AppendPrintable(b, before)
		if !found {
			return b
		}
		b = append(b, '\t')
		line = after
	}
}
