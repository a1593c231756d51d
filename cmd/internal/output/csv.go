package output

import (
	"bytes"
	"strconv"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/typename"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// CSV is the form for spreadsheets and databases, as in RFC 4180: a line of column names,
// then one line for each event. Names and data are decoded and escaped as in Text. A
// character that would make a cell a formula is escaped too.
type CSV struct {
	started bool
	sec     int64
	date    []byte // the text before the nanoseconds, in this second
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
	sec, nsec := splitNano(rec.UnixNano)
	if sec != c.sec || !c.started {
		c.started, c.sec = true, sec
		c.date = time.Unix(sec, 0).UTC().AppendFormat(c.date[:0], "2006-01-02T15:04:05.")
	}
	b = append9(append(b, c.date...), nsec)
	b = strconv.AppendInt(append(b, 'Z', ','), int64(rec.PID), 10)
	b = strconv.AppendInt(append(b, ','), int64(rec.TID), 10)
	c.tmp = escape.Append(c.tmp[:0], src.Name(rec.ID))
	b = appendCell(append(b, ','), c.tmp)
	b = strconv.AppendUint(append(b, ','), uint64(rec.ID), 10)
	b = append(append(b, ','), typename.Class(rec.ID)...)
	b = appendHex(append(b, ",0x"...), rec.Address)
	b = append(append(b, ','), rec.Truncation.String()...)
	b = strconv.AppendUint(append(b, ','), uint64(len(rec.Data)), 10)
	c.tmp = appendDecoded(c.tmp[:0], src, rec)
	b = appendCell(append(b, ','), c.tmp)
	return append(b, '\n')
}

// appendCell appends a cell between quotes. Spreadsheets interpret formulas even between
// quotes, so appendCell writes the character that would start one as \xHH. Some spreadsheets
// skip spaces before it, and where the list separator is a semicolon each part of the cell is
// a cell. A number stays as it is.
func appendCell(b, cell []byte) []byte {
	b = append(b, '"')
	first := !isNumber(cell)
	for i := 0; i < len(cell); i++ {
		switch c := cell[i]; {
		case first && (c == '=' || c == '+' || c == '-' || c == '@'):
			b = escape.AppendHexByte(b, c)
		case first && isWideFormula(cell[i:]):
			b = escape.AppendHexByte(escape.AppendHexByte(escape.AppendHexByte(b, c), cell[i+1]), cell[i+2])
			i += 2
		case c == '"':
			b = append(b, '"', '"')
		default:
			b = append(b, c)
		}
		first = cell[i] == ';' || first && cell[i] == ' '
	}
	return append(b, '"')
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
	switch {
	case rec.ID == posixtrace.EventOutputStdout || rec.ID == posixtrace.EventOutputStderr:
		if d, err := posixtrace.DecodeOutput(rec.Data); err == nil {
			return escape.Append(b, d.Line)
		}
	case rec.ID.System():
		start := len(b)
		b = appendSystemText(b, src, rec)
		if len(b) > start {
			b = append(b[:start], b[start+1:]...) // the space before it
		}
		return b
	}
	return escape.Append(b, rec.Data)
}
