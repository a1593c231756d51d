package summary

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
)

// maxMarkdown bounds the size of the markdown: GitHub discards a larger step summary.
const maxMarkdown = 1 << 20

// tableRoom is what each table may use of it.
const tableRoom = maxMarkdown / 8

func (s *show) appendMarkdown(b []byte) []byte {
	for i, l := range s.headline() {
		switch {
		case l.joined && i > 0:
			b = append(b[:len(b)-1], "; "...)
		case l.printed:
			b = append(b, "  - "...)
		default:
			b = append(b, "- "...)
		}
		if l.failed && !l.joined {
			b = append(b, "❌ "...)
		}
		b = append(b, l.before...)
		if l.subject != "" {
			if l.quoted || l.printed {
				b = appendCodeLine(b, l.bounded(widest))
			} else {
				b = appendCode(b, l.bounded(widest))
			}
		}
		b = append(b, l.after...)
		for _, w := range l.words {
			if w.name {
				b = appendCode(b, w.text)
			} else {
				b = append(b, w.text...)
			}
		}
		b = append(b, '\n')
	}
	tables := s.tables()
	rows := s.room(tables, 0)
	for i, t := range tables {
		b = append(append(append(b, "\n#### "...), t.title...), "\n\n|"...)
		for _, c := range t.columns {
			b = append(append(append(b, ' '), strings.TrimPrefix(c, " ")...), " |"...)
		}
		b = append(b, "\n|"...)
		for _, c := range t.columns {
			if strings.HasPrefix(c, " ") {
				b = append(b, " --- |"...)
			} else {
				b = append(b, " ---: |"...)
			}
		}
		b = append(b, '\n')
		left, start := t.hidden+uint64(len(t.rows)), len(b)
		for _, r := range t.rows[:rows[i]] {
			if len(b)-start > tableRoom {
				break
			}
			b = appendRow(b, t, r)
			left--
		}
		if left > 0 {
			b = append(append(append(b, '\n'), number(left)...), " more rows are left out.\n"...)
		}
	}
	b = append(b, '\n')
	for _, note := range s.notes() {
		b = append(append(append(b, "- "...), note...), '\n')
	}
	return append(append(append(b, "- "...), s.total()...), '\n')
}

// widestCell bounds the text of a cell.
const widestCell = 200

func appendRow(b []byte, t *table, r row) []byte {
	b = append(b, '|')
	for i, cell := range r.cells {
		b = append(b, ' ')
		if !strings.HasPrefix(t.columns[i], " ") {
			b = append(append(b, cell...), " |"...)
			continue
		}
		if r.failed {
			b = append(b, "❌ "...)
		}
		if t.isLine(i) {
			b = append(appendCodeLine(b, cut(cell, widestCell)), " |"...)
			continue
		}
		b = append(appendCode(b, cut(cell, widestCell)), " |"...)
	}
	return append(b, '\n')
}

// appendCode appends an untrusted name as code.
func appendCode(b []byte, text string) []byte {
	return appendElement(b, escape.AppendPrintable(nil, text))
}

// appendCodeLine is like appendCode but for a line of output.
func appendCodeLine(b []byte, text string) []byte {
	return appendElement(b, escape.AppendCell(nil, text))
}

// appendElement appends text as code. All that has a meaning in markdown, HTML or a table is a
// character reference.
func appendElement(b, text []byte) []byte {
	b = append(b, "<code>"...)
	for _, r := range string(text) {
		switch {
		case r == ' ', r >= utf8.RuneSelf, '0' <= r && r <= '9', 'a' <= r|0x20 && r|0x20 <= 'z':
			b = utf8.AppendRune(b, r)
		default:
			b = append(strconv.AppendInt(append(b, "&#"...), int64(r), 10), ';')
		}
	}
	return append(b, "</code>"...)
}
