package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// manual adds the pages of the manual, by mandoc(1). A page that only leads to another one is a
// name of that page.
func (s *site) manual() error {
	list, err := filepath.Glob(filepath.Join(s.root, "man", "*.[1-8]"))
	if err != nil {
		return err
	}
	also := map[string][]string{} // names of a page beside its own
	for _, file := range list {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := filepath.Base(file)
		if to, ok := strings.CutPrefix(strings.TrimSpace(string(data)), ".so "); ok {
			to = "man/" + filepath.Base(to)
			also[to] = append(also[to], strings.TrimSuffix(name, filepath.Ext(name)))
			continue
		}
		cmd := exec.Command("mandoc", "-T", "html", "-O", "fragment,man=%N.%S.html", file)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", name, err, errs.Bytes())
		}
		dot := strings.LastIndexByte(name, '.')
		title := name[:dot] + "(" + name[dot+1:] + ")"
		body := append([]byte("<h1>"+title+"</h1>\n"), out...)
		about := ""
		for line := range strings.Lines(string(data)) {
			if text, ok := strings.CutPrefix(line, ".Nd "); ok {
				about = strings.TrimSpace(text)
				break
			}
		}
		s.pages = append(s.pages, &page{path: "man/" + name + ".html", source: "man/" + name, title: title, about: about, body: body})
	}
	for _, p := range s.pages {
		if names := also[p.source]; len(names) > 0 {
			p.about += "; also " + strings.Join(names, ", ")
		}
	}
	return nil
}

// manualPage returns the page that has a name of the manual: the page of a family has several.
func (s *site) manualPage(name string) (string, bool) {
	data, err := os.ReadFile(filepath.Join(s.root, "man", name))
	if err != nil {
		return "", false
	}
	if to, ok := strings.CutPrefix(strings.TrimSpace(string(data)), ".so "); ok {
		name = filepath.Base(to)
	}
	return "man/" + name + ".html", true
}
