package summary

import (
	"cmp"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// Why is the short answer of --why to the question why a command failed, hung or took so long: a few
// lines, each with one of a few keys before it, always in the same order. It is what the headline and the
// tables of the summary say, no more. why_lines.go fits the answer into a number of lines; why_slow.go and
// why_more.go have the keys slow and more.
type Why struct {
	*analysis.Analysis
	builder *analysis.Builder
	tree    *analysis.Tree
}

// WhyOptions are the choices of the user.
type WhyOptions struct {
	Lines   int // at most; LeastWhy or more
	Width   int // of the terminal, 0 for no limit
	JSON    bool
	Unsound []string // why logs are not whole
	Logs    []string // the operands with which ptrace-dump reads the same logs; nil if it cannot
	End     string   // how the command ended, as its parent knows, in words; "" if unknown
}

const (
	// LeastWhy is the least number of lines that has room for an answer, UsualWhy the default.
	LeastWhy = 5
	UsualWhy = 25

	// mostNodes bounds the commands and spans of which one may be slow: about 200 bytes each.
	mostNodes = 1 << 18
)

// NewWhy returns an analysis for Why.
func NewWhy() *Why {
	b := analysis.NewBuilder(mostNodes)
	return &Why{Analysis: analysis.New(analysis.Limits{Rows: mostKept, Each: b.Add}), builder: b}
}

// Append finishes the analysis and appends the answer.
func (w *Why) Append(b []byte, lost uint64, o *WhyOptions) []byte {
	w.Finish()
	w.tree = w.builder.Tree(w.Analysis)
	a := &answer{Why: w, WhyOptions: o, show: &show{Analysis: w.Analysis, Options: &Options{Unsound: o.Unsound}, lost: lost, context: true}}
	a.verdict()
	a.failures()
	a.from()
	a.waits()
	a.slow()
	a.memory()
	a.losses()
	a.more()
	if o.JSON {
		return a.appendJSON(b)
	}
	return a.appendText(b)
}

// whyKey is the key of a line.
type whyKey uint8

const (
	keyVerdict whyKey = iota
	keyFailed
	keyFrom
	keyOutput
	keyWaited
	keySlow
	keyMemory
	keyLost
	keyMore
	whyKeys
)

var whyNames = [whyKeys]string{"verdict", "failed", "from", "output", "waited", "slow", "memory", "lost", "more"}

// answer is the answer that is being made.
type answer struct {
	*Why
	*WhyOptions
	show   *show
	lines  [whyKeys][]whyLine
	parts  []part // of slow
	steps  []step // of more
	most   int64  // memory of one process
	called bool   // the verdict says what a thread waited for
}

// whyLine is a line of an answer.
type whyLine struct {
	line
	rank  int  // the lines with the lowest ranks stay if there is no room for all
	empty bool // it says that the log does not say
}

// The ranks of the lines of each key, from the first one on. The rest of a key has the last rank.
var whyRanks = [whyKeys][]int{
	keyVerdict: {0, 10, 11},
	keyFailed:  {1, 12},
	keyFrom:    {5},
	keyOutput:  {4, 7, 8}, // the first line and the last ones: see failures
	keyWaited:  {3, 9, 13},
	keySlow:    {14, 16, 17, 18},
	keyMemory:  {19},
	keyLost:    {2, 20},
	keyMore:    {15, 21},
}

const (
	// exhaustedRank is that of lines of what was used up.
	exhaustedRank = 6
	// contextRank is that of lines between the first and the last ones of the output.
	contextRank = 25
	// emptyRank is that of a line that says that the log does not say.
	emptyRank = 30
)

func (a *answer) add(key whyKey, l line) {
	ranks := whyRanks[key]
	a.lines[key] = append(a.lines[key], whyLine{line: l, rank: ranks[min(len(a.lines[key]), len(ranks)-1)]})
}

// none says why a key has no line.
func (a *answer) none(key whyKey, text string) {
	if len(a.lines[key]) == 0 {
		a.lines[key] = append(a.lines[key], whyLine{line: line{before: text}, rank: emptyRank + int(key), empty: true})
	}
}

// unrecorded follows an end that the log does not have.
const unrecorded = ", which is not recorded"

// runningThen begins the line of what ran when a run was ended.
const runningThen = "running then: "

// verdict says how the commands ended. What ran when they were ended is what they waited for.
func (a *answer) verdict() {
	runs := a.Runs()
	if len(runs) > maxRuns {
		slices.SortStableFunc(runs, func(x, y *analysis.Run) int {
			switch {
			case x.Failed() == y.Failed():
				return 0
			case x.Failed():
				return -1
			}
			return 1
		})
	}
	for _, r := range runs[:min(len(runs), maxRuns)] {
		for i, l := range a.show.verdict(r) {
			key := keyVerdict
			if i == 0 && a.End != "" && r.State != analysis.Ended {
				l.after = ": " + a.End + unrecorded
			}
			if l.joined || l.before == notLooked || strings.HasPrefix(l.before, "idle at ") { // why it had not ended before
				key = keyWaited
				t := a.Hang(r.Command.Source).Culprit()
				a.called = a.called || l.before != runningThen && !(t != nil && notSeen(t))
				l.before = strings.TrimPrefix(strings.TrimPrefix(l.before, "then: "), notLooked)
			}
			a.add(key, l)
		}
	}
	if more := len(runs) - maxRuns; more > 0 {
		a.add(keyVerdict, line{before: "and " + cli.Plural(uint64(more), "command", "commands") + " more"})
	}
	for _, l := range a.show.timeouts(runs) {
		a.add(keyVerdict, l)
	}
	switch {
	case len(a.lines[keyVerdict]) > 0:
	case a.End != "":
		a.add(keyVerdict, line{before: "the command: " + a.End + unrecorded})
	case a.Events == 0:
		a.add(keyVerdict, line{before: "not known: there are no events"})
	default:
		a.add(keyVerdict, line{before: "not known: no command is recorded, " + a.show.total()})
	}
}

// failures says which step and which command failed, and what was printed then.
func (a *answer) failures() {
	runs := a.Runs()
	for _, l := range a.show.failure(runs) {
		if l.printed {
			a.add(keyOutput, l)
			continue
		}
		l.before = strings.TrimPrefix(l.before, "failed: ")
		a.add(keyFailed, l)
	}
	if list := a.lines[keyOutput]; len(list) > 3 {
		for i := range list[1:] {
			list[1+i].rank = contextRank
		}
		list[len(list)-1].rank, list[len(list)-2].rank = whyRanks[keyOutput][1], whyRanks[keyOutput][2]
	}
	a.failedOthers(runs)
	a.none(keyFailed, a.noFailure(runs))
	if l := &a.lines[keyFailed][0]; !a.succeeded(runs) {
		l.rank = whyRanks[keyFailed][0]
	}
	for _, l := range a.show.exhausted(runs) {
		a.add(keyFailed, l)
		a.lines[keyFailed][len(a.lines[keyFailed])-1].rank = exhaustedRank
	}
	if len(a.lines[keyOutput]) == 0 && len(a.Timeouts()) == 0 && !a.succeeded(runs) {
		for _, text := range a.LastOutput(sourceOf(runs)) {
			a.add(keyOutput, a.show.printed(text))
		}
	}
	switch _, lines := a.Pauses(); {
	case lines == 0:
		a.none(keyOutput, "none is recorded")
	case len(a.Timeouts()) > 0:
		a.none(keyOutput, "nothing until then")
	default:
		a.none(keyOutput, "none of a failure")
	}
}

// failedOthers says which commands failed in other logs.
func (a *answer) failedOthers(runs []*analysis.Run) {
	_, failed := a.Commands()
	more := 0
	for _, c := range failed[min(len(failed), 1):] {
		switch {
		case isRun(runs, c): // the verdict has it
		case len(a.lines[keyFailed]) >= maxRuns:
			more++
		default:
			l := failedCommand(c)
			l.before = ""
			a.add(keyFailed, l)
		}
	}
	if more > 0 {
		a.add(keyFailed, line{before: "and " + cli.Plural(uint64(more), "command", "commands") + " more"})
	}
}

// sourceOf returns the number of the log whose output matters.
func sourceOf(runs []*analysis.Run) int {
	if i := slices.IndexFunc(runs, (*analysis.Run).Failed); i >= 0 {
		return runs[i].Command.Source
	}
	return 0
}

func (a *answer) succeeded(runs []*analysis.Run) bool {
	return len(runs) > 0 && !slices.ContainsFunc(runs, func(r *analysis.Run) bool { return r.State != analysis.Ended || r.Failed() })
}

// noFailure says why no step and no command is to blame.
func (a *answer) noFailure(runs []*analysis.Run) string {
	is := func(f func(*analysis.Run) bool) bool { return slices.ContainsFunc(runs, f) }
	t := a.CommandTotals()
	others := t.Failed
	for _, r := range runs {
		if r.Command.Failed() && others > 0 {
			others--
		}
	}
	tolerated := ""
	if others > 0 {
		tolerated = "; " + cli.Plural(others, "that failed was", "that failed were") + " tolerated"
	}
	switch {
	case len(a.Timeouts()) > 0:
		return "no step and no command by itself: the time limit passed"
	case len(runs) == 0:
		return "not known: no command is recorded"
	case a.succeeded(runs):
		return "nothing" + tolerated
	case is(func(r *analysis.Run) bool { return len(r.Running) > 0 }):
		return "no step and no command by itself: a signal ended the run"
	case !is((*analysis.Run).Failed) && a.End == "" && a.whole() && is(func(r *analysis.Run) bool { return r.State == analysis.Running }):
		return "nothing so far: the command runs at the end of the log"
	case !is((*analysis.Run).Failed):
		return "not known: the end of the command is not recorded"
	case a.alone():
		return "not known: no step and no other command is recorded"
	case !a.whole():
		return "not known: no step and no command of those that are recorded" + tolerated
	}
	if len(runs) > 1 {
		return "no step and no command that they ran" + tolerated
	}
	return "no step and no command that it ran" + tolerated
}

// whole reports whether all events are there: else what is not there may have happened, too.
func (a *answer) whole() bool { return a.show.lost == 0 && len(a.Unsound) == 0 }

// alone reports whether nothing is recorded inside of the commands.
func (a *answer) alone() bool {
	return a.CommandTotals().Commands <= uint64(len(a.Runs())) && len(a.Spans()) == 0
}

const (
	// mostAround bounds how many commands and steps around the one that failed are named.
	mostAround = 4
	// mostClimbed bounds how far out they are looked for.
	mostClimbed = 64
)

// from says where the command that failed was started: what is around it, the innermost first. Of a run that was
// ended, it says so of what ran then, if a step is around that.
func (a *answer) from() {
	i, ended := a.failedNode(a.Runs()), false
	if i == analysis.None && a.lines[keyFailed][0].empty {
		i, ended = a.runningNode(), true
	}
	var around []string
	left, steps := 0, 0
	for n := 0; i != analysis.None && n < mostClimbed; n++ {
		if i = a.tree.Nodes[i].Parent; i == analysis.None {
			break
		}
		node := &a.tree.Nodes[i]
		if node.Kind == analysis.SpanKind {
			steps++
		}
		switch {
		case node.Forked, node.Kind == analysis.CallKind: // a subshell: the shell is around it
		case len(around) < mostAround:
			around = append(around, cut(a.label(i), widestNested))
		default:
			left++
		}
	}
	switch {
	case ended && steps == 0:
		a.none(keyFrom, "-")
	case len(around) == 0:
		a.none(keyFrom, "not known")
	default:
		text := strings.Join(around, ", in ")
		if left > 0 {
			text += ", in " + cli.Plural(uint64(left), "other", "others")
		}
		a.add(keyFrom, line{subject: text, whole: true})
	}
}

// runningNode returns the node of the command that ran when a run was ended, or None.
func (a *answer) runningNode() int32 {
	for _, r := range a.Runs() {
		list := r.Running
		if r.Timeout != nil {
			list = r.Timeout.Running
		}
		if len(list) > 0 {
			return a.node(analysis.Process, list[0].Source, list[0].PID, list[0].Start)
		}
	}
	return analysis.None
}

// failedNode returns the node of the command that failed, otherwise that of the step, or None.
func (a *answer) failedNode(runs []*analysis.Run) int32 {
	if a.lines[keyFailed][0].empty {
		return analysis.None
	}
	if _, failed := a.Commands(); len(failed) > 0 && !isRun(runs, failed[0]) {
		if i := a.node(analysis.Process, failed[0].Source, failed[0].PID, failed[0].Start); i != analysis.None {
			return i
		}
	}
	if f := a.FailedSpan(); f != nil {
		return a.node(analysis.SpanKind, f.Source, f.PID, f.Start)
	}
	return analysis.None
}

// node returns the innermost node of a kind that began then, or None.
func (a *answer) node(kind analysis.Kind, source, pid int, start int64) int32 {
	for i := len(a.tree.Nodes) - 1; i >= 0; i-- {
		if n := &a.tree.Nodes[i]; n.Kind == kind && int(n.Source) == source && int(n.PID) == pid && n.Start == start {
			return int32(i)
		}
	}
	return analysis.None
}

// label returns what a node is called.
func (a *answer) label(i int32) string {
	if text := a.tree.Label(i); strings.TrimSpace(text) != "" {
		return text
	}
	return "(process " + number(uint64(a.tree.Nodes[i].PID)) + ")"
}

// waits says what the commands waited for, beside those that ran when they were ended.
func (a *answer) waits() {
	const end = 1<<63 - 1
	ended := false
	runs := a.Runs()
	for _, r := range runs[:min(len(runs), maxRuns)] {
		switch t := r.Timeout; {
		case t != nil:
			ended = true
			c := &r.Command
			if len(t.Running) > 0 {
				c = t.Running[0]
			}
			a.inCall(c, t.At, t.At)
			a.silence(t, r.Command.Source)
		case len(r.Running) > 0:
			ended = true
			a.inCall(r.Running[0], r.Running[0].Start, end)
		case r.Command.Signal != 0:
			a.inCall(&r.Command, r.Start, end)
		}
	}
	if p := a.show.longestPause(); p != nil && !ended && a.whole() && p.Duration >= a.Base(p.Source)/10 {
		l := line{before: a.show.part(p.Duration, p.Source) + " without output after ", subject: lineBefore(p), quoted: len(p.Line) > 0}
		if text := meanwhile(p); text != "" {
			l.after = ": " + shown(cut(text, widestNested))
		}
		a.add(keyWaited, l)
	}
	a.none(keyWaited, "not known")
}

// leastWait is the least time in a system call that is worth a line.
const leastWait = 1e7

// inCall says in which system call a command was when it was ended: after a time, in a call that it entered
// before another time.
func (a *answer) inCall(c *analysis.Command, at, before int64) {
	if e := a.Entered(c.Source, c.PID, at, before); e != nil && !a.called && e.To-e.From >= leastWait {
		label := cmp.Or(c.Label(), "the command")
		a.add(keyWaited, line{before: duration(e.To-e.From) + " in ", subject: e.Call(), after: ": " + shown(cut(label, widestNested)) + " (pid " + number(uint64(c.PID)) + ")", whole: true})
	}
}

// silence says for how long nothing was printed when a time limit passed.
func (a *answer) silence(t *analysis.Timeout, source int) {
	pauses, _ := a.Pauses()
	for _, p := range pauses {
		if a.whole() && p.Source == source && p.End && !p.Start && p.At < t.At {
			a.add(keyWaited, line{before: duration(t.At-p.At) + " without output until then, after ", subject: lineBefore(p), quoted: len(p.Line) > 0})
			return
		}
	}
}

// memory says what the commands used at most, if they were sampled, and what one process did.
func (a *answer) memory() {
	runs := a.Runs()
	for _, l := range append(a.show.outOfMemory(runs), a.show.resources(runs)...) {
		a.add(keyMemory, l)
	}
	what := ", the largest process"
	for _, r := range a.Runs() {
		if r.State == analysis.Ended {
			a.most = max(a.most, r.MaxRSS)
		} else {
			what = ", the largest process that has ended"
		}
	}
	largest := int32(analysis.None)
	for i := range a.tree.Nodes {
		if n := &a.tree.Nodes[i]; n.Memory > 0 && (largest == analysis.None || n.Memory > a.tree.Nodes[largest].Memory) {
			largest = int32(i)
		}
	}
	switch {
	case largest != analysis.None && a.tree.Nodes[largest].Memory >= a.most:
		a.most = a.tree.Nodes[largest].Memory
		a.add(keyMemory, line{before: size(a.tree.Nodes[largest].Memory) + what + ": ", subject: a.label(largest)})
	case a.most > 0:
		a.add(keyMemory, line{before: size(a.most) + what})
	}
	a.none(keyMemory, "not known")
}

// losses says what the answer lacks.
func (a *answer) losses() {
	for _, text := range a.Unsound[:min(len(a.Unsound), maxRuns)] {
		a.add(keyLost, line{subject: text, after: ": the rest is not in the answer"})
	}
	if more := len(a.Unsound) - maxRuns; more > 0 {
		a.add(keyLost, line{before: "and the rest of " + cli.Plural(uint64(more), "log", "logs") + " more"})
	}
	if n := a.show.lost; n > 0 {
		a.add(keyLost, line{before: cli.Plural(n, "event", "events") + ", which the answer lacks"})
	}
	for _, text := range a.show.doubts() {
		a.add(keyLost, line{before: text})
	}
	a.none(keyLost, "nothing")
}

// percent returns a part of the time of a log.
func (a *answer) percent(ns int64, source int) string {
	if all := a.Base(source); all > 0 {
		return output.Percent(float64(ns)/float64(all)) + " "
	}
	return ""
}
