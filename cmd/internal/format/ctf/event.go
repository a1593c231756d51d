package ctf

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

var le = binary.LittleEndian

// eventHead is the size of the header and the context that all events have.
const eventHead = 2 + 8 + 4 + 4 + 8 + 1

// appendEvent appends an event.
func (t *Trace) appendEvent(b []byte, rec *posixtrace.Record) []byte {
	start := len(b)
	head := (*[eventHead]byte)(grow(b, eventHead)[start:])
	b = b[:start+eventHead]
	le.PutUint64(head[2:], uint64(rec.UnixNano-t.base))
	le.PutUint32(head[10:], uint32(rec.PID))
	le.PutUint32(head[14:], uint32(rec.TID))
	le.PutUint64(head[18:], rec.Address)
	head[26] = byte(rec.Truncation)
	t.empty, t.strings = 0, 0
	spans := kind(0)
	if rec.Span != 0 {
		spans = inSpan
		b = le.AppendUint64(b, rec.Span)
		b = le.AppendUint64(b, rec.Parent)
	}
	k := text
	var fields []string
	payload := len(b)
	if rec.ID.System() {
		b, k, fields = t.appendMembers(b, rec)
	}
	if fields == nil {
		b, t.empty, t.strings = b[:payload], 0, 0
		if k, fields = text, textFields; !isText(rec.Data) {
			k, fields = raw, rawFields
		}
		b = t.appendData(b, rec.Data, k)
	}
	le.PutUint16(b[start:], t.class(rec.ID, k|spans, fields))
	return b
}

// grow returns b with room for n more bytes, as part of it.
func grow(b []byte, n int) []byte {
	if len(b)+n <= cap(b) {
		return b[:len(b)+n]
	}
	return append(b, make([]byte, n)...)
}

// isText reports whether data can be a string of CTF. Most data is ASCII.
func isText(data []byte) bool {
	const low, high = 0x0101010101010101, 0x8080808080808080
	rest := data
	for len(rest) >= 8 {
		w := le.Uint64(rest)
		if (w|(w-low))&high != 0 {
			return isUTF8(data)
		}
		rest = rest[8:]
	}
	for _, c := range rest {
		if c-1 >= 0x7f {
			return isUTF8(data)
		}
	}
	return true
}

func isUTF8(data []byte) bool { return bytes.IndexByte(data, 0) < 0 && utf8.Valid(data) }

// appendData appends bytes as a string, or as an array.
func (t *Trace) appendData(b, data []byte, k kind) []byte {
	if k&1 == 0 {
		if len(data) == 0 {
			t.empty |= 1 << t.strings
		}
		t.strings++
		return append(append(b, data...), 0)
	}
	return append(le.AppendUint32(b, uint32(len(data))), data...)
}

// areText reports whether data can be strings of CTF, n of them before it. Which of the strings beyond
// the 64th are empty is not noted.
func areText[T any](n int, list []T, data func(T) []byte) bool {
	for i, v := range list {
		if d := data(v); len(d) == 0 && n+i >= 64 || !isText(d) {
			return false
		}
	}
	return true
}

// appendStrings appends strings that are not empty.
func appendStrings(b []byte, list []string) []byte {
	b = le.AppendUint32(b, uint32(len(list)))
	for _, s := range list {
		b = append(append(b, s...), 0)
	}
	return b
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}
