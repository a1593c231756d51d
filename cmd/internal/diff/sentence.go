package diff

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/compare"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// piece is a part of a sentence: our words, or untrusted text.
type piece struct {
	text      string
	untrusted bool
	quoted    bool // a line of output
}

func said(s string) piece   { return piece{text: s} }
func name(s string) piece   { return piece{text: cmp.Or(s, "(empty)"), untrusted: true} }
func quoted(s string) piece { return piece{text: s, untrusted: true, quoted: true} }

// took formats a duration.
func took(ns int64) string { return summary.Duration(max(ns, 0)) }

// signed formats a difference of durations.
func signed(ns int64) string {
	if ns < 0 {
		return "-" + took(-max(ns, -1<<63+1))
	}
	return "+" + took(ns)
}

// percent formats a change as a part of the old value, "" if that says little.
func percent(c *compare.Change) string {
	ratio := float64(c.New) / float64(max(c.Old, 1))
	switch {
	case c.Old <= 0:
		return ""
	case ratio > 10:
		return fmt.Sprintf(" (%.0f times)", ratio)
	}
	return fmt.Sprintf(" (%+.0f %%)", 100*(ratio-1))
}

// first returns the first line: which logs are not whole, then the result.
func (s *show) first() []piece {
	var list []piece
	for side, runs := range [][]*compare.Run{s.Old, s.New} {
		if words := partial([]string{"old", "new"}[side], runs); words != "" {
			list = append(list, said(words+"; "))
		}
	}
	if len(list) > 0 {
		list = append(list, said("the comparison lacks the rest: "))
	}
	return append(list, s.result()...)
}

// partial says which logs of a side are not whole, "" if all are.
func partial(side string, runs []*compare.Run) string {
	n, how := 0, ""
	for _, r := range runs {
		if r.Unsound == "" {
			continue
		}
		word := r.Unsound
		if word == posixtrace.LogUnfinished.String() {
			word = logfile.StateWord(posixtrace.LogUnfinished)
		}
		if n++; how != "" && how != word {
			word = "incomplete or damaged"
		}
		how = word
	}
	switch {
	case n == 0:
		return ""
	case len(runs) == 1:
		return "the " + side + " log is " + how
	}
	return fmt.Sprintf("%d of the %d %s logs: %s", n, len(runs), side, how)
}

// result returns what happened to the wall time, or whether anything differs, and why.
func (s *show) result() []piece {
	if !s.Differ() {
		return s.nothing()
	}
	w := &s.Wall
	var list []piece
	add := func(p ...piece) { list = append(list, p...) }
	switch {
	case s.Changed == compare.Fails:
		add(append([]piece{name(s.New[0].Label), said(" fails now, " + summary.Ending(s.New[0].Command))}, running(s.New[0])...)...)
		if s.Cause != nil && s.Cause.First {
			return list
		}
	case s.Changed == compare.Succeeds:
		add(name(s.New[0].Label), said(" no longer fails"))
		if s.Cause != nil && s.Cause.First {
			return list
		}
	case s.Golden:
		add(said("what happened differs"))
	case s.Cause != nil && s.Cause.NewFailure():
		return append(within(s.Cause), said("; "+lasted(w)))
	default:
		add(said(lasted(w)))
		if s.Busier != nil {
			return append(list, s.busier()...)
		}
	}
	if c := s.Cause; c != nil {
		add(said(": "))
		return append(list, within(c)...)
	}
	if !s.Parallel {
		return append(list, said("; no single command, span, call or pause explains it"))
	}
	add(said(fmt.Sprintf(": %.1f commands ran at a time instead of %.1f", s.Running[1], s.Running[0])))
	if old, new := s.Old[0].Label, s.New[0].Label; old != new {
		add(said("; "), name(old), said(" is now "), name(new))
	}
	return list
}

// busier says that other processes of the machine changed the wall time, and what else did.
func (s *show) busier() []piece {
	words := "busier"
	if s.Wall.By() < 0 {
		words = "less busy"
	}
	list := []piece{said(": the machine was " + words + ": " + output.Percent(s.Busier.New) + " of the wall time waited for a processor instead of " +
		output.Percent(s.Busier.Old))}
	if s.Cause == nil {
		return list
	}
	return append(append(list, said("; ")), within(s.Cause)...)
}

// lasted returns how the wall time changed.
func lasted(w *compare.Change) string {
	switch {
	case !w.Beyond && w.Noisy:
		return "as long as before within the noise of the runs, " + took(w.New) + " ± " + took(w.NewSpread) + ", before " + took(w.Old) + " ± " + took(w.OldSpread)
	case !w.Beyond:
		return "as long as before, " + took(w.New)
	case w.By() > 0:
		return took(w.By()) + " slower" + percent(w) + ", " + took(w.New) + " instead of " + took(w.Old)
	}
	return took(-w.By()) + " faster" + percent(w) + ", " + took(w.New) + " instead of " + took(w.Old)
}

// within returns a difference in words, with what is around it.
func within(d *compare.Difference) []piece {
	list := about(d)
	if d.In != "" {
		list = append(list, said(", in "), name(d.In))
	}
	return list
}

// nothing returns the first line if nothing differs.
func (s *show) nothing() []piece {
	if s.Golden {
		return []piece{said("no difference: " + cli.Plural(uint64(s.Compared), "thing", "things") + " compared")}
	}
	if w := &s.Wall; w.Noisy {
		return []piece{said("no difference beyond the noise of the runs: " + took(w.New) + " ± " + took(w.NewSpread) + ", before " +
			took(w.Old) + " ± " + took(w.OldSpread) + "; one of more than " + took(w.Seen) + " would be seen")}
	}
	return []piece{said("no difference beyond " + strconv.FormatFloat(s.Percent, 'g', -1, 64) + " % and " + took(int64(s.Least)) + ": " +
		took(s.Wall.New) + ", before " + took(s.Wall.Old))}
}

// uses reports whether a difference is of what was used.
func uses(d *compare.Difference) bool { return d.What == compare.Memory || d.What == compare.Processor }

// used returns what was used on both sides.
func used(d *compare.Difference) []piece {
	words, new, old := "peak memory", summary.Size(d.Bytes.New), summary.Size(d.Bytes.Old)
	if d.What == compare.Processor {
		words, new, old = "processor time", took(d.Time.New), took(d.Time.Old)
	}
	list := []piece{said(words)}
	if d.Name != "" {
		list = append(list, said(" of "), name(d.Name))
	}
	return append(list, said(": "+new+" instead of "+old))
}

// about returns a difference in words.
func about(d *compare.Difference) []piece {
	if uses(d) {
		return used(d)
	}
	subject := subject(d)
	t := &d.Time
	if d.What == compare.File {
		side := "old"
		if d.How == compare.Added {
			side = "new"
		}
		return append(subject, said(" is "+d.Use+" by the "+side+" side only"))
	}
	switch d.How {
	case compare.Slower, compare.Faster:
		words := " took "
		switch {
		case !ownTime(d):
		case isTotal(d):
			words = ", without what ran in them, took "
		default:
			words = " itself took "
		}
		if d.How == compare.Faster {
			words += took(-t.By()) + " less"
		} else {
			words += took(t.By()) + " longer"
		}
		return append(subject, said(words+times(d)+calls(d)))
	case compare.More, compare.Fewer:
		words := fmt.Sprintf(" %s instead of %d", verb(d, "ran "+often(d.Count.New), "is there "+often(d.Count.New)), d.Count.Old)
		if t.Beyond {
			words += times(d) + overlap(d)
		}
		return append(subject, said(words))
	case compare.Added:
		words := " is new"
		if t.New > 0 {
			words += " and took " + took(t.New)
		}
		if d.NewFailure() {
			subject = append(append(subject, said(words+", and fails: ")), ending(d)...)
			words = ""
		}
		return append(subject, said(words+calls(d)+inside(d)))
	case compare.Gone:
		words := " is gone"
		if t.Old > 0 {
			words += " and took " + took(t.Old)
		}
		return append(subject, said(words+inside(d)))
	case compare.Fails:
		return append(append(subject, said(" fails now: ")), ending(d)...)
	case compare.Succeeds:
		return append(subject, said(" no longer fails"))
	case compare.Changed:
		return []piece{name(d.Was), said(" is now "), name(d.Name)}
	}
	return append(subject, said(" is in another place"))
}

// verb returns the words for what runs, or for other things.
func verb(d *compare.Difference, runs, is string) string {
	if d.What == compare.Line || d.What == compare.Event {
		return is
	}
	return runs
}

// ownTime reports whether the time of a difference is a part of the time of the thing, worth saying.
func ownTime(d *compare.Difference) bool {
	part := func(own, whole int64) bool { return whole-own >= max(whole/20, 1) }
	return part(d.Time.Old, d.Whole.Old) || part(d.Time.New, d.Whole.New)
}

// times returns the new time and the old one, as parts of the whole time of the thing.
func times(d *compare.Difference) string {
	its := "its "
	if isTotal(d) {
		its = "their "
	}
	of := func(own, whole int64, its string) string {
		switch {
		case !ownTime(d):
			return took(own)
		case whole-own < max(whole/20, 1):
			return "all of " + its + took(whole)
		}
		return took(own) + " of " + its + took(whole)
	}
	return ": " + of(d.Time.New, d.Whole.New, its) + " instead of " + of(d.Time.Old, d.Whole.Old, "")
}

// isTotal reports whether a difference is of all commands of a program, or of all spans of a name.
func isTotal(d *compare.Difference) bool {
	return d.What == compare.Program || d.What == compare.Spans
}

func often(n int64) string {
	if n == 1 {
		return "once"
	}
	return strconv.FormatInt(n, 10) + " times"
}

// subject returns what a difference is about.
func subject(d *compare.Difference) []piece {
	switch d.What {
	case compare.Pause:
		switch {
		case d.Start:
			return []piece{said("the first line of output")}
		case d.Empty:
			return []piece{said("what followed an empty line")}
		}
		return []piece{said("what followed the line "), quoted(d.Name)}
	case compare.Line:
		return []piece{said("the line "), quoted(d.Name)}
	case compare.Event:
		return []piece{said("the event "), name(d.Name)}
	case compare.File:
		return []piece{said("the file "), name(d.Name)}
	case compare.SystemCall:
		return []piece{said("the system call "), name(d.Name)}
	case compare.Program, compare.Spans:
		return []piece{said("all "), name(d.Name), said(" together")}
	}
	if d.Was != "" && d.Was != d.Name && d.How != compare.Changed {
		return []piece{name(d.Name), said(" (was "), name(d.Was), said(")")}
	}
	return []piece{name(d.Name)}
}

// calls returns how many calls, commands or spans a time is of.
func calls(d *compare.Difference) string {
	if several := d.What == compare.SystemCall || isTotal(d); !several && max(d.Count.Old, d.Count.New) <= 1 {
		return ""
	}
	if d.What == compare.Line {
		return ", " + often(max(d.Count.Old, d.Count.New))
	}
	if d.Count.Old == d.Count.New || d.How == compare.Added {
		return " in " + strconv.FormatInt(d.Count.New, 10) + overlap(d)
	}
	return fmt.Sprintf(" in %d instead of %d", d.Count.New, d.Count.Old) + overlap(d)
}

// overlap says why the time of several things exceeds that of the run.
func overlap(d *compare.Difference) string {
	if d.Overlap {
		return ", which overlap"
	}
	return ""
}

func inside(d *compare.Difference) string {
	if d.Inside == 0 {
		return ""
	}
	return ", with " + strconv.FormatUint(d.Inside, 10) + " inside"
}

// ending returns how something failed.
func ending(d *compare.Difference) []piece {
	if d.Error != "" {
		return []piece{name(d.Error)}
	}
	return []piece{said(outcome(d))}
}

// outcome returns how something failed, without untrusted text.
func outcome(d *compare.Difference) string {
	switch {
	case d.Error != "":
		return "error"
	case d.Limit > 0:
		return summary.TimedOut(d.Limit)
	case d.Signal > 0, d.Status >= 0:
		return output.EndPhrase(d.Status, max(d.Signal, 0))
	}
	return "status unknown"
}

// running returns what ran when a time limit or a signal ended a run.
func running(r *compare.Run) []piece {
	if text := summary.RunningThen(r.Command); text != "" {
		return []piece{said("; running then: "), name(text)}
	}
	return nil
}

// side returns the line about the runs of a side.
func (s *show) side(label string, runs []*compare.Run, c int64, spread int64) []piece {
	r := runs[0]
	list := []piece{said(label + ": ")}
	if len(runs) > 1 {
		list = append(list, said(strconv.Itoa(len(runs))+" runs"))
		if r.Label != "" {
			list = append(list, said(" of "), name(r.Label))
		}
		return append(list, said(", "+took(c)+" ± "+took(spread)))
	}
	list = append(list, name(r.Name))
	if r.Command == nil {
		return append(list, said(": "+cli.Plural(r.Events, "event", "events")+" in "+took(r.Wall)))
	}
	end := summary.Ending(r.Command)
	if !r.Command.TimedOut() {
		end += " after " + took(r.Wall)
	}
	return append(append(list, said(": "), name(r.Label), said(": "+end)), running(r)...)
}
