package summary

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// Page shows an analysis as parts of an HTML page. All text is escaped: nothing that a log contains
// becomes HTML, and what a browser does not show, or shows in another order, is visible.
type Page struct {
	Analysis *analysis.Analysis
	Lost     uint64
	Rows     int    // of each table
	Run      int    // the number of the run on the page
	Label    string // what the run is called, "" for nothing
	Name     string // of the log
	State    string // of the log
	Failed   uint64 // commands whose failure was not tolerated
	Warnings []string
	Notes    []string

	// Where the page shows a command, the longest of a row's spans, and the line before a pause, or
	// false. Each may be nil.
	Command func(c *analysis.Command) (span int, ok bool)
	Span    func(r *analysis.Span) (span int, ok bool)
	Line    func(x *analysis.Pause) (line int, ok bool)
}

func (p *Page) show() *show {
	return &show{Analysis: p.Analysis, Options: &Options{Top: p.Rows}, lost: p.Lost}
}

const (
	// widestTitle bounds the command in a title, widestQuote the line of output in a sentence.
	widestTitle = 120
	widestQuote = 60
)

// Title returns what the page is called.
func (p *Page) Title() string {
	if runs := p.Analysis.Runs(); len(runs) > 0 {
		return cut(runs[0].Label(), widestTitle)
	}
	return p.Name
}

// AppendVerdict appends what ran, how it ended and what it used.
func (p *Page) AppendVerdict(b []byte) []byte {
	s := p.show()
	runs := s.Runs()
	class, badge := "unknown", ""
	if len(runs) > 0 {
		r := runs[0]
		switch {
		case r.Failed():
			class, badge = "failed", Ending(r)
		case r.State == analysis.Ended:
			class, badge = "ok", ending(&r.Command)
		case r.State == analysis.Running:
			badge = "no end recorded"
		default:
			badge = ending(&r.Command)
		}
		for _, r := range runs[1:] {
			if r.Failed() {
				class = "failed"
			}
		}
	}
	b = append(append(append(b, `<section class="run `...), class...), `" data-run="`...)
	b = append(strconv.AppendInt(b, int64(p.Run), 10), "\"><h2>"...)
	if p.Label != "" {
		b = append(escape.AppendHTML(append(b, `<span class="label">`...), p.Label), "</span> "...)
	}
	b = append(escape.AppendHTML(append(b, "<code>"...), p.Title()), "</code></h2>\n"...)
	if badge != "" {
		b = append(escape.AppendHTML(append(b, `<p class="status"><span class="badge">`...), badge), "</span></p>\n"...)
	}
	b = p.appendHeadline(b, s, min(len(runs), 1))
	b = p.appendFacts(b, s)
	for _, text := range p.Warnings {
		b = append(escape.AppendHTML(append(b, `<p class="warning">`...), text), "</p>\n"...)
	}
	b = p.appendOrigin(b, s)
	return append(b, "</section>\n"...)
}

// AppendNotes appends what makes the page doubtful or incomplete.
func (p *Page) AppendNotes(b []byte) []byte {
	for _, text := range append(p.show().notes(), p.Notes...) {
		b = append(b, `<p class="note">`...)
		if p.Label != "" {
			b = append(escape.AppendHTML(b, p.Label), ": "...)
		}
		b = append(escape.AppendHTML(b, text), "</p>\n"...)
	}
	return b
}

// appendHeadline appends the lines of the headline, without the first ones, and without losses,
// which are warnings.
func (p *Page) appendHeadline(b []byte, s *show, from int) []byte {
	quiet := *s
	quiet.lost = 0
	lines := quiet.headline()
	lines = lines[min(from, len(lines)):]
	if len(lines) == 0 {
		return b
	}
	b = append(b, "<ul class=\"headline\">\n"...)
	for _, l := range lines {
		b = append(b, "<li"...)
		switch {
		case l.failed:
			b = p.appendCause(append(b, ` class="failed"`...), s, l.subject)
		case l.printed:
			b = append(b, ` class="printed"`...)
		case l.span != nil && p.Span != nil:
			if i, ok := p.Span(l.span); ok {
				b = p.appendPlace(b, place{"data-span", i})
			}
		}
		width := widestTitle
		if l.quoted {
			width = widestQuote
		}
		b = escape.AppendHTML(append(b, '>'), l.before)
		if l.subject != "" {
			text := escape.AppendHTML[string]
			if l.quoted || l.printed {
				text = escape.AppendHTMLCell[string]
			}
			b = append(text(append(b, "<code>"...), l.bounded(width)), "</code>"...)
		}
		b = escape.AppendHTML(b, l.after)
		for _, w := range l.words {
			if w.name {
				b = append(escape.AppendHTML(append(b, "<code>"...), w.text), "</code>"...)
			} else {
				b = escape.AppendHTML(b, w.text)
			}
		}
		b = append(b, "</li>\n"...)
	}
	return append(b, "</ul>\n"...)
}

// appendCause appends where the page shows the command to blame, if that is the subject of a line.
func (p *Page) appendCause(b []byte, s *show, subject string) []byte {
	_, failed := s.Commands()
	if p.Command == nil || len(failed) == 0 || failed[0].Label() != subject {
		return b
	}
	if i, ok := p.Command(failed[0]); ok {
		b = p.appendPlace(b, place{"data-span", i})
	}
	return b
}

// appendFacts appends the numbers of the run that people look for.
func (p *Page) appendFacts(b []byte, s *show) []byte {
	b = append(b, "<dl class=\"facts\">\n"...)
	add := func(name, value string) { b = appendFact(b, name, value) }
	if runs := s.Runs(); len(runs) > 0 {
		r := runs[0]
		add("wall time", duration(r.Wall))
		if r.State == analysis.Ended {
			add("processor time", duration(r.User+r.System))
			if b, ok := r.Busy(); ok && b.Waited > 0 {
				add("waited for a processor", output.Percent(b.Waited)+" of the wall time")
			}
			add("largest memory", size(r.MaxRSS))
		}
	} else {
		add("time", duration(s.Duration()))
	}
	if t := s.CommandTotals(); t.Commands > 1 {
		add("commands", number(t.Commands))
		if p.Failed > 0 {
			add("failed commands", number(p.Failed))
		}
	}
	if p.Lost > 0 {
		add("lost events", number(p.Lost))
	}
	return append(b, "</dl>\n"...)
}

// appendOrigin appends where the numbers come from.
func (p *Page) appendOrigin(b []byte, s *show) []byte {
	b = append(b, "<dl class=\"origin\">\n"...)
	b = appendFact(b, "log", p.Name+": "+p.State)
	b = appendFact(b, "events", number(s.Events))
	return append(b, "</dl>\n"...)
}

func appendFact(b []byte, name, value string) []byte {
	b = append(append(append(b, "<div><dt>"...), name...), "</dt><dd>"...)
	return append(escape.AppendHTML(b, value), "</dd></div>\n"...)
}

// AppendTables appends the tables of the summary.
func (p *Page) AppendTables(b []byte) []byte {
	s := p.show()
	for _, t := range s.tables() {
		if i := slices.Index(t.columns, "failed"); i >= 0 && t.title == programTitle && s.failedFirst() == 0 {
			t.columns[i] = "tolerated"
		}
		t.squeeze()
		b = p.appendTable(b, t, p.placeOf(s, t))
	}
	return b
}

// place is what a row of a table leads to: the attribute and its value. The attribute is "" for
// nothing.
type place struct {
	attribute string
	index     int
}

// appendPlace appends the attributes of an element that leads to a place.
func (p *Page) appendPlace(b []byte, at place) []byte {
	b = strconv.AppendInt(append(b, ` data-run="`...), int64(p.Run), 10)
	b = append(append(append(b, `" `...), at.attribute...), `="`...)
	return append(strconv.AppendInt(b, int64(at.index), 10), '"')
}

// placeOf returns what the rows of a table lead to, nil for nothing.
func (p *Page) placeOf(s *show, t *table) func(row int) place {
	switch {
	case t.title == commandTitle && p.Command != nil:
		return placesOf(s.rankedCommands(), "data-span", p.Command)
	case t.title == spanTitle && p.Span != nil:
		return placesOf(s.rankedSpans(), "data-span", p.Span)
	case t.title == pauseTitle && p.Line != nil:
		list, _ := s.Pauses()
		return placesOf(list, "data-line", p.Line)
	}
	return nil
}

func placesOf[T any](list []T, attribute string, find func(T) (int, bool)) func(row int) place {
	return func(row int) place {
		if i, ok := find(list[row]); ok {
			return place{attribute, i}
		}
		return place{}
	}
}

// squeeze removes columns that tell nothing: a count of 1 or a status of 0 in all rows, and times that are
// those of another column, as the quantiles of what happened once.
func (t *table) squeeze() {
	if len(t.rows) < 2 {
		return
	}
	same := func(i, j int) bool {
		return !slices.ContainsFunc(t.rows, func(r row) bool { return r.cells[i] != r.cells[j] })
	}
	for _, pair := range [][2]string{{"p50", "max"}, {"p95", "max"}, {"max", "total"}, {"mean", "total"}, {"self", "total"}, {"self", "wall"}} {
		if i, j := slices.Index(t.columns, pair[0]), slices.Index(t.columns, pair[1]); i >= 0 && j >= 0 && same(i, j) {
			t.remove(pair[0])
		}
	}
	only := func(name, cell string) bool {
		i := slices.Index(t.columns, name)
		return i >= 0 && !slices.ContainsFunc(t.rows, func(r row) bool { return r.cells[i] != cell })
	}
	if only("status", "0") {
		t.remove("status")
	}
	if only("count", "1") {
		t.remove("count")
		t.remove("rate/s")
	}
}

// widestHalf is the longest text of a row that fits into half the width of the page.
const widestHalf = 40

// wide reports whether the text of many rows of a table does not fit into half the width of the page.
func (t *table) wide() bool {
	long := 0
	for _, r := range t.rows {
		text := 0
		for i, c := range t.columns {
			if strings.HasPrefix(c, " ") {
				text += utf8.RuneCountInString(r.cells[i])
			}
		}
		if text > widestHalf {
			long++
		}
	}
	return 5*long > len(t.rows)
}

func (p *Page) appendTable(b []byte, t *table, placeOf func(row int) place) []byte {
	id := "t-" + strings.ReplaceAll(strings.ToLower(t.title), " ", "-")
	if p.Run > 0 {
		id += "-" + strconv.Itoa(p.Run)
	}
	class := "table"
	if t.wide() {
		class = "table wide"
	}
	b = append(append(append(b, `<section class="`...), class...), `"><h3 id="`...)
	b = append(append(b, id...), `">`...)
	if p.Label != "" {
		b = append(escape.AppendHTML(b, p.Label), ": "...)
	}
	b = append(append(b, t.title...), "</h3>\n"...)
	rows := t.rows[:min(len(t.rows), p.Rows)]
	if left := t.hidden + uint64(len(t.rows)-len(rows)); left > 0 {
		b = append(append(append(b, `<p class="note">`...), number(left)...), " more left out</p>\n"...)
	}
	b = append(append(append(b, `<div class="scroll" tabindex="0" role="region" aria-labelledby="`...), id...), "\"><table class=\"sortable\">\n<thead><tr>"...)
	for _, c := range t.columns {
		name, text := strings.CutPrefix(c, " ")
		b = append(b, `<th scope="col"`...)
		if !text {
			b = append(b, ` class="n"`...)
		}
		b = append(append(append(b, '>'), name...), "</th>"...)
	}
	b = append(b, "</tr></thead>\n<tbody>\n"...)
	for i, r := range rows {
		b = append(b, "<tr"...)
		if r.failed {
			b = append(b, ` class="failed"`...)
		}
		if placeOf != nil {
			if at := placeOf(i); at.attribute != "" {
				b = p.appendPlace(b, at)
			}
		}
		b = p.appendCells(append(b, '>'), t, r)
		b = append(b, "</tr>\n"...)
	}
	return append(b, "</tbody></table></div></section>\n"...)
}

// appendCells appends the cells of a row. The first text is the row's name.
func (p *Page) appendCells(b []byte, t *table, r row) []byte {
	named := false
	for i, cell := range r.cells {
		if strings.HasPrefix(t.columns[i], " ") {
			text := escape.AppendHTML[string]
			if t.isLine(i) {
				text = escape.AppendHTMLCell[string]
			}
			if named {
				b = append(text(append(b, "<td>"...), cut(cell, widestCell)), "</td>"...)
			} else {
				b = append(text(append(b, `<th scope="row">`...), cut(cell, widestCell)), "</th>"...)
			}
			named = true
			continue
		}
		b = append(b, `<td class="n"`...)
		if v, ok := sortable(cell); ok {
			b = append(strconv.AppendFloat(append(b, ` data-sort="`...), v, 'f', -1, 64), '"')
		}
		b = append(escape.AppendHTML(append(b, '>'), cell), "</td>"...)
	}
	return b
}

// units are those of duration and size, the longer names first.
var units = []struct {
	name  string
	value float64
}{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40}, {"P", 1 << 50}, {"E", 1 << 60}}

// sortable returns the value of a formatted duration, size or number.
func sortable(cell string) (sum float64, ok bool) {
	for rest := cell; rest != ""; ok = true {
		n := 0
		for n < len(rest) && ('0' <= rest[n] && rest[n] <= '9' || rest[n] == '.') {
			n++
		}
		v, err := strconv.ParseFloat(rest[:n], 64)
		if err != nil {
			return 0, false
		}
		rest = rest[n:]
		factor := 1.0
		for _, u := range units {
			if strings.HasPrefix(rest, u.name) {
				factor, rest = u.value, rest[len(u.name):]
				break
			}
		}
		sum += v * factor
	}
	return sum, ok
}
