package compare

import (
	"cmp"

	"github.com/posixtrace/posixtrace/cmd/internal/analysis"
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

// around returns the label of what is around an item, "" for the first command.
func (c *comparison) around(m *matched) string {
	p := m.parent
	if p.label == nil || p.parent.label == nil && p.kind == analysis.Process {
		return ""
	}
	return c.text(p.label)
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
