package analysis

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

const (
	beginSuffix = ".begin"
	endSuffix   = ".end"
)

// Span has the spans of one name, or those of one step of a script.
type Span struct {
	Name string
	Step string // place and text of a step: "deploy.sh:37 sleep 0.2"; target and line of a recipe: "main.o: cc -c main.c"

	Times       Times
	Self        int64  // of Times.Total, the part outside of the spans inside these
	Failed      uint64 // ended with a failure: see Outcome
	Open        uint64 // have not ended
	Unmatched   uint64 // ends without a begin
	Overlapping uint64 // pairs that may be wrong, which Times leaves out
	Covered     int64  // the time in which at least one was open, if none is open at the end
	Most        uint64 // that were open at a time
	Outermost   uint64 // of Times, those that began in no other span
	Slowest     []byte // data of the begin of the longest, at most 128 bytes; none for a step

	since int64 // when the first of those that are open began
	used  bool
	mixed bool // measured in several logs
	src   uint32
}

// Source returns the number of the log in which all of the spans were measured, or -1.
func (r *Span) Source() int {
	if r.mixed || !r.used {
		return -1
	}
	return int(r.src)
}

func (r *Span) use(src *Source) {
	r.mixed = r.mixed || r.used && r.src != src.index
	r.used, r.src = true, src.index
}

// Parallel reports whether several spans ran at a time, so that their own time together is no part of
// the time of the run.
func (r *Span) Parallel() bool {
	return r.Open == 0 && r.Most > 1 && r.Self-r.Covered > r.Covered/20
}

func (r *Span) open(at int64) {
	if r.Open++; r.Open == 1 {
		r.since = at
	}
	r.Most = max(r.Most, r.Open)
}

func (r *Span) close(at int64) {
	if r.Open--; r.Open == 0 {
		r.Covered = sum(r.Covered, since(at, r.since))
	}
}

// spanType has the spans of one name.
type spanType struct {
	name  string
	row   *Span
	steps map[string]*Span // nil unless the name is that of steps
}

// StepSpan is the name of the spans of ptrace-event --steps.
const StepSpan = "step"

// maxSteps bounds the number of rows for steps. All others share the row of their name.
const maxSteps = 1 << 12

// maxStepText bounds the text of a step.
const maxStepText = 200

// maxSlowest bounds the data of an open span.
const maxSlowest = 128

type spans struct {
	byName  map[string]*spanType
	threads map[threadKey]*thread
	keyed   keyed
	free    *openSpan
	fresh   []openSpan
	open    int
	used    uint64 // open spans ever
	steps   int

	ignored uint64
	failed  []*Span // rows of causes of failures, the latest last
}

func (s *spans) init() {
	s.byName, s.threads = map[string]*spanType{}, map[threadKey]*thread{}
	s.keyed.heads = make([]*openSpan, 64)
}

func (s *spans) ofName(name string) *spanType {
	t := s.byName[name]
	if t == nil {
		t = &spanType{name: name, row: &Span{Name: name}}
		if name == StepSpan || name == catalog.RecipeSpan {
			t.steps = map[string]*Span{}
		}
		s.byName[name] = t
	}
	return t
}

// rowOf returns the row of a span that begins with this data.
func (s *spans) rowOf(t *spanType, key uint64, data []byte) *Span {
	if t.steps == nil || t.name == StepSpan && !isStep(data) || t.name == catalog.RecipeSpan && !catalog.IsRecipeKey(key) {
		return t.row
	}
	data = data[:escape.Cut(data, maxStepText)]
	r := t.steps[string(data)]
	if r == nil {
		if s.steps >= maxSteps {
			return t.row
		}
		s.steps++
		r = &Span{Name: t.name, Step: string(data)}
		t.steps[r.Step] = r
	}
	return r
}

// isStep reports whether data is "FILE:LINE COMMAND".
func isStep(data []byte) bool { return placeEnd(data) > 0 }

// PlaceOfStep returns "FILE:LINE" of the data of the begin of a step, "" of other data.
func PlaceOfStep(data []byte) string { return string(data[:placeEnd(data)]) }

// placeOfStep returns "FILE:LINE" of a step.
func placeOfStep(step string) string { return step[:placeEnd([]byte(step))] }

// placeEnd returns the length of FILE:LINE in "FILE:LINE COMMAND", 0 for other data.
func placeEnd(data []byte) int {
	data = data[:min(len(data), maxStepText)]
	for at := 0; ; {
		i := bytes.IndexByte(data[at:], ':')
		if i < 0 {
			return 0
		}
		at += i + 1
		digits := 0
		for at+digits < len(data) && '0' <= data[at+digits] && data[at+digits] <= '9' {
			digits++
		}
		if digits > 0 && at+digits < len(data) && data[at+digits] == ' ' {
			return at + digits
		}
	}
}

func (s *spans) begin(src *Source, t *spanType, rec *posixtrace.Record) {
	if s.open >= maxOpen {
		s.ignored++
		return
	}
	o := s.new()
	o.typ, o.row, o.at = t, s.rowOf(t, rec.Span, rec.Data), rec.UnixNano
	o.row.open(rec.UnixNano)
	if t.name == StepSpan && o.row.Step != "" {
		if q := src.a.processes.running.of(processKey(src, rec.PID)); q != nil {
			q.step = o.row
		}
	}
	if t.steps == nil {
		o.data = append(o.data, rec.Data[:escape.Cut(rec.Data, maxSlowest)]...)
	}
	if rec.Span != 0 {
		o.src, o.pid, o.key = src.index, uint32(rec.PID), rec.Span
		if rec.Parent != 0 {
			o.enter(s.parentOf(src, t, rec))
		}
		s.keyed.put(o)
		if b := src.a.observer; b != nil {
			b.beginSpan(src, o, rec)
		}
		return
	}
	th := s.threadOf(src, rec.PID, rec.TID)
	if th == nil {
		o.row.close(rec.UnixNano)
		s.ignored++
		s.release(o)
		return
	}
	for u, n := th.latest, 0; u != nil && n < maxCrossed; u, n = u.before, n+1 {
		if u.typ == t {
			o.overlaps, u.overlaps = true, true
			break
		}
	}
	o.enter(th.latest)
	th.push(o)
	if b := src.a.observer; b != nil {
		b.beginSpan(src, o, rec)
	}
}

// parentOf returns the span around one with a key, or nil. A recursive make makes its spans in other
// processes than the one around them.
func (s *spans) parentOf(src *Source, t *spanType, rec *posixtrace.Record) *openSpan {
	if catalog.IsRecipeKey(rec.Span) && catalog.IsRecipeKey(rec.Parent) {
		if o := s.keyed.findOf(src.index, rec.Parent, t); o != nil {
			return o
		}
	}
	return s.keyed.find(src.index, uint32(rec.PID), rec.Parent, nil)
}

func (s *spans) end(src *Source, t *spanType, rec *posixtrace.Record) {
	var o *openSpan
	if rec.Span != 0 {
		o = s.keyed.find(src.index, uint32(rec.PID), rec.Span, t)
		if o != nil {
			s.keyed.remove(o)
		}
	} else if th := s.threadOf(src, rec.PID, rec.TID); th != nil {
		o = th.take(t)
	}
	end := OutcomeOf(rec)
	if o == nil {
		t.row.Unmatched++
		return
	}
	r := o.row
	r.close(rec.UnixNano)
	if t.name == StepSpan {
		if q := src.a.processes.running.of(processKey(src, rec.PID)); q != nil && q.step == r {
			q.step = nil
		}
	}
	if end.Failed {
		r.Failed++
		if !o.failed {
			s.fail(src, o, rec, end)
		}
	}
	if o.inner > 0 {
		o.covered = sum(o.covered, since(rec.UnixNano, o.since))
	}
	o.leave(rec.UnixNano, o.failed || end.Failed)
	if o.overlaps {
		r.Overlapping++
	} else {
		d := since(rec.UnixNano, o.at)
		if r.Times.Count == 0 || d > r.Times.Max {
			r.Slowest = append(r.Slowest[:0], o.data...)
		}
		if o.parent == nil {
			r.Outermost++
		}
		r.Times.Add(d)
		r.Self = sum(r.Self, max(d-o.covered, 0))
		r.use(src)
		src.output.offerSpan(r, o.at, rec.UnixNano)
	}
	if b := src.a.observer; b != nil {
		b.endSpan(src, o, rec.UnixNano, end)
	}
	s.release(o)
}

// IgnoredSpans returns how many spans are not measured because too many were open.
func (a *Analysis) IgnoredSpans() uint64 { return a.spans.ignored }

// Spans returns the spans, the longest total of their own time first.
func (a *Analysis) Spans() []*Span {
	var list []*Span
	for _, t := range a.spans.byName {
		rows := slices.AppendSeq([]*Span{t.row}, maps.Values(t.steps))
		for _, r := range rows {
			if r.Times.Count+r.Failed+r.Open+r.Unmatched+r.Overlapping > 0 {
				list = append(list, r)
			}
		}
	}
	slices.SortFunc(list, func(x, y *Span) int {
		return cmp.Or(cmp.Compare(y.Self, x.Self), cmp.Compare(y.Times.Total, x.Times.Total), cmp.Compare(y.Open, x.Open),
			cmp.Compare(x.Name, y.Name), cmp.Compare(x.Step, y.Step))
	})
	return list
}
