package send

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
)

// maxAnswer bounds what is read of an answer.
const maxAnswer = 4 << 20

// answer is what a server says about a batch that it has taken.
type answer struct {
	rejected int64  // spans, log records or data points that it has not taken
	message  string // why, or advice
}

var errAnswer = errors.New("not the answer of a collector")

// readAnswer reads the body of an answer 2xx: an Export<signal>ServiceResponse. It is in JSON, as the
// request is, but some servers answer in the other encoding of OTLP, and some without a body or without
// a content type. An object of JSON without the member partialSuccess is such a response only if it is
// empty: a server that answers {"error":"..."} has not said that it took the batch.
func readAnswer(contentType string, body []byte) (answer, error) {
	kind, _, _ := mime.ParseMediaType(contentType)
	if kind == "application/x-protobuf" || kind == "application/protobuf" {
		return decodeProto(body)
	}
	if body = bytes.TrimSpace(body); len(body) == 0 {
		return answer{}, nil
	}
	return decodeJSON(body)
}

func decodeJSON(body []byte) (a answer, err error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil || members == nil {
		return a, errAnswer
	}
	part, ok := members["partialSuccess"]
	if !ok {
		part, ok = members["partial_success"] // the name in the definition of the message
	}
	if !ok && len(members) > 0 {
		return a, errAnswer
	}
	var p struct {
		Spans    count  `json:"rejectedSpans"`
		Spans2   count  `json:"rejected_spans"`
		Records  count  `json:"rejectedLogRecords"`
		Records2 count  `json:"rejected_log_records"`
		Points   count  `json:"rejectedDataPoints"`
		Points2  count  `json:"rejected_data_points"`
		Message  string `json:"errorMessage"`
		Message2 string `json:"error_message"`
	}
	if ok && json.Unmarshal(part, &p) != nil {
		return a, errAnswer
	}
	return answer{int64(p.Spans | p.Spans2 | p.Records | p.Records2 | p.Points | p.Points2), p.Message + p.Message2}, nil
}

// count is a 64-bit integer in the JSON of Protobuf: a number or a string.
type count int64

func (n *count) UnmarshalJSON(text []byte) error {
	s := strings.Trim(string(text), `"`)
	if s == "" || s == "null" {
		return nil
	}
	i, err := strconv.ParseInt(s, 10, 64)
	*n = count(i)
	return err
}

// decodeProto decodes the response in the binary encoding of Protobuf:
// {1: {1: rejected, a varint; 2: message}}, and what later versions add.
func decodeProto(body []byte) (a answer, err error) {
	err = fields(body, func(number, _ uint64, part []byte) error {
		if number != 1 {
			return nil
		}
		if part == nil {
			return errAnswer
		}
		return fields(part, func(number, n uint64, text []byte) error {
			switch number {
			case 1:
				a.rejected = int64(n)
			case 2:
				a.message = string(text)
			}
			return nil
		})
	})
	return a, err
}

// fields calls f for each field of a message, with its number or its bytes, which are not nil.
func fields(b []byte, f func(number, n uint64, bytes []byte) error) error {
	next := func() (n uint64, ok bool) {
		n, size := binary.Uvarint(b)
		b = b[max(size, 0):]
		return n, size > 0
	}
	for len(b) > 0 {
		tag, ok := next()
		var n uint64
		var part []byte
		size := -1
		switch tag & 7 {
		case 0:
			var is bool
			n, is = next()
			ok = ok && is
			size = 0
		case 1:
			size = 8
		case 2:
			if n, is := next(); is && n <= uint64(len(b)) {
				size = int(n)
				part = append([]byte{}, b[:size]...)
			}
		case 5:
			size = 4
		}
		if !ok || tag>>3 == 0 || size < 0 || size > len(b) {
			return errAnswer
		}
		b = b[size:]
		if err := f(tag>>3, n, part); err != nil {
			return err
		}
	}
	return nil
}

// excerpt returns what an answer looks like that is none of a collector: its message, if it is a
// google.rpc.Status or the like, else its content type.
func excerpt(contentType string, body []byte) string {
	var a struct {
		Message string
		Error   json.RawMessage
	}
	json.Unmarshal(body, &a)
	switch {
	case a.Message != "":
		return short(a.Message)
	case len(a.Error) > 0:
		return short(string(a.Error))
	case contentType == "":
		return short(strings.TrimSpace(http.DetectContentType(body)))
	}
	return short(contentType)
}

// isPage reports whether an answer is a page for people.
func isPage(contentType string) bool {
	kind, _, _ := mime.ParseMediaType(contentType)
	return kind == "text/html" || kind == "application/xhtml+xml"
}

// message returns the reason in an answer that is a google.rpc.Status.
func message(answer []byte) string {
	var a struct{ Message string }
	if json.Unmarshal(answer, &a) != nil {
		return ""
	}
	return short(a.Message)
}

func short(s string) string { return s[:escape.Cut(s, 200)] }
