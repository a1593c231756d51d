package summary

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/culprit"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// widestCause bounds the sentence that says why a command did not end.
const widestCause = 240

// lateEnd is how long after a signal the end of a command may have another reason.
const lateEnd = 30e9

// culpritOf returns the thread that says most of why the first command of a log did not end before it was ended,
// nil if the log does not say.
func culpritOf(a *analysis.Analysis, r *analysis.Run) *analysis.HangThread {
	h := a.Hang(r.Command.Source)
	switch {
	case h == nil || !r.Failed() && r.State != analysis.Running:
		return nil
	case h.Cause == posixtrace.HangTimeout && r.TimedOut():
	case h.Cause == posixtrace.HangSignal && r.Start+r.Wall-h.At < lateEnd:
	default:
		return nil
	}
	return h.Culprit()
}

// Hung returns why the first command of a log did not end before it was ended: what the thread that says
// most of it did; "" if the log does not say, or what ran then says as much. It is untrusted text.
func Hung(a *analysis.Analysis, r *analysis.Run) string {
	t := culpritOf(a, r)
	switch {
	case t == nil, t.Kind == posixtrace.HangSleeps && t.Label == r.Label():
		return ""
	case RunningThen(r) != "" && (t.Kind == posixtrace.HangSleeps || waitsForSignal(t) || notSeen(t) || culprit.WaitsForEnd(&t.HangData) && !t.Stuck):
		return ""
	}
	return cut(sentence(t, r), widestCause)
}

// notLooked begins the line of why it is not known what a command waited for, if it is known what ran then.
const notLooked = "what it waited for: "

// lookLine returns that line, if any.
func (s *show) lookLine(r *analysis.Run) []line {
	if t := culpritOf(s.Analysis, r); t != nil && notSeen(t) && RunningThen(r) != "" {
		return []line{{before: notLooked, subject: cut(sentence(t, r), widestCause), whole: true}}
	}
	return nil
}

// waitsForSignal reports whether a thread waits for a signal, as a shell does for the end of its children.
func waitsForSignal(t *analysis.HangThread) bool {
	name, _, _ := strings.Cut(t.Call, "(")
	return name == "rt_sigsuspend" || name == "pause"
}

// sentence returns what a thread did, of the command of a run that the reader knows, or of another one.
func sentence(t *analysis.HangThread, known *analysis.Run) string {
	who := t.Label
	itself := known != nil && t.PID == known.PID && (t.Label == "" || t.Label == known.Label())
	switch {
	case itself:
		who = "the command"
	case who == "":
		who = "process " + strconv.Itoa(t.PID)
	}
	if notSeen(t) && t.Wait == "" {
		if itself {
			return t.Note
		}
		return who + ": " + t.Note
	}
	text := with(did(t), ", started by ", t.ForPlace)
	if t.Place != "" && t.ForPlace == "" && !itself {
		text = who + ", started by " + t.Place + ", " + text
	} else {
		text = who + " " + text
	}
	switch {
	case t.Cycle:
		text = "deadlock: " + text + ", and that for itself"
	case t.Stuck:
		text += ", which nothing visible can end"
	}
	if t.Note != "" {
		text += " (" + t.Note + ")"
	}
	return text
}

// notSeen reports whether of a thread is known why it could not be seen, and little more.
func notSeen(t *analysis.HangThread) bool {
	return (t.Kind == posixtrace.HangRuns || t.Kind == posixtrace.HangWaits) && t.Call == "" && t.For == "" && t.Note != ""
}

// did returns in words what a thread did.
func did(t *analysis.HangThread) string {
	verb := "ran"
	switch t.Kind {
	case posixtrace.HangWaits:
		verb = "waited"
	case posixtrace.HangSleeps:
		verb = "slept"
	case posixtrace.HangBusy:
		return with(with("used a processor", " in ", culprit.Call(t.Call)), ", ", t.For)
	case posixtrace.HangStopped:
		return with("was stopped", ", and waited for ", t.For)
	case posixtrace.HangZombie:
		return with("had ended", ", and waited for ", t.For)
	}
	if t.Since >= 0 {
		about := " about "
		if t.Exact {
			about = " "
		}
		verb += about + duration(int64(t.Since))
	}
	verb = with(verb, " in ", cmp.Or(culprit.Call(t.Call), t.Wait))
	if t.Kind != posixtrace.HangWaits {
		return with(verb, ", ", t.For)
	}
	return with(verb, " for ", t.For)
}

func with(text, between, more string) string {
	if more == "" {
		return text
	}
	return text + between + more
}

// hangLines returns the line of why a command did not end, or of when it was idle.
func (s *show) hangLines(r *analysis.Run) []line {
	if text := Hung(s.Analysis, r); text != "" {
		return []line{{before: "then: ", subject: text, failed: true, joined: true, whole: true}}
	}
	h := s.Hang(r.Command.Source)
	if h == nil || h.Cause != posixtrace.HangIdle {
		return nil
	}
	before := "idle at " + duration(max(h.At-s.First, 0)) + ": "
	if t := h.Culprit(); t != nil {
		return []line{{before: before, subject: cut(sentence(t, nil), widestCause), whole: true}}
	}
	return nil
}

const hangTitle = "Threads that did not end"

// hangs returns what the threads of commands did when ptrace-run looked at them.
func (s *show) hangs() *table {
	t := &table{title: hangTitle, columns: []string{" thread", "pid", "tid", "does", "time", " in", " waits for"}}
	for _, r := range s.Runs() {
		h := s.Hang(r.Command.Source)
		if h == nil {
			continue
		}
		t.hidden += uint64(h.Omitted)
		for _, x := range h.Ranked() {
			kind := x.Kind.String()
			switch {
			case x.Cycle:
				kind = "deadlock"
			case x.Stuck:
				kind = "stuck"
			}
			since := "-"
			if x.Since >= 0 {
				since = duration(int64(x.Since))
			}
			tid := "-"
			if x.TID != x.PID {
				tid = strconv.Itoa(x.TID)
			}
			t.add(x.Stuck || x.Cycle, x.Label, strconv.Itoa(x.PID), tid, kind, since, cmp.Or(culprit.Call(x.Call), x.Wait), with(x.For, "; ", x.Note))
		}
	}
	if len(t.rows) < 2 && t.hidden == 0 && len(s.Runs()) == 1 && len(append(s.hangLines(s.Runs()[0]), s.lookLine(s.Runs()[0])...)) > 0 {
		return nil // the first lines have it
	}
	t.drop("tid", " waits for")
	return t
}
