package cli

import (
	"io"
	"strings"
)

const (
	helpWidth  = 80
	helpColumn = 29 // where the descriptions of options begin
)

// WriteHelp writes the text of --help.
func (c *Command) WriteHelp(w io.Writer) error {
	var b strings.Builder
	lead := "Usage: "
	for _, form := range strings.Split(c.Usage, "\n") {
		wrap(&b, lead+c.Name+" ", len(lead+c.Name)+1, form)
		lead = "  or:  "
	}
	wrap(&b, "", 0, c.Brief)
	b.WriteByte('\n')
	options := c.AllOptions()
	for i := range options {
		if o := &options[i]; !o.Hidden && !o.SameRow {
			wrap(&b, heading(options[i:]), helpColumn, o.Help)
		}
	}
	if c.After != "" {
		b.WriteString("\n" + strings.TrimRight(c.After, "\n") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// heading returns the heading of a row: of the first option, and of those that share its row.
func heading(options []Option) string {
	s := options[0].heading()
	for i := 1; i < len(options) && options[i].SameRow; i++ {
		o := &options[i]
		if o.Arg != "" && o.Arg == options[0].Arg {
			s = strings.TrimSuffix(s, "="+o.Arg+" ") + " "
		}
		s = strings.TrimRight(s, " ") + ", " + strings.TrimLeft(o.heading(), " ")
	}
	return s
}

func (o *Option) heading() string {
	s := "      --"
	if o.Short != 0 {
		s = "  -" + string(rune(o.Short)) + ", --"
	}
	s += o.Long
	switch {
	case o.Arg != "" && o.Optional:
		s += "[=" + o.Arg + "]"
	case o.Arg != "":
		s += "=" + o.Arg
	}
	return s + " "
}

// wrap writes text after lead, in lines of at most helpWidth columns, indented to column
// indent.
func wrap(b *strings.Builder, lead string, indent int, text string) {
	col := len(lead)
	if col > indent {
		b.WriteString(strings.TrimRight(lead, " ") + "\n")
		col = 0
	} else {
		b.WriteString(lead)
	}
	fresh := true
	for _, word := range strings.Fields(text) {
		if !fresh && col+1+len(word) > helpWidth {
			b.WriteByte('\n')
			col, fresh = 0, true
		}
		if fresh {
			b.WriteString(strings.Repeat(" ", max(0, indent-col)))
			col = max(col, indent)
		} else {
			b.WriteByte(' ')
			col++
		}
		b.WriteString(word)
		col += len(word)
		fresh = false
	}
	b.WriteByte('\n')
}
