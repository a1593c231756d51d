package analysis

import (
	"bytes"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Outcome is how a span ended, by the data of its end. A span fails
//
//   - if the data is "error" or begins with "error:", as package posixspan and programs write it;
//   - if the data is a status from 1 to 255, and comes from a shell or ptrace-event;
//   - if the span has a key, comes through the spool, and its data is a text that begins with no digit:
//     the functions for shells write nothing but a status there.
//
// All other data is ordinary, such as "42 rows".
type Outcome struct {
	Failed bool
	Status int    // 0 if the span failed with the text of an error
	Error  []byte // the first MaxSpanData bytes of that text, a part of the data of the event
}

// errorWord begins the data of a span that failed.
const errorWord = "error"

// OutcomeOf returns how a span ended that an event ends.
func OutcomeOf(rec *posixtrace.Record) Outcome {
	if rest, ok := bytes.CutPrefix(rec.Data, []byte(errorWord)); ok && (len(rest) == 0 || rest[0] == ':') {
		text := bytes.TrimSpace(rest[min(1, len(rest)):])
		if len(text) == 0 {
			text = rec.Data[:len(errorWord)]
		}
		return withError(text)
	}
	spooled := rec.Address&posixtrace.SpoolAddress != 0
	if rec.Address != 0 && !spooled || len(rec.Data) == 0 {
		return Outcome{}
	}
	if status, ok := statusOf(rec.Data); ok {
		return Outcome{Failed: status != 0, Status: status}
	}
	if text := bytes.TrimSpace(rec.Data); spooled && rec.Span != 0 && len(text) > 0 && (text[0] < '0' || text[0] > '9') {
		return withError(text)
	}
	return Outcome{}
}

// withError returns the outcome with the text of an error, cut at a character if it is long.
func withError(text []byte) Outcome {
	return Outcome{Failed: true, Error: text[:escape.Cut(text, MaxSpanData)]}
}

// statusOf parses an exit status.
func statusOf(data []byte) (status int, ok bool) {
	if len(data) > 3 {
		return 0, false
	}
	for _, c := range data {
		if c < '0' || c > '9' {
			return 0, false
		}
		status = 10*status + int(c-'0')
	}
	return status, status <= 255
}
