package output

import "github.com/posixtrace/posixtrace/cmd/internal/format/escape"

// Ended is what an event ends: a command or a span. Text and JSON show it beside the event.
type Ended struct {
	Command  string // what the command is called, "" for a span or if it is unknown
	Begin    []byte // the data of the begin of a span
	Duration int64
}

// SetEnded sets what the next event ends, nil if that is not to be shown.
func (s *Source) SetEnded(e *Ended) { s.ended = e }

// appendEndedText appends what an event ends.
func appendEndedText(b []byte, e *Ended) []byte {
	if e.Command != "" {
		b = append(escape.Append(append(b, ` command="`...), []byte(e.Command)), '"')
	}
	if len(e.Begin) > 0 {
		b = appendQuoted(append(b, " begin="...), e.Begin)
	}
	return AppendSeconds(append(b, " duration="...), e.Duration)
}

func appendEndedJSON(b []byte, e *Ended) []byte {
	if e.Command != "" {
		b = AppendMember(b, "command", e.Command)
	}
	if len(e.Begin) > 0 {
		b = AppendJSONString(append(b, `,"begin":`...), e.Begin)
	}
	return AppendMember(b, "duration_ns", e.Duration)
}
