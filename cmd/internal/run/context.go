package run

import (
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracecontext"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// contextEnv returns environ with the trace context of the command's span, if a valid one came in
// and the stream records it. It reports a malformed one and leaves it to the command.
func (s *session) contextEnv(environ []string) []string {
	s.context = tracecontext.Find(s.env.Getenv)
	if s.context.Malformed != "" {
		s.context.Malformed = tracecontext.Shown(s.redactText(s.context.Malformed))
		s.env.Note("ignored: malformed " + s.context.Malformed)
		s.stream.EventID(tracecontext.EventMalformed) // the command finds the type, and reports nothing again
	}
	if !s.context.Valid || !s.rec.Wants(posixtrace.EventProcContext) {
		s.context.Valid = false
		return environ
	}
	return setEnv(environ, tracecontext.Parent, tracecontext.Format(&s.context.Context))
}

// recordContext records the trace context, at the time of the command's start.
func (s *session) recordContext() {
	ev := posixtrace.EventInfo{PID: s.child.PID, TID: s.child.PID, UnixNano: s.started}
	if s.context.Malformed != "" {
		if id, err := s.stream.EventID(tracecontext.EventMalformed); err == nil {
			ev.ID = id
			s.rec.Record(ev, []byte(s.context.Malformed))
		}
	}
	if s.context.Valid {
		ev.ID = posixtrace.EventProcContext
		s.context.Context.State = s.redactText(s.context.Context.State)
		s.rec.Record(ev, s.context.Context.Append(nil))
	}
}
