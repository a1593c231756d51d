// Package analysis finds where the time of a run went. It reads the events of one or several
// logs in order, and yields commands, programs, spans, pauses in the captured output, system
// calls and counts of events. Its memory does not grow with the number of events.
//
// Each subject has a file: counts.go, spans.go with open.go, processes.go with commands.go,
// pauses.go, calls.go, entered.go (calls that did not return). blame.go finds the command to blame for a failure; failed.go has the spans that failed, and what was printed then. timeout.go has what ran when a time limit passed, hang.go what the threads did then. interval.go reports single intervals. label.go shortens the arguments of commands, times.go has quantiles,
// top.go keeps the largest of many entries. Package summary shows the results.
package analysis

import (
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/samples"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Analysis is the result so far. Finish completes it.
type Analysis struct {
	Events      uint64
	First, Last int64  // times of the first and the last event
	Backward    uint64 // events that are older than the one before them in their log

	sources   []*Source
	counts    counts
	spans     spans
	processes processes
	pauses    pauses
	calls     calls
	observer  *observer // nil without Limits.Each
	blamed    []*Failure
	programs  bool // Limits.Programs
}

// Limits bound what an Analysis keeps of the many.
type Limits struct {
	Rows int   // commands and pauses
	By   Order // which commands: the first in this order

	// Each, unless nil, is called for each interval when it ends, and by Finish for those that
	// have not ended, the latest first. The interval is valid during the call.
	Each  func(*Interval)
	Calls bool // system calls are intervals, too

	Programs bool // samples keep what each program used
}

// New returns an empty analysis.
func New(l Limits) *Analysis {
	a := &Analysis{observer: newObserver(l), programs: l.Programs}
	a.counts.init()
	a.spans.init()
	a.processes.init(l)
	a.pauses.longest.keep = l.Rows
	a.calls.init()
	return a
}

// NewSource adds a log or stream. Equal process ids in two of them are different processes.
// name returns the name of an event type, or "" if it has none, or none yet.
func (a *Analysis) NewSource(name func(posixtrace.EventID) string) *Source {
	s := &Source{a: a, name: name, index: uint32(len(a.sources)), latest: -1 << 63}
	if a.programs {
		s.samples.Programs = map[string]*samples.Use{}
	}
	a.sources = append(a.sources, s)
	return s
}

// Finish ends what still runs at the time of the last event. No events follow.
func (a *Analysis) Finish() {
	if a.observer != nil {
		a.observer.finish(a)
	} else {
		a.processes.finish(a)
	}
	a.blame()
	list, failed := a.Commands()
	list = append(list, failed...)
	pauses, _ := a.Pauses()
	for _, p := range pauses {
		if p.Command != nil {
			list = append(list, p.Command)
		}
	}
	for _, r := range a.Runs() {
		list = append(list, &r.Command)
		list = append(list, r.Running...)
		if r.Timeout != nil {
			list = append(list, r.Timeout.Running...)
		}
	}
	label(list)
	for _, r := range a.Runs() {
		if t := r.Timeout; t != nil && len(t.Running) == 1 && t.Running[0].Label() == r.Label() {
			t.Running = nil // a wrapper of the same name, which executed the program
		}
	}
}
