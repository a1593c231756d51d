package compare

import (
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/files"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Builder reads the events of a run.
type Builder struct {
	analysis *analysis.Analysis
	source   *analysis.Source
	tree     *analysis.Builder
	happened *happened
	files    *files.Files // nil as long as there is no access to a file
	used     *files.Source
	name     func(posixtrace.EventID) string
}

const (
	// maxNodes bounds the intervals of a run. Beyond it, the shortest ones are compared as parts of
	// the totals of their program or name only.
	maxNodes = 1 << 18
	// mostPauses bounds the pauses of a run that are compared.
	mostPauses = 1 << 12
)

// NewBuilder returns a builder for a run. name returns the name of an event type.
func NewBuilder(o *Options, name func(posixtrace.EventID) string) *Builder {
	b := &Builder{tree: analysis.NewBuilder(maxNodes), name: name}
	b.analysis = analysis.New(analysis.Limits{Rows: mostPauses, Each: b.tree.Add, Programs: true})
	b.source = b.analysis.NewSource(name)
	if o.Golden {
		b.happened = newHappened(name)
	}
	return b
}

// Add adds events that follow each other.
func (b *Builder) Add(recs []posixtrace.Record) {
	b.source.Add(recs)
	b.addFiles(recs)
	if b.happened != nil {
		b.happened.add(recs)
	}
}

// Expect says how many events of spans and processes follow.
func (b *Builder) Expect(events uint64) { b.tree.Expect(events / 2) }

// AddCount adds the events of a type of which only the count matters.
func (b *Builder) AddCount(n *posixtrace.TypeCount) { b.source.AddCount(n) }

// Finish returns the run. No events follow.
func (b *Builder) Finish(name string, lost uint64) *Run {
	a := b.analysis
	a.Finish()
	r := &Run{Name: name, Wall: a.Duration(), Events: a.Events, Lost: lost, calls: map[string]*call{}, pauses: map[string]int64{}, happened: b.happened}
	if runs := a.Runs(); len(runs) == 1 {
		r.Command, r.Label, r.Wall = runs[0], runs[0].Label(), runs[0].Wall
	}
	t := b.tree.Tree(a)
	pids := map[int32]bool{}
	for i := range t.Nodes {
		if n := &t.Nodes[i]; n.Kind == analysis.Process {
			pids[n.PID] = true
		}
	}
	r.profile = newProfile(t, pids)
	r.totals = newTotals(a, t, &r.profile)
	for k, s := range r.totals {
		if k.kind == analysis.Process {
			r.Work = sum(r.Work, s.self)
		}
	}
	r.Ignored = a.IgnoredSpans() + a.CommandTotals().Ignored
	r.Doubted = r.profile.doubted
	r.Short = uint64(t.Omitted) + r.profile.ignored
	r.forks = a.CommandTotals().Commands > 1
	for _, c := range a.Calls() {
		r.calls[c.Name] = &call{c.Calls, c.Errors, c.Times.Total}
	}
	r.usage = newUsage(r, a.Samples(0))
	b.pauses(r)
	if b.happened != nil {
		b.happened.finish(pids)
	}
	r.files = b.usedFiles(pids)
	return r
}

// pauses adds the pauses, by the line before them.
func (b *Builder) pauses(r *Run) {
	list, lines := b.analysis.Pauses()
	r.Lines = lines
	for _, p := range list {
		key := maskLine(p.Line)
		switch {
		case p.Start:
			key = atStart
		case key == "":
			key = atEmpty
		}
		r.pauses[key] = sum(r.pauses[key], p.Duration)
	}
}

// Keys of pauses that do not follow a line of text. No masked line is empty or has a line feed.
const (
	atStart = "\nstart"
	atEmpty = "\nempty"
)

// since returns the time from one moment to a later one, 0 if it is not later. Both come from a log:
// their difference may exceed the range.
func since(to, from int64) int64 {
	if to <= from {
		return 0
	}
	return int64(min(uint64(to)-uint64(from), 1<<63-1))
}

// sum adds durations, none below 0.
func sum(a, b int64) int64 { return int64(min(uint64(a)+uint64(b), 1<<63-1)) }
