package compare

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// whatOf returns what a label is of.
func whatOf(l *label) What {
	switch {
	case l.kind == analysis.Process:
		return Command
	case l.name == stepName && l.data != "":
		return Step
	}
	return Span
}

// text returns a label for people. It is as untrusted as the log.
func (c *comparison) text(l *label) string {
	switch {
	case l.kind == analysis.Process:
		if l.data == "" {
			return cmp.Or(l.name, "(unknown)")
		}
		return c.labels.Of([]byte(l.data), l.forked)
	case l.data == "":
		return l.name
	}
	return analysis.SpanLabel(l.name, []byte(l.data))
}

// around returns the label of what is around an item, "" for the first command, and of the span around
// that.
func (c *comparison) around(m *matched) string {
	p := m.parent
	if p.label == nil || p.parent.label == nil && p.kind == analysis.Process {
		return ""
	}
	text := c.text(p.latest())
	if p.kind == analysis.SpanKind {
		return text
	}
	for up := p.parent; up.label != nil; up = up.parent {
		if up.kind == analysis.SpanKind {
			return text + " in " + c.text(up.latest())
		}
	}
	return text
}

// latest returns the label that the new runs have.
func (m *matched) latest() *label {
	if m.other != nil {
		return m.other
	}
	return m.label
}

// newLabels returns what tells commands apart from others of their program, in any run.
func newLabels(sides [2][]*Run) *analysis.Labels {
	labels := analysis.NewLabels()
	for _, runs := range sides {
		for _, r := range runs {
			for i := range r.profile.labels {
				if l := &r.profile.labels[i]; l.kind == analysis.Process && l.data != "" {
					labels.Add([]byte(l.data))
				}
			}
		}
	}
	return labels
}

// whole returns all arguments, or the data of a span.
func (l *label) whole() string {
	if l.kind != analysis.Process {
		return l.data
	}
	d, err := posixtrace.DecodeExec([]byte(l.data))
	if err != nil || len(d.Argv) == 0 {
		return ""
	}
	return strings.Join(d.Argv[1:], " ")
}

const (
	// before is how much of two texts apart keeps before their first difference, and after how much
	// follows.
	before = 20
	after  = 60
)

// apart returns the parts of two texts in which they differ first.
func apart(a, b string) (string, string) {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	from := max(n-before, 0)
	for from > 0 && !utf8.RuneStart(a[from]) {
		from--
	}
	part := func(s string) string {
		end := min(n+after, len(s))
		text := strings.ToValidUTF8(s[from:end], "")
		if from > 0 {
			text = "..." + text
		}
		if end < len(s) {
			text += "..."
		}
		return text
	}
	return part(a), part(b)
}
