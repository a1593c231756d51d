package view

import "strings"

// bar is the lane of a row: two cells for each column. A cell has the greatest of its values.
type bar struct {
	cells  []uint8
	column float64 // nanoseconds of a cell
}

// The values of a cell.
const (
	idle uint8 = iota
	runs
	slow // runs, and is on the slow path
)

// newBar returns an empty lane of some columns.
func (s *show) newBar(columns int) *bar {
	return &bar{cells: make([]uint8, 2*columns), column: float64(s.length()) / float64(2*columns)}
}

// draw enters a time, from the first event on, that took at least one cell.
func (b *bar) draw(from, to int64, value uint8) {
	i := min(max(int(float64(from)/b.column), 0), len(b.cells)-1)
	j := min(max(int(float64(to)/b.column), i+1), len(b.cells))
	for ; i < j; i++ {
		b.cells[i] = max(b.cells[i], value)
	}
}

// text returns the lane as characters: a block is as high as its cells are important.
func (b *bar) text(ascii bool) string {
	blocks := [3][3]string{{" ", "▗", "▐"}, {"▖", "▄", "▐"}, {"▌", "▌", "█"}}
	if ascii {
		blocks = [3][3]string{{" ", "-", "#"}, {"-", "=", "#"}, {"#", "#", "#"}}
	}
	var line strings.Builder
	for i := 0; i+1 < len(b.cells); i += 2 {
		line.WriteString(blocks[b.cells[i]][b.cells[i+1]])
	}
	return strings.TrimRight(line.String(), " ")
}
