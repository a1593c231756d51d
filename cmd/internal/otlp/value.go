package otlp

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/output"
)

// Attributes begin with a comma, which the first of a list loses.

var comma = []byte{','}

func appendInt(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }

func appendHex(b []byte, n uint64) []byte { return strconv.AppendUint(b, n, 16) }

// appendString appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendString[T string | []byte](b []byte, s T) []byte { return output.AppendJSONString(b, s) }

// appendTime appends a time. The protocol has none before 1970.
func appendTime(b []byte, ns int64) []byte {
	return strconv.AppendUint(b, uint64(max(ns, 0)), 10)
}

// appendValue appends a value: a string, or bytes if data is not UTF-8.
func appendValue(b, data []byte) []byte {
	start := len(b)
	b, n := escape.AppendPlain(append(b, `{"stringValue":"`...), data)
	if n == len(data) {
		return append(b, `"}`...)
	}
	b = b[:start]
	if !utf8.Valid(data) {
		b = base64.StdEncoding.AppendEncode(append(b, `{"bytesValue":"`...), data)
		return append(b, `"}`...)
	}
	return append(appendString(append(b, `{"stringValue":`...), data), '}')
}

func appendKey(b []byte, key string) []byte {
	b = append(append(b, `,{"key":"`...), key...)
	return append(b, `","value":`...)
}

func appendIntAttribute(b []byte, key string, n int64) []byte {
	b = appendInt(append(appendKey(b, key), `{"intValue":"`...), n)
	return append(b, `"}}`...)
}

func appendBoolAttribute(b []byte, key string, v bool) []byte {
	b = strconv.AppendBool(append(appendKey(b, key), `{"boolValue":`...), v)
	return append(b, `}}`...)
}

func appendStringAttribute(b []byte, key, value string) []byte {
	return append(appendValue(appendKey(b, key), []byte(value)), '}')
}

func appendHexAttribute(b []byte, key string, n uint64) []byte {
	b = appendHex(append(appendKey(b, key), `{"stringValue":"0x`...), n)
	return append(b, `"}}`...)
}

// appendArray appends an attribute with a list.
func appendArray[T any](b []byte, key string, list []T, value func(T) []byte) []byte {
	b = append(appendKey(b, key), `{"arrayValue":{"values":[`...)
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, value(v))
	}
	return append(b, `]}}}`...)
}

func bytesOf(s string) []byte { return []byte(s) }
