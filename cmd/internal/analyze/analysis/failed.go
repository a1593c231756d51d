package analysis

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// FailedSpan is a span that failed, and was the cause of a failure: no span inside it failed.
type FailedSpan struct {
	Row    *Span
	Source int // the number of its log, from 0
	PID    int
	Start  int64
	Wall   int64
	Status int
	Error  string   // the beginning of the text of the error, "" if the span failed with a status
	Output [][]byte // of the time of the failure: see FailureOutput
	// Context is Output with the lines before it from the first one on that says that it is an error.
	Context [][]byte

	keyed bool
	nth   uint64 // which span
}

// maxFailedRows bounds the rows that FailedSpans returns.
const maxFailedRows = 3

// fail notes that a span has failed in which no other span did.
func (s *spans) fail(src *Source, o *openSpan, rec *posixtrace.Record, end Outcome) {
	f := &src.failedSpan
	now := FailedSpan{Row: o.row, Source: int(src.index), Start: o.at, Wall: since(rec.UnixNano, o.at), Status: end.Status, PID: rec.PID, keyed: rec.Span != 0, nth: o.nth}
	if f.contains(&now) || f.left(&now) {
		return
	}
	*f = now
	f.Error = string(end.Error)
	src.spanOutput.take(src, o.at, rec.UnixNano)
	if i := slices.Index(s.failed, o.row); i >= 0 {
		s.failed = slices.Delete(s.failed, i, i+1)
	}
	s.failed = append(s.failed, o.row)
	if len(s.failed) > maxFailedRows {
		s.failed = slices.Delete(s.failed, 0, 1)
	}
}

// contains reports whether a failure is that of a script that failed because of f. Spans with keys
// name the span around them: other spans with keys run beside them.
func (f *FailedSpan) contains(outer *FailedSpan) bool {
	return f.Row != nil && !(f.keyed && outer.keyed) && f.PID != outer.PID && f.Start >= outer.Start
}

// left reports whether a step is the exit of a script right after f: COMMAND || exit 1.
func (f *FailedSpan) left(exit *FailedSpan) bool {
	if f.Row == nil || f.PID != exit.PID || f.nth+1 != exit.nth {
		return false
	}
	_, command, _ := strings.Cut(exit.Row.Step, " ")
	command, _, _ = strings.Cut(command, " ")
	return command == "exit" || command == "return"
}

// FailedSpans returns the rows of the spans that failed last and contain no other that failed, the
// last first, at most three.
func (a *Analysis) FailedSpans() []*Span {
	list := slices.Clone(a.spans.failed)
	slices.Reverse(list)
	return list
}

// FailedSpan returns the span that failed last in a log whose command did not succeed, or nil.
func (a *Analysis) FailedSpan() *FailedSpan {
	var last *FailedSpan
	for _, s := range a.sources {
		f := &s.failedSpan
		if f.Row == nil || a.succeeded(s) || s.timeout != nil {
			continue
		}
		if last == nil || sum(f.Start, f.Wall) > sum(last.Start, last.Wall) {
			f.Output, f.Context = s.spanOutput.lines()
			last = f
		}
	}
	return last
}

// succeeded reports whether the command of a log ended without failure.
func (a *Analysis) succeeded(s *Source) bool {
	r := a.runOf(int(s.index))
	return r != nil && r.State == Ended && !r.Failed()
}

// runOf returns the first command of a log, nil if there is none.
func (a *Analysis) runOf(source int) *Run {
	for _, r := range a.processes.runs {
		if r.Command.Source == source {
			return r
		}
	}
	return nil
}

// FailureOutput returns the last lines of captured output, at most three, of the time when a command
// failed that is to blame (see Commands); otherwise nil. They are lines of standard error from
// the start of the command to 0.1 s after its end, otherwise lines of standard output from then,
// otherwise the lines of standard error before.
func (a *Analysis) FailureOutput(c *Command) [][]byte {
	output, _ := a.failureOutput(c)
	return output
}

// FailureContext returns FailureOutput as the Context of a FailedSpan.
func (a *Analysis) FailureContext(c *Command) [][]byte {
	_, context := a.failureOutput(c)
	return context
}

func (a *Analysis) failureOutput(c *Command) (output, context [][]byte) {
	for _, f := range a.blamed {
		if f.output != nil && f.Source == c.Source && f.PID == c.PID && f.Start == c.Start {
			return f.output.lines()
		}
	}
	return nil, nil
}

const (
	// keptLines bounds the lines of output of a failure, and lookedLines those after its end of which
	// they are some.
	keptLines   = 3
	lookedLines = 12
	// printedLate is how long after the end of a command its output may be recorded.
	printedLate = 1e8
)

// tail has the last lines of a stream of output.
type tail struct {
	kept [lookedLines]struct {
		at          int64
		text        []byte
		overwritten bool // by the next one
	}
	n int // lines ever, without those that others overwrote
}

// add adds a line. returned says that a carriage return ended it: the next line overwrites it.
func (t *tail) add(at int64, text []byte, returned bool) {
	if t.n > 0 && t.kept[(t.n-1)%lookedLines].overwritten {
		t.n--
	}
	slot := &t.kept[t.n%lookedLines]
	slot.at, slot.overwritten = at, returned
	slot.text = slot.text[:0]
	slot.text = append(slot.text, text...)
	t.n++
}

// since returns the last lines from a time on, at most n.
func (t *tail) since(from int64, n int) (list [][]byte) {
	for i := max(t.n-n, 0); i < t.n; i++ {
		if slot := &t.kept[i%lookedLines]; slot.at >= from {
			list = append(list, slot.text)
		}
	}
	return list
}

// copyOf makes t a copy.
func (t *tail) copyOf(u *tail) {
	t.n = 0
	for i := max(u.n-lookedLines, 0); i < u.n; i++ {
		slot := &u.kept[i%lookedLines]
		t.add(slot.at, slot.text, slot.overwritten)
	}
}

// failureOutput has the output of the time of a failure: standard output, then standard error.
type failureOutput struct {
	set           bool
	all           bool // the command is the first of its log: what follows its end is its output, too
	from, to      int64
	before, after [2]tail
}

// take starts the output of a failure with the lines so far.
func (f *failureOutput) take(src *Source, from, to int64) {
	f.set, f.from, f.to = true, from, to
	for i := range f.before {
		f.before[i].copyOf(&src.printed[i])
		f.after[i].n = 0
	}
}

// add adds a line that has been recorded after the failure.
func (f *failureOutput) add(stream int, at int64, text []byte, returned bool) {
	if f.set && (f.all || f.after[stream].n < lookedLines) && since(at, f.to) <= printedLate {
		f.after[stream].add(at, text, returned)
	}
}

// lines returns the output, and the output with its context.
func (f *failureOutput) lines() (output, context [][]byte) {
	for _, stream := range []int{1, 0} {
		before := f.before[stream].since(f.from, lookedLines)
		earlier := max(len(before)-keptLines, 0) // lines that are context
		all := append(before, f.after[stream].since(-1<<63, lookedLines)...)
		list, first := all[earlier:], 0
		if f.all {
			first = max(len(list)-keptLines, 0)
		} else if i := firstError(list); i > 0 {
			first = min(i, max(len(list)-keptLines, 0)) // a tool may show the command before its output
		}
		if list = list[first:]; len(list) > 0 {
			list = list[:min(len(list), keptLines)]
			return list, inContext(all[:earlier+first+len(list)], len(list))
		}
	}
	all := f.before[1].since(-1<<63, lookedLines)
	output = all[max(len(all)-keptLines, 0):]
	return output, inContext(all, len(output))
}

// inContext returns the last n lines and, if none of them says what went wrong, those before from the first one
// on that does.
func inContext(all [][]byte, n int) [][]byte {
	from := len(all) - n
	tells := func(line []byte) bool {
		return slices.ContainsFunc(troubles, func(w []byte) bool { return bytes.Contains(line, w) })
	}
	if !slices.ContainsFunc(all[from:], tells) {
		if i := slices.IndexFunc(all[:from], tells); i >= 0 {
			from = i
		}
	}
	return all[from:]
}

// troubles are words of a line that says what went wrong.
var troubles = [][]byte{[]byte("rror: "), []byte("error["), []byte("fatal: "), []byte("panic: "), []byte("Traceback"), []byte("ERROR"), []byte("FAIL"), []byte("xception: "),
	[]byte("o space left on device"), []byte("oo many open files"), []byte("isk quota exceeded")}

// firstError returns the index of the first line that says that it is an error, as those of compilers do,
// or of the line with which ninja(1) starts the output of a job that failed; otherwise -1.
func firstError(list [][]byte) int {
	for _, words := range [][]string{{"error:", "Error:", "error[", "fatal:", "ERROR"}, {"FAILED"}} {
		i := slices.IndexFunc(list, func(line []byte) bool {
			return slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(line, []byte(w)) })
		})
		if i >= 0 {
			return i
		}
	}
	return -1
}

// print notes a line of output that is not empty.
func (s *Source) print(rec *posixtrace.Record, line []byte, returned bool) {
	if (len(line) == 0 || line[0] <= ' ' || line[0] >= utf8.RuneSelf) && len(bytes.TrimSpace(line)) == 0 {
		return
	}
	stream := 0
	if rec.ID == posixtrace.EventOutputStderr {
		stream = 1
	}
	s.printed[stream].add(rec.UnixNano, line, returned)
	s.spanOutput.add(stream, rec.UnixNano, line, returned)
	s.printedAt[stream].add(rec.UnixNano)
	if rec.UnixNano <= s.outputUntil {
		for i := range s.outputs {
			s.outputs[i].add(stream, rec.UnixNano, line, returned)
		}
	}
}

// Base returns the time of which the durations in a log are a part: that of its command, otherwise
// from its first to its last event. For -1 it is the sum of all logs.
func (a *Analysis) Base(source int) int64 {
	if source < 0 || source >= len(a.sources) {
		var all int64
		for i := range a.sources {
			all = sum(all, a.Base(i))
		}
		return all
	}
	if r := a.runOf(source); r != nil && r.State == Ended {
		return r.Wall
	}
	if s := a.sources[source]; s.any {
		return since(s.last, s.first)
	}
	return 0
}
