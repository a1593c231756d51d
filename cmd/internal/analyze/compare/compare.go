// Package compare finds what differs between two groups of runs, and what each difference did to
// the wall time.
//
// A Builder reads a run: collect.go. profile.go unites intervals of one label within one parent to items,
// names.go has the labels, mask.go removes from them what differs from run to run, totals.go has the
// totals of programs and names. match.go matches the items of all runs, noise.go says what is a difference of times,
// find.go finds the differences, usage.go those of memory and processor time, files.go those of the files that were used, and cause.go ranks them. mask.go removes from labels what differs
// from run to run, and happened.go has what only a comparison without times looks at.
package compare

import (
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/files"
)

// Options are the choices of the user.
type Options struct {
	Percent float64       // a difference of times below this part is none
	Least   time.Duration // and so is one below this duration
	Golden  bool          // what happened, not how long it took
}

// The thresholds without an option.
const (
	DefaultPercent = 10
	DefaultLeast   = 50 * time.Millisecond
)

// Side is one of the two groups.
type Side uint8

// The sides.
const (
	Old Side = iota
	New
)

// Run is a run that was read.
type Run struct {
	Name    string // of the log
	Unsound string // what is wrong with the log, such as unfinished; "" if it is whole

	Wall    int64         // of the first command, or of the log
	Command *analysis.Run // the first command, nil if the log has none
	Label   string        // its label
	Work    int64         // time of all commands outside of other commands
	Events  uint64
	Lost    uint64
	Ignored uint64 // commands and spans that are not measured
	Doubted uint64 // those that are skipped: their times are unreliable
	Short   uint64 // those that are compared in totals only
	Lines   uint64 // of output

	forks    bool
	profile  profile
	totals   map[totalKey]*stat
	calls    map[string]*call
	pauses   map[string]int64
	usage    *usage // nil without samples
	happened *happened
	files    map[string]files.Use // by path without what differs from run to run; nil if the log has no accesses
}

// Running reports how many commands ran at a time, on average.
func (r *Run) Running() float64 {
	if r.Wall <= 0 {
		return 0
	}
	return float64(r.Work) / float64(r.Wall)
}

// call has the system calls of one name.
type call struct {
	calls, errors uint64
	total         int64
}

// Result is what a comparison has found.
type Result struct {
	Old, New    []*Run
	Wall        Change // of the runs
	Running     [2]float64
	Differences []*Difference // the most important first
	Changed     How           // Fails or Succeeds if the result of the first command is another one, or ""
	Cause       *Difference   // what explains the result best, nil if nothing does
	Parallel    bool          // the change of wall time comes from what ran at a time
	Busier      *Busier       // it comes from others that had the processors: what the runs have lost to them; or nil
	Waited      int           // commands and programs that took another time for that reason alone
	Compared    int           // commands, spans, calls, pauses
	Notes       []string      // what makes the result doubtful
}

// Differ reports whether there is a difference beyond the thresholds.
func (r *Result) Differ() bool { return len(r.Differences) > 0 || r.Wall.Beyond }

// Compare compares two groups of runs. Both have at least one.
func Compare(o *Options, old, new []*Run) *Result {
	r := &Result{Old: old, New: new}
	c := &comparison{Options: o, Result: r, sides: [2][]*Run{old, new}}
	c.labels = newLabels(c.sides)
	c.match()
	c.compared()
	c.Changed = c.resultChanged()
	c.find()
	c.rank()
	c.note()
	return r
}

// comparison is the work of Compare.
type comparison struct {
	*Options
	*Result
	sides  [2][]*Run
	items  []*matched // parents before children
	tests  int        // times that may be found different
	also   *Busier    // the machine was busier, but that is not the cause
	labels *analysis.Labels

	manyFiles int // differences of files that are left out
}
