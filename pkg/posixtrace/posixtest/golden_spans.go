package posixtest

import (
	"regexp"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// GoldenSpans compares like Golden, for a program that does several things at a time. In each span, the order
// of the events counts; that of spans beside each other, and of a span and the events around it, does not.
// The file has the events of a span from its begin to its end, and then, indented, the spans in it, in the
// order of their text.
func (tr *Trace) GoldenSpans(file string, masks ...*regexp.Regexp) {
	tr.t.Helper()
	tr.compare(file, goldenSpans(tr.Events(), masks))
}

// GoldenUnordered compares like Golden. The order of the events does not count. The file has their lines in
// the order of the text, with the name of the span that each is in.
func (tr *Trace) GoldenUnordered(file string, masks ...*regexp.Regexp) {
	tr.t.Helper()
	tr.compare(file, goldenUnordered(tr.Events(), masks))
}

// spanID identifies a span: its key is unique in its process. The zero spanID is outside of all spans.
type spanID struct {
	pid int
	key uint64
}

// spans has the spans of some events.
type spans map[spanID]*spanEvents

// spanEvents is a span.
type spanEvents struct {
	name   string   // of its begin, without .begin; "" if that is not there
	around spanID   // the span that it is in
	lines  []string // of its events
	within []spanID // the spans in it
}

// spansOf returns the spans of events. A span whose begin is not among them lies outside of all others.
func spansOf(list []Event, masks []*regexp.Regexp) spans {
	all := spans{spanID{}: {}}
	for _, e := range list {
		id := spanID{}
		if e.Span != 0 {
			id = spanID{e.PID, e.Span}
		}
		s := all[id]
		if s == nil {
			s = &spanEvents{around: spanID{e.PID, e.Parent}}
			if name, ok := strings.CutSuffix(e.Name, ".begin"); ok {
				s.name = name
			}
			if all[s.around] == nil {
				s.around = spanID{}
			}
			all[s.around].within = append(all[s.around].within, id)
			all[id] = s
		}
		s.lines = append(s.lines, line(e, masks))
	}
	return all
}

// line returns the line of an event without its span.
func line(e Event, masks []*regexp.Regexp) string {
	s := e.Name
	if e.Data != "" {
		s += " " + shown(e.Data, masks)
	}
	if e.Truncation != posixtrace.TruncationNone {
		s += " truncated"
	}
	return s
}

func goldenSpans(list []Event, masks []*regexp.Regexp) string {
	all := spansOf(list, masks)
	var text func(id spanID) []string
	text = func(id spanID) []string {
		s := all[id]
		var blocks []string
		for _, w := range s.within {
			indent := "  "
			if id == (spanID{}) {
				indent = ""
			}
			blocks = append(blocks, indent+strings.Join(text(w), "\n"+indent))
		}
		slices.Sort(blocks)
		lines := slices.Clone(s.lines)
		for _, b := range blocks {
			lines = append(lines, strings.Split(b, "\n")...)
		}
		return lines
	}
	return join(text(spanID{}))
}

func goldenUnordered(list []Event, masks []*regexp.Regexp) string {
	all := spansOf(list, masks)
	var lines []string
	for _, e := range list {
		l := line(e, masks)
		if s := all[spanID{e.PID, e.Span}]; s != nil {
			if e.Name == s.name+".begin" || e.Name == s.name+".end" {
				s = all[s.around]
			}
			if s.name != "" {
				l += " in " + s.name
			}
		}
		lines = append(lines, l)
	}
	slices.Sort(lines)
	return join(lines)
}

func join(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
