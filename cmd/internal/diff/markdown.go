package diff

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
)

// room is what the rows of the markdown may use. The lines around them are far smaller than the rest.
const room = summary.MaxMarkdown * 3 / 4

// widestCell bounds the text of a cell.
const widestCell = 200

func (s *show) appendMarkdown(b []byte) []byte {
	mark := ""
	if s.worse() {
		mark = "❌ "
	}
	b = append(append(b, "**"+mark...), appendPieces(nil, s.first())...)
	b = append(b, "**\n\n- "...)
	b = append(appendPieces(b, s.side("old", s.Old, s.Wall.Old, s.Wall.OldSpread)), "\n- "...)
	b = append(appendPieces(b, s.side("new", s.New, s.Wall.New, s.Wall.NewSpread)), '\n')
	list, left := s.limited()
	if len(list) > 0 {
		b = append(b, "\n|"...)
		for _, c := range columns {
			b = append(b, " "+c.name+" |"...)
		}
		b = append(b, "\n|"...)
		for _, c := range columns {
			if c.align == output.Right {
				b = append(b, " ---: |"...)
			} else {
				b = append(b, " --- |"...)
			}
		}
		b = append(b, '\n')
	}
	start := len(b)
	for i, d := range list {
		if len(b)-start > room {
			left += len(list) - i
			break
		}
		b = append(b, '|')
		for j, c := range columns {
			cell := c.cell(s, d)
			b = append(b, ' ')
			if j == untrusted && bad(d) {
				b = append(b, "❌ "...)
			}
			switch {
			case j == untrusted && isLine(d):
				b = summary.AppendCodeLine(b, summary.Cut(cell, widestCell))
			case j >= untrusted && cell != "":
				b = summary.AppendCode(b, summary.Cut(cell, widestCell))
			default:
				b = append(b, cell...)
			}
			b = append(b, " |"...)
		}
		b = append(b, '\n')
	}
	if left > 0 {
		b = append(b, "\n"+cli.Plural(uint64(left), "more row is", "more rows are")+" left out.\n"...)
	}
	if len(s.Notes) > 0 {
		b = append(b, '\n')
	}
	for _, n := range s.Notes {
		b = append(b, "- "+n+"\n"...)
	}
	return b
}

// appendPieces appends a sentence.
func appendPieces(b []byte, list []piece) []byte {
	for _, p := range list {
		switch {
		case p.quoted:
			b = summary.AppendCodeLine(b, summary.Cut(p.text, widestCell))
		case p.untrusted:
			b = summary.AppendCode(b, summary.Cut(p.text, widestCell))
		default:
			b = append(b, p.text...)
		}
	}
	return b
}
