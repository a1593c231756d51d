package summary

import "github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"

// Shown escapes untrusted text for a line of output, as the tables do.
func Shown(s string) string { return shown(s) }

// ShownLine escapes a line of output, which Unstyled returned, for a line of output of ours.
func ShownLine(s string) string { return shownLine(s) }

// Cut shortens text to n characters.
func Cut(s string, n int) string { return cut(s, n) }

// AppendCode appends an untrusted name as code in markdown.
func AppendCode(b []byte, text string) []byte { return appendCode(b, text) }

// AppendCodeLine is like AppendCode but for a line of output.
func AppendCodeLine(b []byte, text string) []byte { return appendCodeLine(b, text) }

// Unstyled returns a line of output without colours and blanks around it.
func Unstyled(line []byte) string { return unstyled(line) }

// Duration formats a duration as the tables do.
func Duration(ns int64) string { return duration(ns) }

// Size formats a number of bytes as the tables do.
func Size(n int64) string { return size(n) }

// MaxMarkdown bounds the size of markdown: GitHub discards a larger step summary.
const MaxMarkdown = maxMarkdown

// Ending returns in words how the first command of a log ended.
func Ending(r *analysis.Run) string {
	if r.TimedOut() {
		return TimedOut(r.Timeout.Limit)
	}
	return ending(&r.Command)
}
