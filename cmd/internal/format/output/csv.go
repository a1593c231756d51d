package output

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// CSV is the form for spreadsheets and databases, as in RFC 4180: a line of column names,
// then one line for each event. Names and data are decoded and escaped as in Text. A
// character that would make a cell a formula is escaped too.
type CSV struct {
	started bool
	sec     int64
	date    []byte  // the text before the nanoseconds, in this second
	stamp   stamp   // of the latest time
	phrases phrases // the text from the process to the size
	tmp     []byte
}

func newCSV(*Settings) (Form, error) { return &CSV{}, nil }

// Begin appends the names of the columns.
func (c *CSV) Begin(b []byte) []byte {
	return append(b, "time,pid,tid,event,id,class,address,truncation,size,data\n"...)
}

// End appends nothing.
func (c *CSV) End(b []byte) []byte { return b }

// Append appends the line of one event.
func (c *CSV) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	b = c.appendTime(b, rec.UnixNano)
	of := member{src, rec.PID, rec.TID, rec.Address, rec.ID, rec.Truncation}
	p, ok := c.phrases.find(&of)
	if !ok {
		c.make(p, &of)
	}
	b = strconv.AppendUint(append(b, p.text...), uint64(len(rec.Data)), 10)
	return append(c.appendData(append(b, ','), src, rec), '\n')
}

// appendTime appends the time and a comma.
func (c *CSV) appendTime(b []byte, ns int64) []byte {
	if d := uint64(ns - c.stamp.from); d < c.stamp.room {
		return c.stamp.appendTo(slices.Grow(b, stampRoom), uint32(d))
	}
	sec, nsec := splitNano(ns)
	if sec != c.sec || !c.started {
		c.started, c.sec = true, sec
		c.date = time.Unix(sec, 0).UTC().AppendFormat(c.date[:0], "2006-01-02T15:04:05.")
	}
	zone := []byte("Z,")
	c.stamp.set(ns, nsec, c.date, zone)
	return append(Append9(append(b, c.date...), nsec), zone...)
}

// make makes the phrase of a member: the cells from the process to the truncation, and a comma.
func (c *CSV) make(p *phrase, of *member) {
	p.of = *of
	b := append(strconv.AppendInt(p.text[:0], int64(of.pid), 10), ',')
	b = append(strconv.AppendInt(b, int64(of.tid), 10), ',')
	name := of.src.name(of.id)
	c.tmp = escape.Append(c.tmp[:0], name.raw)
	b = append(appendCell(b, c.tmp), ',')
	b = append(strconv.AppendUint(b, uint64(of.id), 10), ',')
	b = append(b, catalog.TypeClass(of.id)...)
	b = append(appendHex(append(b, ",0x"...), of.addr), ',')
	p.text = append(append(b, of.cut.String()...), ',')
	if !name.known {
		p.forget()
	}
}

// appendData appends the cell of an event's data.
func (c *CSV) appendData(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if data, ok := rawData(rec); ok && startsNoFormula(data) {
		if whole, n := escape.AppendPlain(append(b, '"'), data); n == len(data) {
			return append(whole, '"')
		}
	}
	c.tmp = appendDecoded(c.tmp[:0], src, rec)
	return appendCell(b, c.tmp)
}

// startsNoFormula reports whether appendCell leaves data as it is if all of it is plain.
func startsNoFormula(data []byte) bool {
	if len(data) == 0 {
		return true
	}
	switch data[0] {
	case '=', '+', '-', '@', ' ':
		return false
	}
	return bytes.IndexByte(data, ';') < 0
}

// appendCell appends a cell between quotes. Spreadsheets interpret formulas even between
// quotes, so appendCell writes the character that would start one as \xHH. Some spreadsheets
// skip spaces before it, and where the list separator is a semicolon each part of the cell is
// a cell. A number stays as it is.
func appendCell(b, cell []byte) []byte {
	b = append(b, '"')
	first := !isNumber(cell)
	for i := 0; i < len(cell); i++ {
		if !first {
			n := bytes.IndexByte(cell[i:], ';') // it and the text before it start nothing
			if n++; n == 0 {
				n = len(cell) - i
			}
			b = appendDoubled(b, cell[i:i+n])
			i += n - 1
			first = cell[i] == ';'
			continue
		}
		switch c := cell[i]; {
		case c == '=' || c == '+' || c == '-' || c == '@':
			b = escape.AppendHexByte(b, c)
		case isWideFormula(cell[i:]):
			b = escape.AppendHexByte(escape.AppendHexByte(escape.AppendHexByte(b, c), cell[i+1]), cell[i+2])
			i += 2
		case c == '"':
			b = append(b, '"', '"')
		default:
			b = append(b, c)
		}
		first = cell[i] == ';' || cell[i] == ' '
	}
	return append(b, '"')
}

// appendDoubled appends s with each quote doubled.
func appendDoubled(b, s []byte) []byte {
	for {
		n := bytes.IndexByte(s, '"')
		if n < 0 {
			return append(b, s...)
		}
		b = append(append(b, s[:n+1]...), '"')
		s = s[n+1:]
	}
}

// isWideFormula reports whether s starts with the full-width variant of a character that
// starts a formula.
func isWideFormula(s []byte) bool {
	if len(s) < 3 || s[0] != 0xef || s[1] != 0xbc {
		return false
	}
	switch s[2] {
	case 0x8b, 0x8d, 0x9d, 0xa0: // U+FF0B, U+FF0D, U+FF1D, U+FF20
		return true
	}
	return false
}

// isNumber reports whether s is a decimal number, with or without a sign.
func isNumber(s []byte) bool {
	if len(s) > 0 && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	whole, fraction, point := bytes.Cut(s, []byte{'.'})
	return isDigits(whole) && (!point || isDigits(fraction))
}

func isDigits(s []byte) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) > 0
}

// appendDecoded appends the data as escaped text without quotes: the decoded data of a
// system event, the line of an output event, the bytes of any other.
func appendDecoded(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if data, ok := rawData(rec); ok {
		return escape.Append(b, data)
	}
	start := len(b)
	b = appendSystemText(b, src, rec)
	if len(b) > start {
		b = append(b[:start], b[start+1:]...) // the space before it
	}
	return b
}

// rawData returns the data if it is the bytes of a program: the line of an output event, or the
// data of a user event.
func rawData(rec *posixtrace.Record) (data []byte, ok bool) {
	if isOutput(rec.ID) {
		if d, err := posixtrace.DecodeOutput(rec.Data); err == nil {
			return d.Line, true
		}
		return rec.Data, true
	}
	return rec.Data, !rec.ID.System()
}
