package output

import (
	"strconv"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// CSV is the form for spreadsheets and databases, as in RFC 4180: a line of
// column names, then one line for each event. Names and data are escaped as in
// text, decoded where text decodes them.
type CSV struct {
	begun bool
	sec   int64
	date  []byte // what precedes the nanoseconds in this second
	tmp   []byte
}

// Begin appends the names of the columns.
func (c *CSV) Begin(b []byte) []byte {
	return append(b, "time,pid,tid,event,id,class,address,truncation,size,data\n"...)
}

// End appends nothing.
func (c *CSV) End(b []byte) []byte { return b }

// Append appends the line of one event.
func (c *CSV) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	sec, nsec := splitNano(rec.UnixNano)
	if sec != c.sec || !c.begun {
		c.begun, c.sec = true, sec
		c.date = time.Unix(sec, 0).UTC().AppendFormat(c.date[:0], "2006-01-02T15:04:05.")
	}
	b = append9(append(b, c.date...), nsec)
	b = strconv.AppendInt(append(b, 'Z', ','), int64(rec.PID), 10)
	b = strconv.AppendInt(append(b, ','), int64(rec.TID), 10)
	c.tmp = AppendEscaped(c.tmp[:0], src.Name(rec.ID))
	b = appendCell(append(b, ','), c.tmp)
	b = strconv.AppendUint(append(b, ','), uint64(rec.ID), 10)
	b = append(append(b, ','), Class(rec.ID)...)
	b = appendHex(append(b, ",0x"...), rec.Address)
	b = append(append(b, ','), rec.Truncation.String()...)
	b = strconv.AppendUint(append(b, ','), uint64(len(rec.Data)), 10)
	c.tmp = appendDecoded(c.tmp[:0], src, rec)
	b = appendCell(append(b, ','), c.tmp)
	return append(b, '\n')
}

// appendCell appends a cell between quotes.
func appendCell(b, cell []byte) []byte {
	b = append(b, '"')
	for _, c := range cell {
		if c == '"' {
			b = append(b, '"')
		}
		b = append(b, c)
	}
	return append(b, '"')
}

// appendDecoded appends the data as text without quotes around it: what a
// system event says, the line of an output event, else the bytes, escaped.
func appendDecoded(b []byte, src *Source, rec *posixtrace.Record) []byte {
	switch {
	case rec.ID == posixtrace.EventOutputStdout || rec.ID == posixtrace.EventOutputStderr:
		if d, err := posixtrace.DecodeOutput(rec.Data); err == nil {
			return AppendEscaped(b, d.Line)
		}
	case rec.ID.System():
		start := len(b)
		b = appendSystemText(b, src, rec)
		if len(b) > start {
			b = append(b[:start], b[start+1:]...) // the space before it
		}
		return b
	}
	return AppendEscaped(b, rec.Data)
}
