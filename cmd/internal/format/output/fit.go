package output

import (
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
)

const (
	columnGap = 2 // between columns
	ellipsis  = "…"
	// minWidth is how narrow a column may get for want of room.
	minWidth = 8
)

// fit returns the cells of t as they are shown: escaped, cut to the width of the
// table, and the first row as wide as the columns were before.
func fit(t *Table) (header []string, rows [][]string) {
	widths := make([]int, t.Columns())
	copy(widths, t.Widths)
	show := func(cells []string) []string {
		out := make([]string, len(cells))
		for i, c := range cells {
			if out[i] = c; !t.Escaped {
				out[i] = escape.String(c)
			}
			widths[i] = max(widths[i], twwidth.Width(out[i]))
		}
		return out
	}
	if t.Header != nil {
		header = show(t.Header)
	}
	for _, r := range t.Rows {
		rows = append(rows, show(r))
	}
	right := func(i int) bool { return i < len(t.Align) && t.Align[i] == Right }
	if t.Width > 0 {
		shrink(widths, t.Width, right)
	}
	cut := func(cells []string) {
		for i, c := range cells {
			if twwidth.Width(c) > widths[i] {
				cells[i] = twwidth.Truncate(c, widths[i], ellipsis)
			}
		}
	}
	cut(header)
	for _, r := range rows {
		cut(r)
	}
	first := header
	if first == nil && len(rows) > 0 {
		first = rows[0]
	}
	for i, c := range first {
		if i == len(widths)-1 && !right(i) {
			break
		}
		space := strings.Repeat(" ", max(0, widths[i]-twwidth.Width(c)))
		if right(i) {
			first[i] = space + c
		} else {
			first[i] = c + space
		}
	}
	// Do not pad the last column.
	if last := len(widths) - 1; t.Width == 0 && last >= 0 && !right(last) {
		widths[last] = 0
	}
	t.Widths = widths
	return header, rows
}

// shrink takes from the widest column that may be cut until all fit, or none can
// be cut any more.
func shrink(widths []int, width int, right func(int) bool) {
	total := columnGap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for total > width {
		widest, next := -1, minWidth
		for i, w := range widths {
			switch {
			case right(i) || w <= minWidth:
			case widest < 0 || w > widths[widest]:
				if widest >= 0 {
					next = widths[widest]
				}
				widest = i
			default:
				next = max(next, w)
			}
		}
		if widest < 0 {
			return
		}
		less := min(total-width, max(1, widths[widest]-next))
		widths[widest] -= less
		total -= less
	}
}
