package otlp

import (
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A process is a span from its fork, or from its first proc.exec if the log has no fork, to its
// proc.exit. It has the name of the last program that it executed, and the arguments of the first.

var processHash = hash("proc")

// start starts the span of a process. It returns nil if there are too many.
func (l *Log) start(rec *posixtrace.Record, pid int, around *span, d *posixtrace.ContextData, described bool) *span {
	h := l.home(pid, true)
	if h == nil {
		return nil
	}
	s := l.newSpan(rec)
	if s == nil {
		return nil
	}
	s.process, s.pid, s.tid, s.home = true, pid, pid, h
	first := *rec
	first.PID, first.TID, first.Span = pid, pid, 0
	l.describe(s, &first, processHash, around, d, described)
	s.attributes = l.appendWhere(s.attributes, &posixtrace.Record{EventInfo: posixtrace.EventInfo{PID: pid, TID: pid}})
	l.hold(s)
	s.name = unknownProgram
	h.span = s
	l.changes++
	return s
}

var unknownProgram = []byte(`"process"`)

func (l *Log) exec(rec *posixtrace.Record, t *eventType, d posixtrace.ContextData, described bool) {
	h := l.homes[rec.PID]
	if len(rec.Data) == 0 {
		l.event(rec, t)
		return
	}
	if h != nil && h.span != nil && h.span.executed {
		l.event(rec, t)
		h.span.setProgram(rec.Data)
		return
	}
	var s *span
	if h != nil && h.span != nil {
		s = h.span
	} else {
		root := l.root
		if s = l.start(rec, rec.PID, root, &d, described); s == nil {
			l.record(rec, t, nil)
			return
		}
		s.guessed = true
		if root == nil && l.first == nil {
			l.root, s.guessed = s, false
			l.trace = s.trace
		}
	}
	s.executed = true
	s.setProgram(rec.Data)
	s.attributes = appendExec(s.attributes, rec.Data)
	if rec.UnixNano != s.start {
		s.attributes = appendIntAttribute(s.attributes, attr+"posixtrace.exec.time"+isInt, rec.UnixNano)
	}
	s.attributes = appendTruncation(s.attributes, rec)
	l.hold(s)
}

// setProgram names a process after the program in the data of proc.exec.
func (s *span) setProgram(data []byte) {
	s.program = appendString(s.program[:0], programOf(data))
	s.name = s.program
}

// fork starts the span of a new process.
func (l *Log) fork(rec *posixtrace.Record) {
	d, err := posixtrace.DecodeFork(rec.Data)
	if err != nil || d.Kind == posixtrace.ForkThread || d.Child == rec.PID || d.Child == 0 {
		return
	}
	around := l.where(rec)
	if h := l.homes[d.Child]; h != nil && h.span != nil {
		if s := h.span; s.guessed && around != nil && s != around && !l.isAround(s, around) {
			// The first event of the child came before the fork.
			s.guessed, s.parent = false, around.id
			s.attributes = appendIntAttribute(s.attributes, attr+"process.parent_pid"+isInt, int64(rec.PID))
			return
		}
		l.leave(h, rec.UnixNano) // another process had this id; its end is not in the log
		around = l.where(rec)    // of a damaged log, the fork can be in what has left
	}
	s := l.start(rec, d.Child, around, &posixtrace.ContextData{}, false)
	if s == nil {
		return
	}
	if parent := l.homes[rec.PID]; parent != nil && parent.span != nil {
		s.program = append(s.program[:0], parent.span.name...)
		s.name = s.program
	}
	s.attributes = appendIntAttribute(s.attributes, attr+"process.parent_pid"+isInt, int64(rec.PID))
	l.hold(s)
}

// isAround reports whether a process is the one that the other span is in.
func (l *Log) isAround(s, in *span) bool { return in.home == s.home || in.parent == s.id }

// leave ends a process whose end is not in the log.
func (l *Log) leave(h *home, at int64) {
	s := h.span
	l.unfinished(s, at)
	l.depart(h, s)
}

// exit ends the span of a process. It reports false if the process has none.
func (l *Log) exit(rec *posixtrace.Record) bool {
	h := l.homes[rec.PID]
	d, err := posixtrace.DecodeExit(rec.Data)
	if h == nil || h.span == nil || err != nil {
		return false
	}
	s := h.span
	b := s.attributes
	if d.Signal != 0 {
		b = appendStringAttribute(b, attr+"posixtrace.signal"+isString, output.SignalName(d.Signal))
	} else {
		b = appendIntAttribute(b, attr+"process.exit.code"+isInt, int64(d.Status))
	}
	if d.Signal != pipeSignal && (d.Signal != 0 || d.Status != 0) {
		s.failed, s.message = true, append(s.message[:0], output.EndPhrase(d.Status, d.Signal)...)
	}
	s.attributes = appendUsage(b, &d)
	s.end = rec.UnixNano
	l.depart(h, s)
	return true
}

const pipeSignal = 13

// depart writes the span of a process that has ended, and the spans that it left open. The span of
// the command waits: it gets the number of lost events, which is known at the end.
func (l *Log) depart(h *home, s *span) {
	for o := h.latest; o != nil; {
		older := o.older
		if o.pid == h.pid {
			l.unfinished(o, s.end)
			l.unlinkAny(o)
			l.write(o, 0)
			l.release(o)
		}
		o = older
	}
	h.span = nil
	if h.latest == nil {
		l.forget(h)
	}
	l.changes++
	if s == l.root {
		s.home = nil // which another process gets
		l.root, l.first = nil, s
		return
	}
	l.write(s, 0)
	l.release(s)
}

// unlinkAny removes a span that a later one of the same key may shadow.
func (l *Log) unlinkAny(s *span) {
	at := l.open[s.key]
	if at == s {
		l.unlink(s)
		return
	}
	for ; at != nil; at = at.shadowed {
		if at.shadowed == s {
			at.shadowed = s.shadowed
			break
		}
	}
	s.home.pull(s)
	l.changes++
}
