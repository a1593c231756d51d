package summary

import (
	"slices"
	"strings"
)

// leastRows are the rows that a table has, unless it has fewer.
const leastRows = 3

// room returns how many rows of each table are shown, 0 for a table that is left out. On a terminal all
// fit beside a number of other lines, so that the first line stays in view. The first table is always shown.
func (s *show) room(tables []*table, others int) []int {
	rows := make([]int, len(tables))
	if s.Top >= 0 || s.Height == 0 {
		for i, t := range tables {
			switch {
			case s.Top > 0:
				rows[i] = min(len(t.rows), s.Top)
			case s.Top == All:
				rows[i] = len(t.rows)
			default:
				rows[i] = min(len(t.rows), pipedRows)
			}
		}
		return rows
	}
	left := s.Height - others
	for _, i := range byImportance(tables) {
		t := tables[i]
		n := min(len(t.rows), leastRows)
		if lines := t.lines(n); lines <= left || i == 0 {
			rows[i] = n
			left -= lines
		}
	}
	for grown := true; grown; {
		grown = false
		for i, t := range tables {
			if rows[i] == 0 || rows[i] == len(t.rows) {
				continue
			}
			if more := t.lines(rows[i]+1) - t.lines(rows[i]); more <= left {
				rows[i]++
				left -= more
				grown = true
			}
		}
	}
	return rows
}

// lines returns how many lines a table with some of its rows takes: an empty one, the header, the rows,
// and the number of those that are left out.
func (t *table) lines(rows int) int {
	if rows < len(t.rows) || t.hidden > 0 {
		return rows + 3
	}
	return rows + 2
}

// byImportance returns the indices of tables, those that go first on a small terminal last. The first lines
// have the longest pause.
func byImportance(tables []*table) []int {
	list := make([]int, len(tables))
	for i := range list {
		list[i] = i
	}
	last := []string{programTitle, pauseTitle, countTitle}
	slices.SortStableFunc(list, func(x, y int) int {
		return slices.Index(last, tables[x].title) - slices.Index(last, tables[y].title)
	})
	return list
}

// noRoom names the tables that are left out, for the last line.
func noRoom(tables []*table, rows []int) string {
	var names []string
	for i, t := range tables {
		if rows[i] == 0 {
			names = append(names, t.name())
		}
	}
	if names == nil {
		return ""
	}
	return "; no room for " + strings.Join(names, ", ") + " (--top)"
}

// name returns the name of the column of text that tells the rows apart.
func (t *table) name() string { return strings.TrimPrefix(t.columns[0], " ") }
