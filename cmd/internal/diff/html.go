package diff

import (
	"io"
	"path/filepath"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/compare"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/format/report"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// writePage writes the result as an HTML page, with the timelines of both sides: of a group that of
// the run whose wall time is nearest to the median.
func (s *show) writePage(w io.Writer, logs [2][]*log) error {
	var runs []*report.Run
	for side, list := range logs {
		r, err := typical(list, []int64{s.Wall.Old, s.Wall.New}[side]).page(s.options, []string{"old", "new"}[side])
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	title := appendWords(nil, s.first())
	return report.Write(w, runs, &report.Options{Title: s.plain(s.first()), Verdict: s.appendVerdict(nil, title), Tables: s.appendHTMLTable(nil)})
}

// typical returns the log whose wall time is nearest to a time.
func typical(list []*log, wall int64) *log {
	best, least := list[0], int64(1<<63-1)
	for _, l := range list {
		if d := max(l.run.Wall-wall, wall-l.run.Wall); d < least {
			best, least = l, d
		}
	}
	return best
}

// page reads a log once more, for its part of the page.
func (l *log) page(opt *options, label string) (*report.Run, error) {
	if l.Live != nil {
		return nil, cli.Failf("%s: --html reads a log twice, and this one is no file", l.Name)
	}
	l.Reader.Select(posixtrace.Selection{})
	if err := l.Reader.Rewind(); err != nil {
		return nil, cli.Failure(l.Name, err)
	}
	b := report.NewBuilder()
	src := b.NewSource(l.Reader.EventName)
	var batch posixtrace.Batch
	var err error
	for err == nil {
		if err = l.Reader.NextBatch(&batch); err == nil {
			src.Add(opt.sel.selected(batch.Records, l.Reader.EventName))
		}
	}
	st := l.Reader.Status()
	state, _ := l.Reader.State()
	f := report.Facts{Name: filepath.Base(l.Name), Label: label, State: state.String(), Lost: st.Lost + st.LogLost}
	if fault := l.Soundness(); fault != nil {
		f.Warnings = append(f.Warnings, cli.AsFault(fault).Text)
	}
	return b.Finish(f), nil
}

// appendWords appends a sentence.
func appendWords(b []byte, list []piece) []byte {
	for _, p := range list {
		if !p.untrusted {
			b = escape.AppendHTML(b, p.text)
			continue
		}
		text := escape.AppendHTML[string]
		if p.quoted {
			text = escape.AppendHTMLCell[string]
		}
		b = append(text(append(b, "<code>"...), summary.Cut(p.text, widestCell)), "</code>"...)
	}
	return b
}

// appendVerdict appends the first line, and what makes the result doubtful.
func (s *show) appendVerdict(b, title []byte) []byte {
	class := "ok"
	if s.worse() {
		class = "failed"
	}
	b = append(append(append(b, `<section class="run `...), class...), `"><h2>`...)
	b = append(append(b, title...), "</h2>\n<ul class=\"headline\">\n"...)
	for _, side := range [][]piece{s.side("old", s.Old, s.Wall.Old, s.Wall.OldSpread), s.side("new", s.New, s.Wall.New, s.Wall.NewSpread)} {
		b = append(appendWords(append(b, "<li>"...), side), "</li>\n"...)
	}
	b = append(b, "</ul>\n"...)
	for _, n := range s.Notes {
		b = append(escape.AppendHTML(append(b, `<p class="note">`...), n), "</p>\n"...)
	}
	return append(b, "</section>\n"...)
}

// appendHTMLTable appends the table of the differences.
func (s *show) appendHTMLTable(b []byte) []byte {
	list, left := s.limited()
	if len(list) == 0 {
		return b
	}
	b = append(b, "<section class=\"table\"><h3 id=\"t-differences\">Differences</h3>\n"...)
	if left > 0 {
		b = append(append(append(b, `<p class="note">`...), strconv.Itoa(left)...), " more left out</p>\n"...)
	}
	b = append(b, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"t-differences\"><table class=\"sortable\">\n<thead><tr>"...)
	for _, c := range columns {
		b = append(b, `<th scope="col"`...)
		if c.align == output.Right {
			b = append(b, ` class="n"`...)
		}
		b = append(append(append(b, '>'), c.name...), "</th>"...)
	}
	b = append(b, "</tr></thead>\n<tbody>\n"...)
	for _, d := range list {
		b = append(b, "<tr"...)
		if bad(d) {
			b = append(b, ` class="failed"`...)
		}
		b = append(b, '>')
		for i, c := range columns {
			b = s.appendCell(b, d, i, c.align == output.Right)
		}
		b = append(b, "</tr>\n"...)
	}
	return append(b, "</tbody></table></div></section>\n"...)
}

func (s *show) appendCell(b []byte, d *compare.Difference, column int, number bool) []byte {
	text := summary.Cut(columns[column].cell(s, d), widestCell)
	switch {
	case column == untrusted && isLine(d):
		return append(escape.AppendHTMLCell(append(b, `<th scope="row">`...), text), "</th>"...)
	case column == untrusted:
		return append(escape.AppendHTML(append(b, `<th scope="row">`...), text), "</th>"...)
	case !number:
		return append(escape.AppendHTML(append(b, "<td>"...), text), "</td>"...)
	}
	b = append(b, `<td class="n"`...)
	if v, ok := sortKey(columns[column].name, d); ok {
		b = append(strconv.AppendInt(append(b, ` data-sort="`...), v, 10), '"')
	}
	return append(escape.AppendHTML(append(b, '>'), text), "</td>"...)
}

// sortKey returns the number by which a column of the page sorts.
func sortKey(column string, d *compare.Difference) (int64, bool) {
	switch column {
	case "effect":
		return d.Effect, d.Known
	case "old":
		return d.Time.Old, true
	case "new":
		return d.Time.New, true
	}
	return d.Count.New, true
}
