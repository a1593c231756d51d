package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func (d pages) overview() string { return filepath.Join(d.cost, "README.md") }

func (d pages) writeOverview() error {
	text, err := d.sideBySide()
	if err != nil {
		return err
	}
	return between(d.overview(), text)
}

// sideBySide returns the main rows of all machines, and where their curves are.
func (d pages) sideBySide() (string, error) {
	all, err := d.all()
	if err != nil {
		return "", err
	}
	var w bytes.Buffer
	t := table(&w)
	head := []string{"item", "peer", "bar, Intel", "bar, AMD"}
	for _, p := range all {
		head = append(head, fmt.Sprintf("[%s](%s)", p.machine, p.file))
	}
	t.Header(head)
	for _, main := range mainRows {
		line := []string{main.title, "", "", ""}
		it := d.item(main.name, false)
		if it != nil {
			line[1], line[2], line[3] = it.peer, it.barText(intel), it.barText(amd)
		}
		for _, p := range all {
			line = append(line, p.cell(main.name, d.item(main.name, p.quick)))
		}
		if err := t.Append(line); err != nil {
			return "", err
		}
	}
	runs := []string{"length of the run", "", "", ""}
	for _, p := range all {
		length := "whole"
		if p.quick {
			length = "quick"
		}
		runs = append(runs, length)
	}
	if err := t.Append(runs); err != nil {
		return "", err
	}
	if err := t.Render(); err != nil {
		return "", err
	}
	curves, err := d.curves(all)
	return w.String() + curves, err
}

// item returns the item with the bars of a row, which are fewer in a quick run.
func (d pages) item(name *regexp.Regexp, quick bool) *item {
	for _, it := range d.items[quick] {
		if name.MatchString(it.name) {
			return it
		}
	}
	return nil
}

var leadingNumber = regexp.MustCompile(`^[0-9.e+-]+`)

func number(s string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(leadingNumber.FindString(s), 64)
	return v, err == nil
}

// cell returns our value and the ratio of a row, and NO if the ratio misses the bar.
func (p page) cell(name *regexp.Regexp, it *item) string {
	r := p.row(name)
	if r == nil || r[1] == "" {
		return "not measured"
	}
	text, _, _ := strings.Cut(r[1], " ±")
	if ratio, _, _ := strings.Cut(r[4], " ±"); ratio != "" {
		text += ", " + ratio
	}
	if it != nil && p.misses(r, it) && (it.or == nil || p.missesOther(it.or)) {
		text += ", NO"
	}
	return text
}

func (p page) misses(row []string, it *item) bool {
	b := it.bar.of(familyOf(p.machine))
	value := row[4]
	if b.absolute {
		value = row[1]
	}
	v, ok := number(value)
	return ok && b.set && !b.holds(v)
}

// missesOther reports whether the row of that name misses its bar. A row that is missing meets nothing.
func (p page) missesOther(it *item) bool {
	r := p.row(regexp.MustCompile("^" + regexp.QuoteMeta(it.name) + "$"))
	return r == nil || p.misses(r, it)
}

// figures are the curves that scripts/extra/plot draws.
var figures = []struct{ file, title string }{
	{"writers", "writers"},
	{"streams", "streams of a process"},
	{"types", "event types"},
	{"payload", "bytes of data"},
	{"logs", "length of a log"},
	{"processes", "processes"},
}

// curves links the curves of the machines that have any. They are in a directory beside the page.
func (d pages) curves(all []page) (string, error) {
	var have []page
	for _, p := range all {
		if st, err := os.Stat(d.curvesOf(p)); err == nil && st.IsDir() {
			have = append(have, p)
		}
	}
	if len(have) == 0 {
		return "", nil
	}
	var w bytes.Buffer
	t := table(&w)
	head := []string{"cost against"}
	for _, p := range have {
		head = append(head, p.machine)
	}
	t.Header(head)
	for _, f := range figures {
		line := []string{f.title}
		for _, p := range have {
			base := filepath.Base(d.curvesOf(p)) + "/" + f.file
			line = append(line, fmt.Sprintf("[picture](%s.svg), [numbers](%s.csv)", base, base))
		}
		if err := t.Append(line); err != nil {
			return "", err
		}
	}
	if err := t.Render(); err != nil {
		return "", err
	}
	return "\nHow costs grow, as `scripts/extra/plot` draws it:\n\n" + w.String(), nil
}

func (d pages) curvesOf(p page) string {
	return filepath.Join(d.cost, strings.TrimSuffix(p.file, ".md"))
}
