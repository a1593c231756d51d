package view

import (
	"bytes"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Output has the captured output of cases that failed.
type Output struct {
	recent map[int]*recent // by source
	kept   map[uint64][]string
	bytes  int
}

// late is a case that has failed, whose last lines may not have been read from the pipe when it ended.
type late struct {
	id   uint64
	end  int64
	left int // lines
}

// recent has the latest lines of a log.
type recent struct {
	lines []printed
	next  int // the oldest, if there are maxRecent
	late  []late
}

type printed struct {
	at   int64
	text string
}

const (
	// maxRecent is the number of lines that a case can have, maxPrinted the length of one in bytes.
	maxRecent  = 500
	maxPrinted = 1000
	// lateness is how long after the end of a case its lines may come, and maxLate the number of
	// cases that wait for some.
	lateness = 1e8
	maxLate  = 16
	// maxOutput bounds the output of all cases.
	maxOutput = 8 << 20
)

// NewOutput returns the output of no cases.
func NewOutput() *Output { return &Output{recent: map[int]*recent{}, kept: map[uint64][]string{}} }

// Add adds an event of a log.
func (o *Output) Add(source int, rec *posixtrace.Record) {
	if rec.ID != posixtrace.EventOutputStdout && rec.ID != posixtrace.EventOutputStderr {
		return
	}
	d, err := posixtrace.DecodeOutput(rec.Data)
	if err != nil || d.Return && escape.Blank(d.Line) {
		return
	}
	r := o.recent[source]
	if r == nil {
		r = &recent{}
		o.recent[source] = r
	}
	p := printed{rec.UnixNano, string(escape.AppendLine(nil, bytes.TrimRight(escape.Unstyled(d.Line[:escape.Cut(d.Line, maxPrinted)]), " \t")))}
	for i := range r.late {
		if l := &r.late[i]; p.at > l.end && p.at-l.end <= lateness && l.left > 0 && o.room(p.text) {
			l.left--
			o.kept[l.id] = append(o.kept[l.id], p.text)
		}
	}
	if len(r.lines) < maxRecent {
		r.lines = append(r.lines, p)
		return
	}
	r.lines[r.next] = p
	r.next = (r.next + 1) % maxRecent
}

// Keep keeps what was printed during an interval that has just failed.
func (o *Output) Keep(iv *analysis.Interval) {
	r := o.recent[iv.Source]
	if r == nil {
		r = &recent{}
		o.recent[iv.Source] = r
	}
	if !iv.Failed && iv.State != analysis.Running && iv.State != analysis.Lost {
		return
	}
	var list []string
	for i := range r.lines {
		p := &r.lines[(r.next+i)%len(r.lines)]
		if p.at < iv.Start || p.at > iv.End {
			continue
		}
		if !o.room(p.text) {
			break
		}
		list = append(list, p.text)
	}
	if len(list) > 0 {
		o.kept[iv.ID] = slices.Clip(list)
	}
	if len(r.late) == maxLate {
		r.late = slices.Delete(r.late, 0, 1)
	}
	r.late = append(r.late, late{iv.ID, iv.End, maxRecent - len(list)})
}

// room takes room for a line, and reports whether there is some.
func (o *Output) room(text string) bool {
	if o.bytes+len(text)+1 > maxOutput {
		return false
	}
	o.bytes += len(text) + 1
	return true
}

// of returns the lines of a node.
func (o *Output) of(n *analysis.Node) []string {
	if o == nil {
		return nil
	}
	return o.kept[n.ID()]
}

// printable escapes what a terminal would act on or not show.
func printable(s string) string { return string(escape.AppendPrintable(nil, s)) }
