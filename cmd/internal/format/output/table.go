// Small tables for people. The library that draws them takes longer to initialize than a short
// command runs. ptrace-create, -event and -filter do not link it; TestLinks checks this.

package output

// Align is the alignment of a column.
type Align bool

// The alignments.
const (
	Left  Align = false
	Right Align = true
)

// Table is a small table for people: aligned columns, two spaces apart, without lines.
// Cells may hold untrusted text.
type Table struct {
	Header []string // nil for none
	Align  []Align  // of each column; Left where it is shorter
	Rows   [][]string

	// Escaped says that the cells are escaped already.
	Escaped bool
	// Width is the longest a line may be, 0 for no limit. To fit, Append truncates
	// left-aligned columns, the widest first, with an ellipsis.
	Width int
	// Paint has a control sequence for each row, which selects its colour; "" for none. It may be
	// shorter than Rows.
	Paint []string
	// Widths are the least widths of the columns. Append sets them to the widths it used,
	// so that the columns of a second part do not get narrower.
	Widths []int
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Columns returns the number of columns.
func (t *Table) Columns() int {
	n := len(t.Header)
	for _, r := range t.Rows {
		n = max(n, len(r))
	}
	return n
}

// Append appends the table.
func (t *Table) Append(b []byte) []byte {
	if len(t.Rows) == 0 && t.Header == nil {
		return b
	}
	return draw(b, t)
}
