// Package report writes a run as one HTML page that needs nothing else: a verdict, a timeline, the
// captured output, tables, and the chain of what decided the wall time.
//
// A Builder gets the events and makes a Run. It keeps what the page shows, a file each: spans.go the
// commands, spans and system calls, lanes.go their places, marks.go other events, lines.go captured
// output, gaps.go the times in which events were lost, rate.go events over time. Each has a bound;
// beyond it, the shortest of them become one with their neighbours, or are left out and counted.
// data.go writes the data for the scripts, column.go its numbers. Package page has the rest of the
// document.
package report

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/report/page"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Options are what a page has beside its runs.
type Options struct {
	Title string // "" for that of the first run

	// Verdict is HTML before the verdicts of the runs, Tables a table of the differences below them.
	Verdict, Tables []byte
}

// Write writes the page of one run, or of two that are compared.
func Write(w io.Writer, runs []*Run, o *Options) error {
	title := o.Title
	if title == "" && len(runs) > 0 {
		title = runs[0].page(0).Title()
	}
	data := appendData(nil, title, runs) // counts what is left out
	pages := make([]*summary.Page, len(runs))
	for i, r := range runs {
		pages[i] = r.page(i)
	}
	text := func(first []byte, add func(b []byte, i int) []byte) func(io.Writer) error {
		return func(w io.Writer) error {
			b := first
			for i := range runs {
				b = add(b, i)
			}
			_, err := w.Write(b)
			return err
		}
	}
	return page.Write(w, map[string]func(io.Writer) error{
		"title":       func(w io.Writer) error { _, err := w.Write(escape.AppendHTML(nil, title)); return err },
		"verdict":     text(o.Verdict, func(b []byte, i int) []byte { return pages[i].AppendVerdict(b) }),
		"chain":       text(nil, func(b []byte, i int) []byte { return runs[i].appendChainHTML(b, i) }),
		"tables":      text(nil, func(b []byte, i int) []byte { return pages[i].AppendTables(b) }),
		"links":       o.differences(`<a href="#differences">Differences</a>`+"\n", nil, ""),
		"differences": o.differences(`<section id="differences" aria-label="Differences">`+"\n", o.Tables, "</section>\n"),
		"notes":       text(nil, func(b []byte, i int) []byte { return pages[i].AppendNotes(b) }),
		"holds":       func(w io.Writer) error { _, err := io.WriteString(w, holds); return err },
		"data":        func(w io.Writer) error { _, err := w.Write(data); return err },
	})
}

// differences returns a function that writes something if there are differences.
func (o *Options) differences(before string, text []byte, after string) func(io.Writer) error {
	return func(w io.Writer) error {
		if len(o.Tables) == 0 {
			return nil
		}
		_, err := io.WriteString(w, before+string(text)+after)
		return err
	}
}

// holds says what a page holds.
const holds = `<p>This page holds arguments of commands, captured output and data of events, which may be secret. ` +
	`It loads nothing and sends nothing.</p>`

// dataRoom bounds the data, so that a page has at most 12 MB.
const dataRoom = 12_000_000 - 600_000

func appendData(b []byte, title string, runs []*Run) []byte {
	b = append(quote(append(b, `{"version":1,"title":`...), title), `,"runs":[`...)
	for i, r := range runs {
		if i > 0 {
			b = append(b, ',')
		}
		b = r.appendJSON(b, dataRoom/len(runs))
	}
	return append(b, "]}"...)
}

// page returns the parts of the page that are HTML.
func (r *Run) page(number int) *summary.Page {
	p := &summary.Page{Analysis: r.analysis, Lost: r.Lost, Rows: mostRows, Run: number, Label: r.Label, Name: r.Name, State: r.State}
	p.Warnings = append(r.losses(), r.Warnings...)
	p.Notes = r.leftOut()
	p.Failed = r.failures()
	p.Command = func(c *analysis.Command) (int, bool) {
		i, ok := r.spanOf[command{int32(c.Source), int32(c.PID), c.Start}]
		return i, ok
	}
	p.Span = func(s *analysis.Span) (int, bool) {
		i, ok := r.longest[row{cut(s.Name, maxName), s.Step}]
		return i, ok
	}
	p.Line = r.lines.find(r.analysis)
	return p
}

// failures counts the commands whose failure was not tolerated. Where some have become one with others, it
// counts all that failed.
func (r *Run) failures() (n uint64) {
	for i := range r.spans {
		x := &r.spans[i]
		if x.kind != analysis.Process || x.flags&failed == 0 {
			continue
		}
		if x.flags&merged != 0 {
			return r.analysis.CommandTotals().Failed
		}
		n++
	}
	return n
}

// losses says how many events were lost, and when.
func (r *Run) losses() []string {
	if r.Lost == 0 && len(r.gaps) == 0 {
		return nil
	}
	text := cli.Plural(r.Lost, "event was", "events were") + " lost"
	if r.Lost == 0 {
		text = "events were lost"
	}
	switch n := len(r.gaps); n {
	case 0:
		text += "; the log does not say when"
	case 1:
		g := r.gaps[0]
		text += " from " + summary.Duration(since(g.from, r.from)) + " to " + summary.Duration(since(g.to, r.from))
	default:
		text += " in " + strconv.Itoa(n) + " intervals"
	}
	return []string{text + ": what follows lacks them"}
}

// leftOut says what the page does not show.
func (r *Run) leftOut() (list []string) {
	o := &r.omitted
	add := func(n uint64, one, many, text string) {
		if n > 0 {
			list = append(list, cli.Plural(n, one, many)+text)
		}
	}
	add(o.merged, "span or command", "spans and commands", " are drawn together with neighbours of the same name")
	add(o.spans, "span or command", "spans and commands", " are not drawn")
	add(o.marks, "event", "events", " are not drawn")
	add(o.lines, "line", "lines", " of output in the middle are left out")
	add(r.lines.shortened, "line", "lines", " of output longer than 64 KB: the rest is left out")
	add(r.shortened, "command, span or call", "commands, spans and calls", " with more than 1 KB of arguments or data (a call: 256 bytes): the rest is left out")
	add(r.forgotten, "short command, span or call", "short commands, spans and calls", " without their arguments or data, for which the page has no room")
	add(o.bytes, "byte", "bytes", " of output, arguments and data are left out in all")
	if r.lines.near {
		list = append(list, "standard output and error are two pipes: lines of both that lie close together may have changed places; sh -c 'COMMAND 2>&1' keeps their order")
	}
	if r.from < r.to && since(r.to, r.from) > maxNumber {
		list = append(list, "the times of the events are more than a hundred days apart: the clock may have jumped, and the timeline ends early")
	}
	return list
}

// commandLine returns the data of proc.exec as text: the path if it differs from the first argument,
// and the arguments, quoted as for a shell.
func commandLine(data string) string {
	d, err := posixtrace.DecodeExec([]byte(data))
	if err != nil {
		return ""
	}
	var b bytes.Buffer
	if len(d.Argv) == 0 || d.Argv[0] != d.Path {
		b.WriteString(d.Path)
		b.WriteString(": ")
	}
	for i, a := range d.Argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		if strings.ContainsFunc(a, special) || a == "" {
			a = cli.ShellQuote(a)
		}
		b.WriteString(a)
	}
	return b.String()
}

// special reports whether a character of an argument needs quotes in a shell.
func special(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-./=:,+@%", r))
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }
