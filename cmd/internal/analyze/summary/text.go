package summary

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// widest is the width of text columns where there is no terminal.
const widest = 80

func (s *show) appendText(b []byte) []byte {
	lines, tables := s.headline(), s.tables()
	written := 0
	for i := 0; i < len(lines); i++ {
		text, failed := lines[i].text(), lines[i].failed
		for i+1 < len(lines) && lines[i+1].joined {
			more := lines[i+1].text()
			if s.Width > 0 && output.Width(text)+len("; ")+output.Width(more) > s.Width {
				break
			}
			text += "; " + more
			i++
		}
		if s.Width > 0 {
			text = fit(text, s.Width)
		}
		b = append(s.painted(b, text, failed), '\n')
		written++
	}
	notes := s.notes()
	rows := s.room(tables, written+len(notes)+3) // and an empty line, the last line, the prompt
	for i, t := range tables {
		if rows[i] == 0 {
			continue
		}
		if i > 0 || len(lines) > 0 {
			b = append(b, '\n')
		}
		b = s.appendTable(b, t, rows[i])
	}
	if len(lines)+len(tables) > 0 {
		b = append(b, '\n')
	}
	for _, note := range notes {
		if s.Width > 0 {
			note = fit(note, s.Width)
		}
		b = append(append(b, note...), '\n')
	}
	total := s.total() + noRoom(tables, rows)
	if s.Width > 0 {
		total = fit(total, s.Width)
	}
	return append(s.painted(b, total, s.lost > 0), '\n')
}

// fit cuts text to the columns of a terminal.
func fit(text string, width int) string {
	if output.Width(text) <= width {
		return text
	}
	return output.Truncate(text, width, "…")
}

// bounded returns the subject of a line, which has n characters unless it has a bound of its own.
func (l *line) bounded(n int) string {
	if l.whole {
		return l.subject
	}
	return cut(l.subject, n)
}

// text returns a line as text.
func (l *line) text() string {
	subject := l.bounded(widest)
	if l.quoted || l.printed {
		subject = shownLine(subject)
	} else {
		subject = shown(subject)
	}
	if l.quoted {
		subject = `"` + subject + `"`
	}
	text := l.before + subject + l.after
	for _, w := range l.words {
		if w.name {
			w.text = shown(w.text)
		}
		text += w.text
	}
	if l.printed {
		text = "    " + text
	}
	return text
}

// painted appends text in the colour of failures.
func (s *show) painted(b []byte, text string, failed bool) []byte {
	if !failed || s.Red == "" {
		return append(b, text...)
	}
	return append(append(append(b, s.Red...), text...), "\x1b[0m"...)
}

// roomForText is the width of text columns for which others are left out on a narrow terminal.
const roomForText = 36

// spare are the columns to leave out, the first one first.
var spare = []string{"p50", "bytes", "p95", "mean", "rate/s", "memory", "open", "unmatched", "overlapping", "count", "cpu", "wall"}

// fit leaves out columns of a table that is too wide, so that its text can be read.
func (s *show) fit(t *table) {
	for _, name := range spare {
		text, width := 0, 0
		for i, c := range t.columns {
			w := utf8.RuneCountInString(c)
			for _, r := range t.rows {
				w = max(w, utf8.RuneCountInString(r.cells[i]))
			}
			if strings.HasPrefix(c, " ") {
				w = min(w, roomForText)
				text++
			}
			width += w + 2
		}
		if text == 0 || width-2 <= s.Width {
			return
		}
		t.remove(name)
	}
}

func (s *show) appendTable(b []byte, t *table, rows int) []byte {
	if s.Width > 0 {
		s.fit(t)
	}
	d := output.Table{Escaped: true, Width: s.Width}
	for _, c := range t.columns {
		name, text := strings.CutPrefix(c, " ")
		d.Header = append(d.Header, name)
		if text {
			d.Align = append(d.Align, output.Left)
		} else {
			d.Align = append(d.Align, output.Right)
		}
	}
	for _, r := range t.rows[:min(len(t.rows), rows)] {
		cells := slices.Clone(r.cells)
		for i := range cells {
			if cells[i] = t.shown(i, cells[i]); s.Width == 0 {
				cells[i] = cut(cells[i], widest)
			}
		}
		d.Add(cells...)
		paint := ""
		if r.failed {
			paint = s.Red
		}
		d.Paint = append(d.Paint, paint)
	}
	b = d.Append(b)
	if left := uint64(max(len(t.rows)-rows, 0)) + t.hidden; left > 0 {
		b = append(append(append(b, "... "...), number(left)...), " more\n"...)
	}
	return b
}
