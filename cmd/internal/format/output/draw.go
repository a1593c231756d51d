package output

import (
	"bytes"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

func init() {
	// The library remembers the widths of thousands of cells, and the cells with them, which
	// may be a hundred KiB each.
	twwidth.SetCacheCapacity(rememberedCells)
}

// rememberedCells are enough for the one table that is being drawn.
const rememberedCells = 64

// draw appends a table. The library would rewrite headers, trim cells, draw
// boxes, pass escape codes on and lose write errors; here it does none of that.
func draw(b []byte, t *Table) []byte {
	align := make(tw.Alignment, t.Columns())
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
	header, rows := fit(t)
	if header != nil {
		w.Header(header)
	}
	for _, r := range rows {
		w.Append(r)
	}
	w.Render()
	row := 0
	if header != nil {
		row = -1
	}
	for line := range bytes.Lines(buf.Bytes()) {
		line = bytes.TrimRight(line, " \n")
		if row >= 0 && row < len(t.Paint) && t.Paint[row] != "" {
			b = append(append(append(b, t.Paint[row]...), line...), paintOff...)
		} else {
			b = append(b, line...)
		}
		b = append(b, '\n')
		row++
	}
	return b
}

// paintOff ends a colour.
const paintOff = "\x1b[0m"
