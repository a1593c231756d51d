package summary

import (
	"html"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/output"
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

// appendText appends untrusted text.
func appendText(b []byte, s string) []byte {
	return append(b, html.EscapeString(string(escape.AppendPrintable(nil, s)))...)
}

// widestTitle bounds the command in a title.
const widestTitle = 120

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
			class, badge = "failed", ending(&r.Command)
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
		b = append(appendText(append(b, `<span class="label">`...), p.Label), "</span> "...)
	}
	b = append(appendText(append(b, "<code>"...), p.Title()), "</code></h2>\n"...)
	if badge != "" {
		b = append(appendText(append(b, `<p class="status"><span class="badge">`...), badge), "</span></p>\n"...)
	}
	b = p.appendHeadline(b, s, min(len(runs), 1))
	b = p.appendFacts(b, s)
	for _, text := range p.Warnings {
		b = append(appendText(append(b, `<p class="warning">`...), text), "</p>\n"...)
	}
	for _, text := range append(s.notes(), p.Notes...) {
		b = append(appendText(append(b, `<p class="note">`...), text), "</p>\n"...)
	}
	return append(b, "</section>\n"...)
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
		if l.failed {
			b = append(b, ` class="failed"`...)
		}
		b = appendText(append(b, '>'), l.before)
		if l.subject != "" {
			b = append(appendText(append(b, "<code>"...), cut(l.subject, widestTitle)), "</code>"...)
		}
		b = append(appendText(b, l.after), "</li>\n"...)
	}
	return append(b, "</ul>\n"...)
}

// appendFacts appends the numbers of the run.
func (p *Page) appendFacts(b []byte, s *show) []byte {
	b = append(b, "<dl class=\"facts\">\n"...)
	add := func(name, value string) {
		b = append(append(append(b, "<div><dt>"...), name...), "</dt><dd>"...)
		b = append(appendText(b, value), "</dd></div>\n"...)
	}
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
	if t := s.CommandTotals(); t.Commands > 0 {
		add("commands", number(t.Commands))
		if t.Failed > 0 && s.failedFirst() > 0 {
			add("failed commands", number(t.Failed))
		}
	}
	add("events", number(s.Events))
	add("lost", number(p.Lost))
	add("log", p.Name+": "+p.State)
	return append(b, "</dl>\n"...)
}

// AppendTables appends the tables of the summary.
func (p *Page) AppendTables(b []byte) []byte {
	s := p.show()
	for _, t := range s.tables() {
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

func (p *Page) appendTable(b []byte, t *table, placeOf func(row int) place) []byte {
	id := "t-" + strings.ReplaceAll(strings.ToLower(t.title), " ", "-")
	if p.Run > 0 {
		id += "-" + strconv.Itoa(p.Run)
	}
	b = append(append(append(b, `<section class="table"><h3 id="`...), id...), `">`...)
	if p.Label != "" {
		b = append(appendText(b, p.Label), ": "...)
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
				b = strconv.AppendInt(append(b, ` data-run="`...), int64(p.Run), 10)
				b = append(append(append(b, `" `...), at.attribute...), `="`...)
				b = append(strconv.AppendInt(b, int64(at.index), 10), '"')
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
			if named {
				b = append(appendText(append(b, "<td>"...), cut(cell, widestCell)), "</td>"...)
			} else {
				b = append(appendText(append(b, `<th scope="row">`...), cut(cell, widestCell)), "</th>"...)
			}
			named = true
			continue
		}
		b = append(b, `<td class="n"`...)
		if v, ok := sortable(cell); ok {
			b = append(strconv.AppendFloat(append(b, ` data-sort="`...), v, 'f', -1, 64), '"')
		}
		b = append(appendText(append(b, '>'), cell), "</td>"...)
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
