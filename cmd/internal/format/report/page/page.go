// Package page holds the document that a report is: HTML with slots, style and scripts.
package page

import (
	"embed"
	"io"
	"path"
	"strings"
)

//go:generate go test . -run TestSums -update

//go:embed page.html css js uplot/uPlot.iife.min.js uplot/uPlot.min.css uplot/LICENSE
var files embed.FS

// A slot is a place in page.html between two of these.
const mark = "@@"

// Write writes the document and calls fill[slot] where the page has the slot: title, links, verdict,
// differences, chain, tables, notes, holds and data. A slot without a function stays empty. Two slots hold the style
// and the scripts: a word and the names of the files. The page's policy allows them by the hashes
// of their texts, sums, and nothing else.
func Write(w io.Writer, fill map[string]func(io.Writer) error) error {
	html, err := files.ReadFile("page.html")
	if err != nil {
		return err
	}
	for i, part := range strings.Split(string(html), mark) {
		if _, names, held := strings.Cut(part, " "); i%2 == 0 {
			_, err = io.WriteString(w, part)
		} else if held {
			err = concatenate(w, names)
		} else if sum, ok := sums[part]; ok {
			_, err = io.WriteString(w, sum)
		} else if f := fill[part]; f != nil {
			err = f(w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func concatenate(w io.Writer, names string) error {
	for name := range strings.FieldsSeq(names) {
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		part := strings.TrimSpace(string(text)) + "\n"
		if path.Base(name) == "LICENSE" { // asks to be in all copies
			part = "/*\n" + part + "*/\n"
		}
		if _, err := io.WriteString(w, part); err != nil {
			return err
		}
	}
	return nil
}
