// Package page holds the document that a report is: HTML with slots, style and scripts.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed page.html css js uplot/uPlot.iife.min.js uplot/uPlot.min.css uplot/LICENSE
var files embed.FS

// slot is a place in page.html. A slot with names of files gets their texts.
var slot = regexp.MustCompile(`@@([^@]+)@@`)

// Write writes the document and calls fill[slot] where the page has the slot: title, verdict,
// chain, tables, holds and data. A slot without a function stays empty.
func Write(w io.Writer, fill map[string]func(io.Writer) error) error {
	html, err := document()
	if err != nil {
		return err
	}
	for {
		at := slot.FindSubmatchIndex(html)
		if at == nil {
			_, err := w.Write(html)
			return err
		}
		if _, err := w.Write(html[:at[0]]); err != nil {
			return err
		}
		if f := fill[string(html[at[2]:at[3]])]; f != nil {
			if err := f(w); err != nil {
				return err
			}
		}
		html = html[at[1]:]
	}
}

// document is page.html with the style and the scripts, which its policy allows by their hashes.
// The slots of a report are left.
func document() ([]byte, error) {
	html, err := files.ReadFile("page.html")
	if err != nil {
		return nil, err
	}
	var failed error
	hashes := map[string]string{}
	html = slot.ReplaceAllFunc(html, func(m []byte) []byte {
		kind, names, ok := strings.Cut(strings.Trim(string(m), "@"), " ")
		if !ok {
			return m
		}
		text, err := concatenate(strings.Fields(names))
		if err != nil {
			failed = err
		}
		sum := sha256.Sum256(text)
		hashes[kind] = "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		return text
	})
	for kind, hash := range hashes {
		html = bytes.Replace(html, []byte("@@hash-"+kind+"@@"), []byte(hash), 1)
	}
	return html, failed
}

func concatenate(names []string) ([]byte, error) {
	var all []byte
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(text, []byte("@@")) || bytes.Contains(bytes.ToLower(text), []byte("</script")) || bytes.Contains(bytes.ToLower(text), []byte("</style")) {
			return nil, fmt.Errorf("%s ends the element that holds it, or has a slot", name)
		}
		text = bytes.TrimSpace(text)
		if path.Base(name) == "LICENSE" { // asks to be in all copies
			text = slices.Concat([]byte("/*\n"), text, []byte("\n*/"))
		}
		all = append(append(all, text...), '\n')
	}
	return all, nil
}
