package summary

import (
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// TimedOut returns in words that a time limit passed.
func TimedOut(limit int64) string { return "timed out after " + limitText(limit) }

// limitText returns a time limit as a person writes it.
func limitText(ns int64) string {
	const second, minute, hour = 1e9, 60 * 1e9, 3600 * 1e9
	switch {
	case ns >= 2*hour && ns%hour == 0:
		return strconv.FormatInt(ns/hour, 10) + " h"
	case ns >= 2*minute && ns%minute == 0:
		return strconv.FormatInt(ns/minute, 10) + " min"
	}
	return strconv.FormatFloat(float64(ns)/second, 'f', -1, 64) + " s"
}

const (
	// widestNested bounds the label of a command among those around it.
	widestNested = 40
	// mostNested bounds how many of them have their labels, the first command apart.
	mostNested = 4
)

// RunningThen returns what ran when a time limit passed, or a signal ended a run as a whole; "" if that is
// the first command alone, or unknown. It is untrusted text.
func RunningThen(r *analysis.Run) string {
	if t := r.Timeout; t != nil {
		return nested(t.Running, t.Others)
	}
	return nested(r.Running, 0)
}

// nested returns commands of which each is inside of the next, and how many run beside the first.
func nested(list []*analysis.Command, others int) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	for i, c := range list {
		more := len(list) - 1 - mostNested
		switch {
		case i < mostNested || i == len(list)-1 || more == 1:
			if i > 0 {
				b.WriteString(", in ")
			}
			b.WriteString(cut(c.Label(), widestNested))
		case i == mostNested:
			b.WriteString(", in " + strconv.Itoa(more) + " more")
		}
	}
	if others > 0 {
		b.WriteString(", and " + cli.Plural(uint64(others), "other", "others"))
	}
	return b.String()
}

// timeoutLines returns the lines of a command whose time limit passed.
func (s *show) timeoutLines(r *analysis.Run) []line {
	list := append([]line{{subject: r.Label(), after: ": " + TimedOut(r.Timeout.Limit), failed: true}}, s.hangLines(r)...)
	list = append(append(list, runningLine(r)...), s.lookLine(r)...)
	if r.State == analysis.Running {
		return append(list, line{before: "runs at the end of the log, after " + duration(r.Wall)})
	}
	return append(list, line{before: "ended: " + ending(&r.Command) + " after " + duration(r.Wall) + usage(r)})
}

// runningLine returns the line of what ran when a run was ended, if any.
func runningLine(r *analysis.Run) []line {
	if text := RunningThen(r); text != "" {
		return []line{{before: runningThen, subject: text, failed: true, joined: true, whole: true}}
	}
	return nil
}

// timeouts returns the lines of logs without the start of a command whose time limit passed.
func (s *show) timeouts(runs []*analysis.Run) (list []line) {
	known := map[*analysis.Timeout]bool{}
	for _, r := range runs {
		known[r.Timeout] = true
	}
	for _, t := range s.Timeouts() {
		if !known[t] && len(list) < maxRuns {
			list = append(list, line{before: "the command " + TimedOut(t.Limit), failed: true})
		}
	}
	return list
}
