package output

import (
	"encoding/base64"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// JSON is the form for programs: one object on each line, with its keys always in the same
// order. Times are also given as two numbers, since most readers would round a number of 19
// digits.
type JSON struct {
	started bool
	sec     int64
	date    []byte  // the text before the nanoseconds, in this second
	between []byte  // the text after them, up to the nsec member
	from    int64   // the start of the window
	shown   []byte  // the text before the last digits, in this window; empty at first
	again   []byte  // the text between the last digits and their repetition in nsec; empty if nsec has leading zeros
	phrases phrases // the text from there to the size
}

func newJSON(s *Settings) (Form, error) {
	if s.Golden {
		return &Golden{InJSON: true, Masks: s.Masks}, nil
	}
	return &JSON{}, nil
}

// Begin appends nothing.
func (j *JSON) Begin(b []byte) []byte { return b }

// End appends nothing.
func (j *JSON) End(b []byte) []byte { return b }

// Append appends the object of one event and a newline.
func (j *JSON) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if !within(rec.UnixNano, j.from) || len(j.shown) == 0 {
		j.begin(rec.UnixNano)
	}
	last := uint32(rec.UnixNano - j.from)
	b = append4(append(b, j.shown...), last)
	if len(j.again) > 0 {
		b = append4(append(b, j.again...), last)
	} else {
		_, nsec := splitNano(rec.UnixNano)
		b = strconv.AppendUint(append(b, j.between...), uint64(nsec), 10)
	}
	of := member{src, rec.PID, rec.TID, rec.Address, rec.ID, rec.Truncation}
	p, ok := j.phrases.find(&of)
	if !ok {
		j.make(p, &of)
	}
	b = strconv.AppendUint(append(b, p.text...), uint64(len(rec.Data)), 10)
	if rec.ID.System() {
		b = appendSystemJSON(b, src, rec)
	} else {
		b = appendDataJSON(b, rec.Data, rec.Truncation)
	}
	if rec.Span != 0 {
		b = appendSpanJSON(b, rec)
	}
	if src.ended != nil {
		b = appendEndedJSON(b, src.ended)
	}
	if src.symbols != nil {
		b = appendSymbolJSON(b, src, rec)
	}
	return append(b, '}', '\n')
}

// appendSpanJSON appends the keys of spans, as text, since most readers would round numbers
// of 64 bits.
func appendSpanJSON(b []byte, rec *posixtrace.Record) []byte {
	b = append(appendHex(append(b, `,"span":"0x`...), rec.Span), '"')
	if rec.Parent != 0 {
		b = append(appendHex(append(b, `,"parent":"0x`...), rec.Parent), '"')
	}
	return b
}

// begin starts the window of a time.
func (j *JSON) begin(ns int64) {
	sec, nsec := splitNano(ns)
	if sec != j.sec || !j.started {
		j.started, j.sec = true, sec
		j.date = append(j.date[:0], `{"time":"`...)
		j.date = time.Unix(sec, 0).UTC().AppendFormat(j.date, "2006-01-02T15:04:05.")
		j.between = append(j.between[:0], `Z","sec":`...)
		j.between = strconv.AppendInt(j.between, sec, 10)
		j.between = append(j.between, `,"nsec":`...)
	}
	j.from = ns - int64(nsec%window)
	j.shown = Append9(append(j.shown[:0], j.date...), nsec)
	j.shown = j.shown[:len(j.shown)-lastDigits]
	j.again = j.again[:0]
	if nsec >= 1e8 {
		j.again = append(append(j.again, j.between...), j.shown[len(j.date):]...)
	}
}

// make makes the phrase of a member: the text between the time and the value of size.
func (j *JSON) make(p *phrase, of *member) {
	p.of = *of
	b := strconv.AppendInt(append(p.text[:0], `,"pid":`...), int64(of.pid), 10)
	b = strconv.AppendInt(append(b, `,"tid":`...), int64(of.tid), 10)
	name := of.src.name(of.id)
	b = appendHex(append(b, name.json...), of.addr)
	b = append(append(b, `","truncation":"`...), of.cut.String()...)
	b = append(b, '"')
	if ev := (posixtrace.EventInfo{Address: of.addr}); ev.Coarse() {
		b = append(b, `,"coarse":true`...)
	}
	p.text = append(b, `,"size":`...)
	if !name.known {
		p.forget()
	}
}

// appendTypeJSON appends the members that depend only on the event type, up to the address.
func appendTypeJSON(b []byte, id posixtrace.EventID, name string) []byte {
	b = AppendJSONString(append(b, `,"event":`...), name)
	b = strconv.AppendUint(append(b, `,"id":`...), uint64(id), 10)
	b = append(append(b, `,"class":"`...), catalog.TypeClass(id)...)
	return append(b, `","address":"0x`...)
}

func appendHex(b []byte, v uint64) []byte { return escape.AppendHex(b, v) }

// appendDataJSON appends data as a string if it is text, in base64 otherwise. Of text that was truncated
// within a character, the bytes of that character stand behind it.
func appendDataJSON(b []byte, data []byte, cut posixtrace.Truncation) []byte {
	start := len(b)
	b, n := escape.AppendPlain(append(b, `,"data":"`...), data)
	if n == len(data) {
		return append(b, '"')
	}
	b = b[:start]
	if !utf8.Valid(data) {
		if n := escape.Whole(data); n < len(data) && cut != posixtrace.TruncationNone {
			b = append(AppendJSONString(append(b, `,"data":`...), data[:n]), `,"rest_base64":"`...)
			return append(base64.StdEncoding.AppendEncode(b, data[n:]), '"')
		}
		b = append(b, `,"data_base64":"`...)
		b = base64.StdEncoding.AppendEncode(b, data)
		return append(b, '"')
	}
	return AppendJSONString(append(b, `,"data":`...), data)
}

// AppendJSONString appends s as a JSON string. It writes a character that is not Visible as
// \uXXXX, so that a listing is harmless on a terminal and still exact. Bytes that are not
// UTF-8 become U+FFFD.
func AppendJSONString[T string | []byte](b []byte, s T) []byte {
	return append(appendJSON(append(b, '"'), []byte(s)), '"')
}

func appendJSON(b, s []byte) []byte {
	for {
		var n int
		if b, n = escape.AppendPlain(b, s); n == len(s) {
			return b
		}
		s = s[n:]
		r, n := utf8.DecodeRune(s)
		switch {
		case r >= utf8.RuneSelf && r != utf8.RuneError && escape.Visible(r):
			b = append(b, s[:n]...)
		case r < utf8.RuneSelf:
			b = escape.AppendJSONByte(b, byte(r))
		case r >= 0x10000:
			r -= 0x10000
			b = escape.AppendJSONUnit(escape.AppendJSONUnit(b, uint16(0xd800+r>>10)), uint16(0xdc00+r&0x3ff))
		default:
			b = escape.AppendJSONUnit(b, uint16(r))
		}
		s = s[n:]
	}
}

// AppendMember appends a comma and a member of an object. The value is a string, []string,
// bool, float64, int, int64 or uint64.
func AppendMember(b []byte, key string, value any) []byte {
	b = append(AppendJSONString(append(b, ','), key), ':')
	switch v := value.(type) {
	case string:
		b = AppendJSONString(b, v)
	case []string:
		b = appendListJSON(b, v)
	case bool:
		b = strconv.AppendBool(b, v)
	case float64:
		b = strconv.AppendFloat(b, v, 'f', -1, 64)
	case int:
		b = strconv.AppendInt(b, int64(v), 10)
	case int64:
		b = strconv.AppendInt(b, v, 10)
	case uint64:
		b = strconv.AppendUint(b, v, 10)
	default:
		panic("output: a member of no known type")
	}
	return b
}

func appendListJSON(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendJSONString(b, s)
	}
	return append(b, ']')
}
