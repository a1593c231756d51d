package output

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Format is the form that the user defines; see NewFormat.
type Format struct {
	text  *Text // for times
	parts []part
	seq   uint64
	last  int64
	own   bool // the format is a command of a CI system, and what it inserts must be none
}

// part is literal text and the conversion behind it, 0 for none.
type part struct {
	literal string
	verb    byte
}

// verbs are the conversions of a format.
const verbs = "tDpindxascqkK"

// NewFormat parses a format. In it %t is the time, %D the seconds since the previous event,
// %p the process, %i the thread, %n the name, %d the data, %x the data in hexadecimal, %a the
// address, %s its name (Source.SetSymbols), %c the class, %q the number of the event, %k the key of its span and %K the key of
// the enclosing span, both empty without a span, and %% a percent sign; \n, \t and \\ have
// their meaning in C. A newline follows each event. text has the style and base of %t.
func NewFormat(s string, text *Text) (*Format, error) {
	f := &Format{text: text, own: FormatsCommands(s)}
	var lit strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' && s[i] != '\\' {
			lit.WriteByte(s[i])
			continue
		}
		if i+1 == len(s) {
			return nil, fmt.Errorf("ends in '%c'", s[i])
		}
		i++
		switch c := s[i]; {
		case s[i-1] == '%' && c == '%', s[i-1] == '\\' && c == '\\':
			lit.WriteByte(c)
		case s[i-1] == '\\' && c == 'n':
			lit.WriteByte('\n')
		case s[i-1] == '\\' && c == 't':
			lit.WriteByte('\t')
		case s[i-1] == '%' && strings.IndexByte(verbs, c) >= 0:
			f.parts = append(f.parts, part{lit.String(), c})
			lit.Reset()
		default:
			return nil, fmt.Errorf("unknown '%s'", s[i-1:i+1])
		}
	}
	f.parts = append(f.parts, part{strings.TrimSuffix(lit.String(), "\n") + "\n", 0})
	return f, nil
}

// FormatsCommands reports whether a format itself is to write commands of a CI system.
func FormatsCommands(format string) bool {
	return escape.HasCommand(strings.ReplaceAll(format, `\n`, "\n"))
}

func newFormat(s *Settings) (Form, error) {
	f, err := NewFormat(s.Format, s.Text)
	if err != nil {
		return nil, err
	}
	if s.Golden {
		return &Golden{Format: f, Masks: s.Masks}, nil
	}
	return f, nil
}

// Begin appends nothing.
func (f *Format) Begin(b []byte) []byte { return b }

// End appends nothing.
func (f *Format) End(b []byte) []byte { return b }

// Append appends one event.
func (f *Format) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	return f.append(b, src, rec, nil, nil)
}

// append appends one event. In golden output v has the numbers that replace its ids, and
// hyphens replace its times and its address.
func (f *Format) append(b []byte, src *Source, rec *posixtrace.Record, v *goldenEvent, g *Golden) []byte {
	f.seq++
	if f.seq == 1 {
		f.last = rec.UnixNano
	}
	for _, p := range f.parts {
		b = append(b, p.literal...)
		start := len(b)
		if v != nil && strings.IndexByte("tDpidasxkK", p.verb) >= 0 {
			b = v.appendVerb(b, p.verb, src, rec, g)
		} else {
			b = f.appendVerb(b, p.verb, src, rec)
		}
		if f.own && len(b) > start {
			b = append(b[:start], escape.Commands(slices.Clone(b[start:]), strings.TrimLeft(p.literal, " \t\n") == "")...)
		}
	}
	f.last = rec.UnixNano
	return b
}

// appendVerb appends a conversion.
func (f *Format) appendVerb(b []byte, verb byte, src *Source, rec *posixtrace.Record) []byte {
	switch verb {
	case 't':
		if f.text.Style != NoTime {
			b = f.text.appendTime(b, rec.UnixNano)
			b = b[:len(b)-1] // without the space after it
		}
	case 'D':
		b = AppendSeconds(b, rec.UnixNano-f.last)
	case 'p':
		b = strconv.AppendInt(b, int64(rec.PID), 10)
	case 'i':
		b = strconv.AppendInt(b, int64(rec.TID), 10)
	case 'n':
		b = append(b, src.name(rec.ID).text...)
	case 'd':
		if data, ok := rawData(rec); ok {
			return escape.AppendText(b, data)
		}
		b = appendDecoded(b, src, rec)
	case 'x':
		b = hex.AppendEncode(b, rec.Data)
	case 'a':
		b = appendHex(append(b, "0x"...), rec.Address)
	case 's':
		b = appendSymbol(b, src, rec)
	case 'c':
		b = append(b, catalog.TypeClass(rec.ID)...)
	case 'q':
		b = strconv.AppendUint(b, f.seq, 10)
	case 'k':
		b = appendKey(b, rec.Span)
	case 'K':
		b = appendKey(b, rec.Parent)
	}
	return b
}

// appendKey appends the key of a span, or nothing if key is 0.
func appendKey(b []byte, key uint64) []byte {
	if key == 0 {
		return b
	}
	return appendHex(append(b, "0x"...), key)
}

// appendVerb appends a conversion that golden output shows in its own way.
func (v *goldenEvent) appendVerb(b []byte, verb byte, src *Source, rec *posixtrace.Record, g *Golden) []byte {
	numbered := func(letter byte, n int) []byte {
		if n == 0 && letter == 'S' {
			return b
		}
		return strconv.AppendInt(append(b, letter), int64(n), 10)
	}
	switch verb {
	case 'p':
		return numbered('P', v.pid)
	case 'i':
		return numbered('T', v.tid)
	case 'k':
		return numbered('S', v.span)
	case 'K':
		return numbered('S', v.parent)
	case 'd', 'x':
		out := rec.ID == posixtrace.EventOutputStdout || rec.ID == posixtrace.EventOutputStderr
		switch {
		case rec.ID.System() && !out && verb == 'd':
			start := len(b)
			if b = g.appendText(b, src, rec); len(b) > start {
				b = append(b[:start], b[start+1:]...) // the space before it
			}
			return b
		case verb == 'd':
			return appendDecoded(b, src, rec)
		case !rec.ID.System() || out:
			return hex.AppendEncode(b, rec.Data)
		}
	}
	return append(b, '-')
}
