package view

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/format/output"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
)

// maxLabel bounds the name of a row in characters before it is escaped.
const maxLabel = 100

// label returns what a node is called, escaped for a line of text.
func (s *show) label(i int32) string {
	return s.text(label(s.Run, i))
}

// text escapes text for a line of output.
func (s *show) text(text string) string {
	text = summary.Shown(text)
	if s.ASCII {
		text = ascii(text)
	}
	return text
}

// label returns what a node is called: short, but as untrusted as its log.
func label(r *Run, i int32) string {
	text := r.Label(i)
	text = summary.Cut(text[:escape.Cut(text, 4*maxLabel)], maxLabel)
	if strings.TrimSpace(text) != "" {
		return text
	}
	n := &r.Nodes[i]
	if n.Kind == analysis.Process {
		return "(process " + strconv.Itoa(int(n.PID)) + ")"
	}
	return "(" + strconv.Quote(text) + ")"
}

// ascii replaces all other characters.
func ascii(s string) string {
	s = strings.NewReplacer("…", "...", "µs", "us").Replace(s)
	var b []byte
	for i := range len(s) {
		if s[i] < utf8.RuneSelf {
			b = append(b, s[i])
		} else {
			b = escape.AppendHexByte(b, s[i])
		}
	}
	return string(b)
}

// duration formats a duration in the characters of the output.
func (s *show) duration(ns int64) string {
	if s.ASCII {
		return ascii(summary.Duration(ns))
	}
	return summary.Duration(ns)
}

// fit cuts text to a width, 0 for no limit.
func (s *show) fit(text string, width int) string {
	if width <= 0 || output.Width(text) <= width {
		return text
	}
	dots := "…"
	if s.ASCII {
		dots = ".."
	}
	if width <= len("..") {
		dots = ""
	}
	return output.Truncate(text, width, dots)
}

// pad fills text up to a width on its left.
func pad(text string, width int) string {
	return strings.Repeat(" ", max(width-output.Width(text), 0)) + text
}

// fill fills text up to a width on its right.
func fill(text string, width int) string {
	return text + strings.Repeat(" ", max(width-output.Width(text), 0))
}

// status returns how a command or span ended, "" for a span without a status, a tolerated failure in
// parentheses.
func status(n *analysis.Node) string {
	switch {
	case n.TimedOut && n.Limit > 0:
		return "timeout"
	case n.State == analysis.Running:
		return "running"
	case n.State == analysis.Lost:
		return "?"
	case n.State == analysis.Replaced:
		return "exec"
	case n.Error != "" && n.Signal == 0:
		return "error"
	case n.Tolerated:
		return "(" + output.EndWord(int(n.Status), int(n.Signal)) + ")"
	case n.Signal != 0, n.Kind == analysis.Process, n.Failed:
		return output.EndWord(int(n.Status), int(n.Signal))
	case n.Overlaps:
		return "crossed"
	}
	return ""
}

// ending returns in words how a node ended.
func ending(n *analysis.Node) string {
	text := endingOf(n)
	switch {
	case n.TimedOut && n.Limit > 0:
		return summary.TimedOut(n.Limit)
	case n.TimedOut && n.State == analysis.Ended:
		text += " when the run timed out"
	case n.TimedOut:
		text = "ran when the run timed out"
	}
	return text
}

func endingOf(n *analysis.Node) string {
	switch {
	case n.State == analysis.Running:
		return "runs at the end of the log"
	case n.State == analysis.Ended && n.Error != "":
		return n.Error
	}
	return summary.EndOf(n.State, int(n.Status), int(n.Signal))
}
