package output

// Align is the alignment of a column.
type Align bool

// The alignments.
const (
	Left  Align = false
	Right Align = true
)

// Table is a small table for people: aligned columns, two spaces apart, no
// lines. Cells may hold untrusted text.
type Table struct {
	Header []string // nil for none
	Align  []Align  // of each column; Left where it is shorter
	Rows   [][]string

	// Escaped says that the cells need no escaping any more.
	Escaped bool
	// Width is what a line may take, 0 for no limit. Columns that are aligned to
	// the left give way, the widest first; what is cut ends in an ellipsis.
	Width int
	// Widths are those of the columns of what was appended before, which they do
	// not fall short of. Append sets them.
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

// drawTable is what draws tables in this program, if it has tables at all.
var drawTable func(b []byte, t *Table) []byte

// DrawTablesWith sets what draws tables. The library that does it costs more at
// start-up than a short command takes, so only programs that print tables have it:
// they import package table, which calls this before main.
func DrawTablesWith(draw func(b []byte, t *Table) []byte) { drawTable = draw }

// Append appends the table.
func (t *Table) Append(b []byte) []byte {
	if len(t.Rows) == 0 && t.Header == nil {
		return b
	}
	if drawTable == nil {
		panic("output: a table in a program that does not import package table")
	}
	return drawTable(b, t)
}
