package otlp

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// An attribute is a comma, which the first of a list loses, a key, a value and a bracket. The functions
// below get the text up to the value as one constant, since an event has a dozen of them: attr, the
// key, and what is before a value of its kind.
const (
	attr     = `,{"key":"`
	isString = `","value":` + aString
	isInt    = `","value":{"intValue":"`
	isBool   = `","value":{"boolValue":`
	isArray  = `","value":{"arrayValue":{"values":[`
	isHex    = isString + "0x"

	aString   = `{"stringValue":"`
	intEnd    = `"}}`
	stringEnd = intEnd
	arrayEnd  = `]}}}`
)

var comma = []byte{','}

func appendInt(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }

// appendString appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendString[T string | []byte](b []byte, s T) []byte { return output.AppendJSONString(b, s) }

// clock writes times: most have the second of the one before.
type clock struct {
	from int64 // the second, in nanoseconds
	text []byte
}

const second = 1e9

// appendTime appends a time. The protocol has none before 1970.
func (c *clock) appendTime(b []byte, ns int64) []byte {
	if ns < second {
		return appendInt(b, max(ns, 0))
	}
	if uint64(ns-c.from) >= second {
		c.from = ns - ns%second
		c.text = appendInt(c.text[:0], ns/second)
	}
	return output.Append9(append(b, c.text...), uint32(ns-c.from))
}

// appendValue appends a value: a string, or bytes if data is not UTF-8.
func appendValue(b, data []byte) []byte { return appendText(append(b, aString...), data) }

// appendText is appendValue where b ends with the start of a string.
func appendText(b, data []byte) []byte {
	start := len(b) - len(aString)
	b, n := escape.AppendPlain(b, data)
	if n == len(data) {
		return append(b, `"}`...)
	}
	b = b[:start]
	if !utf8.Valid(data[n:]) {
		b = base64.StdEncoding.AppendEncode(append(b, `{"bytesValue":"`...), data)
		return append(b, `"}`...)
	}
	return append(appendString(append(b, `{"stringValue":`...), data), '}')
}

func appendIntAttribute(b []byte, is string, n int64) []byte {
	return append(appendInt(append(b, is...), n), intEnd...)
}

func appendBoolAttribute(b []byte, is string, v bool) []byte {
	return append(strconv.AppendBool(append(b, is...), v), `}}`...)
}

func appendTextAttribute(b []byte, is string, value []byte) []byte {
	return append(appendText(append(b, is...), value), '}')
}

func appendStringAttribute(b []byte, is, value string) []byte {
	return appendTextAttribute(b, is, []byte(value))
}

func appendHexAttribute(b []byte, is string, n uint64) []byte {
	return append(escape.AppendHex(append(b, is...), n), intEnd...)
}

// appendStrings appends an attribute with a list.
func appendStrings(b []byte, is string, list []string) []byte {
	b = append(b, is...)
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(append(b, aString...), []byte(s))
	}
	return append(b, arrayEnd...)
}
