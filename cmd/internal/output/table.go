package output

import (
	"bytes"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

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
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Append appends the table. The library would rewrite headers, trim cells, draw
// boxes, pass escape codes on and lose write errors; here it does none of that.
func (t *Table) Append(b []byte) []byte {
	if len(t.Rows) == 0 && t.Header == nil {
		return b
	}
	align := make(tw.Alignment, t.columns())
	for i := range align {
		align[i] = tw.AlignLeft
		if i < len(t.Align) && t.Align[i] == Right {
			align[i] = tw.AlignRight
		}
	}
	var buf bytes.Buffer
	w := tablewriter.NewTable(&buf,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Symbols: tw.NewSymbols(tw.StyleNone),
			Settings: tw.Settings{
				Separators: tw.SeparatorsNone,
				Lines:      tw.LinesNone,
			},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithPadding(tw.Padding{Left: "", Right: "  ", Overwrite: true}),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: align}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: align}),
	)
	if t.Header != nil {
		w.Header(clean(t.Header))
	}
	for _, r := range t.Rows {
		w.Append(clean(r))
	}
	w.Render()
	for line := range bytes.Lines(buf.Bytes()) {
		b = append(append(b, bytes.TrimRight(line, " \n")...), '\n')
	}
	return b
}

func (t *Table) columns() int {
	n := len(t.Header)
	for _, r := range t.Rows {
		n = max(n, len(r))
	}
	return n
}

func clean(cells []string) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = Escape(c)
	}
	return out
}
