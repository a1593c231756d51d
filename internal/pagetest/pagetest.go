// Package pagetest checks pages of package report. Only tests import it.
package pagetest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Page is the data of a page.
type Page struct {
	Version int
	Title   string
	Runs    []*Run
}

// Run is the data of a run, decoded.
type Run struct {
	Name, Label string
	Length      uint64
	Strings     []string
	Lanes       map[string][]uint64
	Spans       map[string][]uint64 // start: not as differences
	Marks       map[string][]uint64 // the same with time
	Lines       map[string][]uint64
	Curves      map[string][]uint64
	Usage       map[string][]uint64 // time; by the name of a program, memory and processors
	Text        []string            // of the lines
	Gap         int
	End         int64 // of the command that wrote the last line, -1 if that is unknown
	Missing     [][3]uint64
	Chain       [][3]uint64
	Omitted     map[string]uint64
}

// rawRun is a run as it is written.
type rawRun struct {
	Name, Label, Start                 string
	Length                             uint64
	Strings                            []string
	Lanes, Spans, Marks, Lines, Curves map[string]json.RawMessage
	Usage                              map[string]json.RawMessage
	Missing, Chain                     [][3]uint64
	Omitted                            map[string]uint64
}

// Parse checks that a page is well-formed, and that its data keeps the rules of the schema.
func Parse(page []byte) (*Page, error) {
	data, err := checkHTML(page)
	if err != nil {
		return nil, err
	}
	return ParseData(data)
}

// ParseData checks the data of a page.
func ParseData(data []byte) (*Page, error) {
	if i := bytes.IndexByte(data, '<'); i >= 0 {
		return nil, fmt.Errorf("the data has a tag: %q", data[i:min(len(data), i+20)])
	}
	var raw struct {
		Version int
		Title   string
		Runs    []*rawRun
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&raw); err != nil {
		return nil, err
	}
	p := &Page{Version: raw.Version, Title: raw.Title}
	for i, r := range raw.Runs {
		run, err := r.decode()
		if err == nil {
			err = run.check()
		}
		if err != nil {
			return nil, fmt.Errorf("run %d: %w", i, err)
		}
		p.Runs = append(p.Runs, run)
	}
	return p, nil
}

// elements are those that a page may have.
var elements = strings.Fields("html head meta title style body a strong header nav main h1 h2 h3 h4 section div span p ul ol li dl dt dd code noscript " +
	"input button canvas aside table caption thead tbody tr th td details summary kbd footer script label select option svg path small time br hr em pre output")

// checkHTML checks the structure of a page and returns its data.
func checkHTML(page []byte) (data []byte, err error) {
	rest, texts, err := withoutScripts(page)
	if err != nil {
		return nil, err
	}
	data = texts[`<script type="application/json" id="data">`]
	if data == nil {
		return nil, errors.New("no data")
	}
	d := xml.NewDecoder(bytes.NewReader(rest))
	d.Strict, d.AutoClose, d.Entity = false, []string{"meta", "input", "br", "hr"}, xml.HTMLEntity
	depth := 0
	for {
		token, err := d.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		switch x := token.(type) {
		case xml.StartElement:
			if !slices.Contains(elements, x.Name.Local) {
				return nil, fmt.Errorf("element %q", x.Name.Local)
			}
			for _, a := range x.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "style" || a.Name.Local == "src" || a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") {
					return nil, fmt.Errorf("element %s has an attribute %s=%q", x.Name.Local, a.Name.Local, a.Value)
				}
			}
			depth++
		case xml.EndElement:
			depth--
		case xml.Comment, xml.ProcInst:
			return nil, fmt.Errorf("%T in the page", token)
		}
	}
	return data, nil
}

// withoutScripts returns a page without the inside of style and script elements, and that by the tag
// that begins it.
func withoutScripts(page []byte) (rest []byte, texts map[string][]byte, err error) {
	texts = map[string][]byte{}
	for {
		i := -1
		name := ""
		for _, n := range []string{"style", "script"} {
			if at := bytes.Index(page, []byte("<"+n)); at >= 0 && (i < 0 || at < i) {
				i, name = at, n
			}
		}
		if i < 0 {
			return append(rest, page...), texts, nil
		}
		tag := bytes.IndexByte(page[i:], '>') + 1
		end := bytes.Index(page[i:], []byte("</"+name+">"))
		if tag <= 0 || end < tag {
			return nil, nil, fmt.Errorf("element %s does not end", name)
		}
		rest = append(append(rest, page[:i]...), "<"+name+"></"+name+">"...)
		open := string(page[i : i+tag])
		if texts[open] != nil {
			return nil, nil, fmt.Errorf("another %s", open)
		}
		texts[open] = page[i+tag : i+end]
		page = page[i+end+len("</>")+len(name):]
	}
}

func (r *rawRun) decode() (*Run, error) {
	run := &Run{Name: r.Name, Label: r.Label, Length: r.Length, Strings: r.Strings, Missing: r.Missing, Chain: r.Chain, Omitted: r.Omitted}
	var err error
	read := func(name string, table map[string]json.RawMessage) map[string][]uint64 {
		columns := map[string][]uint64{}
		n := 0
		if e := json.Unmarshal(table["n"], &n); e != nil && err == nil {
			err = fmt.Errorf("%s.n: %w", name, e)
		}
		for key, value := range table {
			if key == "n" || key == "gap" || key == "end" || key == "programs" || name == "lines" && key == "text" {
				continue
			}
			c, e := column(value, n)
			if e != nil && err == nil {
				err = fmt.Errorf("%s.%s: %w", name, key, e)
			}
			columns[key] = c
		}
		for _, key := range []string{"time", "start"} {
			for i := 1; i < len(columns[key]); i++ {
				columns[key][i] += columns[key][i-1]
			}
		}
		return columns
	}
	run.Lanes, run.Spans, run.Marks = read("lanes", r.Lanes), read("spans", r.Spans), read("marks", r.Marks)
	run.Lines, run.Curves, run.Usage = read("lines", r.Lines), read("curves", r.Curves), read("usage", r.Usage)
	if err == nil {
		err = run.decodePrograms(r.Usage["programs"])
	}
	if err != nil {
		return nil, err
	}
	text := ""
	if err := json.Unmarshal(r.Lines["text"], &text); err != nil {
		return nil, err
	}
	if run.Text = strings.Split(text, "\n"); len(run.Lines["time"]) == 0 {
		run.Text = nil
	}
	if err := json.Unmarshal(r.Lines["end"], &run.End); err != nil {
		return nil, err
	}
	return run, json.Unmarshal(r.Lines["gap"], &run.Gap)
}

// decodePrograms adds the columns of the programs: memory NAME and processors NAME.
func (r *Run) decodePrograms(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	var list []struct {
		Name               string
		Others             bool
		Memory, Processors json.RawMessage
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	for i, p := range list {
		if p.Others != (i == len(list)-1) {
			return fmt.Errorf("usage: program %d of %d is all others: %v", i, len(list), p.Others)
		}
		for key, raw := range map[string]json.RawMessage{"memory ": p.Memory, "processors ": p.Processors} {
			c, err := column(raw, len(r.Usage["time"]))
			if err != nil {
				return fmt.Errorf("usage: %s%s: %w", key, p.Name, err)
			}
			r.Usage[key+p.Name] = c
		}
	}
	return nil
}

// column decodes a column of n numbers.
func column(raw json.RawMessage, n int) ([]uint64, error) {
	list := make([]uint64, 0, n)
	if len(raw) > 0 && raw[0] != '"' {
		var v uint64
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, err
		}
		for range n {
			list = append(list, v)
		}
		return list, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, err
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	for len(b) > 0 {
		v, used := binary.Uvarint(b)
		if used <= 0 || v >= 1<<53 {
			return nil, errors.New("not a number")
		}
		list, b = append(list, v), b[used:]
	}
	if len(list) != n {
		return nil, fmt.Errorf("%d numbers of %d", len(list), n)
	}
	return list, nil
}

// check checks that all numbers are in their ranges.
func (r *Run) check() error {
	lanes, texts, spans := uint64(len(r.Lanes["name"])), uint64(len(r.Strings)), uint64(len(r.Spans["start"]))
	if texts == 0 || r.Strings[0] != "" {
		return errors.New("text 0 is not empty")
	}
	for _, c := range []struct {
		name   string
		values []uint64
		limit  uint64 // each is less
	}{
		{"lanes.name", r.Lanes["name"], texts}, {"lanes.kind", r.Lanes["kind"], 3},
		{"spans.lane", r.Spans["lane"], lanes}, {"spans.name", r.Spans["name"], texts}, {"spans.text", r.Spans["text"], texts},
		{"spans.kind", r.Spans["kind"], 3}, {"spans.flags", r.Spans["flags"], 128}, {"spans.status", r.Spans["status"], 1<<30 + 2},
		{"spans.start", r.Spans["start"], r.Length + 1}, {"marks.time", r.Marks["time"], r.Length + 1}, {"lines.time", r.Lines["time"], r.Length + 1},
		{"marks.lane", r.Marks["lane"], lanes + 1}, {"marks.type", r.Marks["type"], texts}, {"marks.text", r.Marks["text"], texts},
		{"lines.stream", r.Lines["stream"], 8}, {"lines.lane", r.Lines["lane"], lanes + 1}, {"curves.time", r.Curves["time"], r.Length + 1},
		{"usage.time", r.Usage["time"], r.Length + 1},
	} {
		for i, v := range c.values {
			if v >= c.limit {
				return fmt.Errorf("%s[%d] is %d of %d", c.name, i, v, c.limit)
			}
		}
	}
	for i, p := range r.Lanes["parent"] {
		if p > uint64(i) {
			return fmt.Errorf("lane %d has the parent %d", i, p)
		}
	}
	if len(r.Text) != len(r.Lines["time"]) {
		return fmt.Errorf("%d lines have %d texts", len(r.Lines["time"]), len(r.Text))
	}
	for _, l := range r.Chain {
		if l[0] >= spans || l[1]+l[2] > r.Length {
			return fmt.Errorf("chain: %d of %d", l, spans)
		}
	}
	for _, m := range r.Missing {
		if m[0] > m[1] || m[1] > r.Length {
			return fmt.Errorf("missing: %d of %d", m, r.Length)
		}
	}
	return r.checkOverlaps()
}

// checkOverlaps checks that no two spans of one lane and depth are over each other, unless a span says
// so.
func (r *Run) checkOverlaps() error {
	until := map[[2]uint64]uint64{}
	s := r.Spans
	for i, start := range s["start"] {
		end := start + s["dur"][i]
		if end > r.Length {
			return fmt.Errorf("span %d ends at %d of %d", i, end, r.Length)
		}
		place := [2]uint64{s["lane"][i], s["depth"][i]}
		if start < until[place] && s["flags"][i]&(4|16) == 0 {
			return fmt.Errorf("span %d begins at %d in lane and depth %d, before %d", i, start, place, until[place])
		}
		until[place] = max(until[place], end)
	}
	return nil
}
