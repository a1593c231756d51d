package summary

import (
	"slices"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// line is a line before the tables: a subject, which is untrusted text, between two of ours.
type line struct {
	before, subject, after string
	words                  []word // that follow
	failed                 bool
	quoted                 bool           // the subject is a line of output
	printed                bool           // the same, of the time of the failure above it
	joined                 bool           // goes on with the line before, if there is room
	whole                  bool           // the subject has its own bound
	span                   *analysis.Span // whose longest the subject is, or nil
}

// word is a part of a line: words of ours, or a name, which is untrusted text.
type word struct {
	text string
	name bool
}

func said(text string) word { return word{text: text} }

// widestName bounds a name.
const widestName = 60

func named(text string) word { return word{cut(text, widestName), true} }

// maxRuns bounds the lines for the commands of merged logs.
const maxRuns = 4

// headline returns the result of the command, and what took longest.
func (s *show) headline() (list []line) {
	runs := s.Runs()
	for _, r := range runs[:min(len(runs), maxRuns)] {
		list = append(list, s.verdict(r)...)
	}
	list = append(append(append(list, s.timeouts(runs)...), s.outOfMemory(runs)...), s.exhausted(runs)...)
	list = append(list, s.failure(runs)...)
	if s.CommandTotals().Commands > 1 {
		if c := s.slowestCommand(); c != nil {
			list = append(list, line{before: "slowest command: ", subject: c.Label(), after: ", " + s.part(c.Self, c.Source)})
		}
	}
	list = append(list, s.slowestRequest()...)
	if r := s.slowestSpan(); r != nil {
		what := "slowest span: "
		if r.Step != "" {
			what = "slowest step: "
		}
		list = append(list, line{before: what, subject: spanName(r), after: ", " + s.spanTime(r)})
	}
	if p := s.longestPause(); p != nil {
		list = append(list, line{before: "longest pause: " + s.part(p.Duration, p.Source) + " after ", subject: lineBefore(p), quoted: len(p.Line) > 0})
	}
	list = append(append(list, busy(runs)...), s.resources(runs)...)
	for _, text := range s.Unsound[:min(len(s.Unsound), maxRuns)] {
		list = append(list, line{subject: text, after: ": what follows lacks the rest", failed: true})
	}
	if s.lost > 0 {
		list = append(list, line{before: cli.Plural(s.lost, "event was", "events were") + " lost: what follows lacks them", failed: true})
	}
	return list
}

// failure returns the causes of the failure of a run, and what was printed then.
func (s *show) failure(runs []*analysis.Run) (list []line) {
	if s.failedFirst() == 0 {
		return nil
	}
	var printed [][]byte
	if f := s.FailedSpan(); f != nil {
		list = append(list, failedSpan(f))
		printed = s.output(f.Output, f.Context)
	}
	if _, failed := s.Commands(); len(failed) > 0 {
		c := failed[0]
		if !isRun(runs, c) {
			list = append(list, failedCommand(c))
		}
		if lines := s.output(s.FailureOutput(c), s.FailureContext(c)); len(lines) > 0 && (len(printed) == 0 || !isRun(runs, c)) {
			printed = lines
		}
	}
	if len(list) == 0 {
		for _, t := range s.Timeouts() {
			if printed == nil {
				printed = t.Output
			}
		}
	}
	for _, text := range printed {
		list = append(list, s.printed(text))
	}
	return list
}

// output returns the output of a failure, with or without its context.
func (s *show) output(output, context [][]byte) [][]byte {
	if s.context {
		return context
	}
	return output
}

// printed returns a line of output. With its context, it keeps its indentation.
func (s *show) printed(text []byte) line {
	if s.context {
		return line{subject: strings.TrimRight(string(escape.Unstyled(text)), " \t\r"), printed: true, whole: true}
	}
	return line{subject: unstyled(text), printed: true}
}

// failedCommand returns the line of a command to blame.
func failedCommand(c *analysis.Command) line {
	how := ", "
	if c.TimedOut {
		how = ", timed out: "
	}
	return line{before: "failed: ", subject: c.Label(), after: how + ending(c) + " after " + duration(c.Wall), failed: true}
}

// failedSpan returns the line of a span: with the text of its error, or its status.
func failedSpan(f *analysis.FailedSpan) line {
	if f.Error != "" {
		return line{before: "failed: ", subject: spanName(f.Row) + ": " + unstyled([]byte(f.Error)), after: ", after " + duration(f.Wall), failed: true}
	}
	return line{before: "failed: ", subject: spanName(f.Row), after: ", status " + strconv.Itoa(f.Status) + " after " + duration(f.Wall), failed: true}
}

// isRun reports whether a command is the first one of its log, which has a line of its own.
func isRun(runs []*analysis.Run, c *analysis.Command) bool {
	return slices.ContainsFunc(runs, func(r *analysis.Run) bool { return r.Command.Source == c.Source && r.PID == c.PID })
}

// verdict returns how the first command of a log ended.
func (s *show) verdict(r *analysis.Run) []line {
	if r.TimedOut() {
		return s.timeoutLines(r)
	}
	if r.OutOfMemory() {
		by := ": killed by the OOM killer"
		if r.Samples().Last.OOMProcess == 0 { // the kernel's log could not be read
			by = ": killed by KILL, probably by the OOM killer"
		}
		return []line{{subject: r.Label(), after: by, words: atPeak(r.Samples(), r.Start), failed: true}}
	}
	after := ": " + ending(&r.Command) + " after " + duration(r.Wall)
	if r.State == analysis.Running {
		after = ": runs at the end of the log, after " + duration(r.Wall)
	}
	list := append([]line{{subject: r.Label(), after: after + usage(r), failed: r.Failed()}}, s.hangLines(r)...)
	return append(append(list, runningLine(r)...), s.lookLine(r)...)
}

// usage returns what a command that has ended used.
func usage(r *analysis.Run) string {
	if r.State != analysis.Ended {
		return ""
	}
	return ", processor time " + duration(r.User+r.System) + ", memory " + size(r.MaxRSS)
}

// ending returns in words how a command ended.
func ending(c *analysis.Command) string { return EndOf(c.State, c.Status, c.Signal) }

// EndOf returns in words how a command or span ended.
func EndOf(state analysis.State, status, signal int) string {
	switch state {
	case analysis.Replaced:
		return "executed another program"
	case analysis.Running:
		return "runs"
	case analysis.Lost:
		return "end not recorded"
	}
	return output.EndPhrase(status, signal)
}

// part returns a duration, and its part of the time of a log.
func (s *show) part(ns int64, source int) string {
	text := duration(ns)
	if all := s.Base(source); all > 0 {
		text += " (" + output.Percent(float64(ns)/float64(all)) + ")"
	}
	return text
}

// spanTime returns the time of spans in words. Of spans that ran at the same time, the part of the run
// is that in which at least one ran.
func (s *show) spanTime(r *analysis.Span) string {
	in := ""
	if r.Times.Count > 1 {
		in = " in " + number(r.Times.Count)
	}
	switch all := s.Base(r.Source()); {
	case r.Parallel():
		return s.part(r.Covered, r.Source()) + in + ", up to " + number(r.Most) + " at a time, " + duration(r.Self) + " together"
	case r.Most > 1 && all > 0 && r.Self-all > all/20: // some are open at the end
		return duration(r.Self) + " together" + in + ", which overlap"
	}
	return s.part(r.Self, r.Source()) + in
}

func (s *show) slowestCommand() *analysis.Command {
	list, _ := s.Commands()
	var slowest *analysis.Command
	for _, c := range list {
		if slowest == nil || c.Self > slowest.Self {
			slowest = c
		}
	}
	return slowest
}

func (s *show) slowestSpan() *analysis.Span {
	for _, r := range s.Spans() {
		if r.Times.Count > 0 {
			return r
		}
	}
	return nil
}

func (s *show) longestPause() *analysis.Pause {
	list, lines := s.Pauses()
	if lines < 2 || len(list) == 0 {
		return nil
	}
	return list[0]
}
