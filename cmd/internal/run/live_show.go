package run

import (
	"strconv"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// take shows an event.
func (l *live) take(rec *posixtrace.Record) {
	if rec.ID == posixtrace.EventOverflow || rec.ID == posixtrace.EventResume {
		return // of the stream, not of this reader
	}
	l.count++
	if l.spaces != nil {
		l.spaces.Note(rec)
	}
	if l.traced(rec) {
		l.calls.moved(rec)
		if l.first == 0 {
			l.first = rec.TID
		}
		l.many = l.many || l.first != rec.TID
	}
	if !l.hides(rec.ID) {
		if l.buf = l.form.Append(l.buf, l.src, rec); len(l.buf) >= 1<<16 {
			l.write()
		}
	}
}

// traced reports whether an event is one of a traced process, and not of ptrace-run or its tracer.
func (l *live) traced(rec *posixtrace.Record) bool {
	switch rec.ID {
	case posixtrace.EventProcFork, posixtrace.EventProcExec, posixtrace.EventProcExit, posixtrace.EventProcSignal:
		return true
	}
	return rec.ID.User() || strings.HasPrefix(l.src.Name(rec.ID), tracer.Prefix)
}

// hides reports whether events of a type are not shown: those of the stream itself, the mappings of
// processes, and output that goes to the same place anyway.
func (l *live) hides(id posixtrace.EventID) bool {
	switch id {
	case posixtrace.EventStart, posixtrace.EventStop, posixtrace.EventProcMap:
		return true
	case posixtrace.EventOutputStdout, posixtrace.EventOutputStderr:
		return l.file == nil
	}
	return selection.IsMark(id)
}

// prefix appends the thread to a line if several threads have had events, as strace does.
func (l *live) prefix(b []byte, tid int) []byte {
	if !l.many {
		return b
	}
	return append(strconv.AppendInt(append(b, "[pid "...), int64(tid), 10), "] "...)
}

// showWaiting shows the calls that threads have been in for a while.
func (l *live) showWaiting() {
	for _, c := range l.calls.find(time.Now()) {
		if c.tid != l.first && l.first != 0 {
			l.many = true
		}
		l.buf = l.form.AppendEntered(l.buf, c.tid, c.name, c.args, c.more)
	}
}
