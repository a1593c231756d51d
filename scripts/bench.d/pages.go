package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The pages in docs/cost: one for each model of processor, with the whole table of its last run,
// and an overview that puts the main rows side by side. README.md has five rows of one of them.

// pages is where the pages are.
type pages struct {
	cost   string // directory
	readme string
	items  map[bool][]*item // of a whole run and a quick one, for the bars of the overview
}

func pagesIn(cost, readme string) pages {
	d := pages{cost: cost, readme: readme, items: map[bool][]*item{}}
	for _, quick := range []bool{false, true} {
		b := &bench{quick: quick, cpus: []string{"0"}}
		for _, g := range b.groups() {
			d.items[quick] = append(d.items[quick], g.items...)
		}
	}
	return d
}

// mainRows are the rows of the overview. Their names differ between whole and quick runs.
var mainRows = []struct {
	name  *regexp.Regexp
	title string
	front bool // also in README.md
}{
	{regexp.MustCompile(`^record one event: `), "record one event of 16 bytes", true},
	{regexp.MustCompile(`^the same, 2 threads, total rate$`), "2 threads, total rate", false},
	{regexp.MustCompile(`^the same, 2 processes into one stream, total rate$`), "2 processes into one stream, total rate", false},
	{regexp.MustCompile(`^the same, 16 processes into one stream, `), "16 processes into one stream, per event of all", false},
	{regexp.MustCompile(`^the same, 1 thread into 10 streams$`), "1 thread into 10 streams", false},
	{regexp.MustCompile(`^trace point, process not traced$`), "trace point, process not traced", true},
	{regexp.MustCompile(`^in C: record one event: `), "in C: record one event of 16 bytes", false},
	{regexp.MustCompile(`^in C: the same, 2 threads, total rate$`), "in C: 2 threads, total rate", false},
	{regexp.MustCompile(`^in C: trace point, process not traced$`), "in C: trace point, process not traced", false},
	{regexp.MustCompile(`^in C: what a trace point adds to the start `), "in C: added to the start of a program, not traced", false},
	{regexp.MustCompile(`^in C: the same, private memory$`), "in C: added to its private memory", false},
	{regexp.MustCompile(`^in C: posix_trace_getnext_event on `), "in C: read 10 million events one by one", false},
	{regexp.MustCompile(`^events out of order in live reading, `), "events out of order in 8 s of live reading", false},
	{regexp.MustCompile(`^the same, with 5 s of patience$`), "the same, with 5 s of patience", false},
	{regexp.MustCompile(`^streamed to a file, 0 lost: `), "streamed to a file, processor time per event", false},
	{regexp.MustCompile(`^bytes on disk per event `), "bytes on disk per event", false},
	{regexp.MustCompile(`^dump \d+ million events as text .* one core$`), "dump as text, one core", true},
	{regexp.MustCompile(`^the same, both cores$`), "dump as text, all cores", false},
	{regexp.MustCompile(`^dump \d+ million captured lines as text `), "dump captured lines as text, one core", false},
	{regexp.MustCompile(`^the same as JSON, one core$`), "dump as JSON, one core", false},
	{regexp.MustCompile(`^find the events of one second `), "find one second of a 10-minute log", false},
	{regexp.MustCompile(`^ptrace-run -c on seq \d+ into a file, wall$`), "capture the output of seq", true},
	{regexp.MustCompile(`^one-shot ptrace-event NAME, `), "one-shot ptrace-event NAME", false},
	{regexp.MustCompile(`^the same, beside an empty Go program$`), "one-shot, beside an empty Go program", false},
	{regexp.MustCompile(`^pt NAME in bash$`), "pt NAME in bash", false},
	{regexp.MustCompile(`^every system call of dd bs=1 count=\d+$`), "every system call of dd", true},
}

// A page is the results of one machine.
type page struct {
	file    string     // its name
	machine string     // see machine.String
	quick   bool       // the run was
	note    string     // the line about the run
	rows    [][]string // of the first table: item, ours, peer, what it is, ratio, bar, met
	header  []string
}

var ranOn = regexp.MustCompile(`A (whole|quick) run on (.+?, \d+ processors), of which [^|]*? s\.`)

// parsePage reads results in Markdown.
func parsePage(text string) (p page, err error) {
	m := ranOn.FindStringSubmatch(strings.Join(strings.Fields(text), " "))
	if m == nil {
		return p, errors.New("it does not name the machine of a run")
	}
	p.note, p.quick, p.machine = m[0], m[1] == "quick", m[2]
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); !strings.HasPrefix(l, "|") {
			if p.header != nil {
				break
			}
			continue
		}
		cells := strings.Split(strings.Trim(l, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case p.header == nil:
			p.header = cells
		case !strings.HasPrefix(cells[0], ":-"):
			p.rows = append(p.rows, cells)
		}
	}
	for _, r := range p.rows {
		if len(r) != len(p.header) || len(r) < 5 {
			return p, fmt.Errorf("a row has %d cells", len(r))
		}
	}
	if p.rows == nil {
		return p, errors.New("it has no table")
	}
	return p, nil
}

func readPage(path string) (page, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return page{}, err
	}
	text := string(b)
	if _, inside, _, ok := marked(text); ok { // the README has other tables, too
		text = inside
	}
	p, err := parsePage(text)
	if err != nil {
		return p, fmt.Errorf("%s: %w", path, err)
	}
	p.file = filepath.Base(path)
	return p, nil
}

func (p page) row(name *regexp.Regexp) []string {
	for _, r := range p.rows {
		if name.MatchString(r[0]) {
			return r
		}
	}
	return nil
}

// all returns the pages of all machines.
func (d pages) all() (list []page, err error) {
	files, err := filepath.Glob(filepath.Join(d.cost, "*.md"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if filepath.Base(f) == "README.md" {
			continue
		}
		p, err := readPage(f)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

func (d pages) path(m machine) string { return filepath.Join(d.cost, m.file()+".md") }

// check returns an error if the results of a run would replace others than those of an
// earlier run of the same kind on such a machine.
func (d pages) check(m machine, quick bool) error {
	p, err := readPage(d.path(m))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case p.machine != m.String():
		return fmt.Errorf("%s has results of another machine, %s (hint: --readme=replace)", d.path(m), p.machine)
	case quick && !p.quick:
		return fmt.Errorf("%s has results of a whole run (hint: --readme=replace)", d.path(m))
	}
	return nil
}

// write puts results on the page of the machine, and five rows into the README if they are
// of this machine there, or if replace is set. It returns what it did.
func (d pages) write(m machine, results string, replace bool) (did []string, err error) {
	now, err := parsePage(results)
	if err != nil {
		return nil, err
	}
	if now.machine != m.String() {
		return nil, fmt.Errorf("the results are those of %s, not of %s", now.machine, m)
	}
	if !replace {
		if err := d.check(m, now.quick); err != nil {
			return nil, err
		}
	}
	text := fmt.Sprintf("# What tracing costs on %s\n\n`scripts/bench --readme` has written this page. [README.md](README.md) explains the columns and puts\nmachines side by side.\n\n%s\n",
		m, strings.TrimSpace(results))
	if err := os.WriteFile(d.path(m), []byte(text), 0o644); err != nil {
		return nil, err
	}
	did = append(did, "wrote "+d.path(m))
	if err := d.writeOverview(); err != nil {
		return did, err
	}
	did = append(did, "wrote the overview in "+d.overview())

	before, err := readPage(d.readme)
	if err != nil {
		return did, err
	}
	switch {
	case before.machine == now.machine:
		did = append(did, "replaced the rows of this machine in "+d.readme)
	case replace:
		did = append(did, fmt.Sprintf("replaced the rows of %s in %s", before.machine, d.readme))
	default:
		return append(did, fmt.Sprintf("left the rows of %s in %s (hint: --readme=replace)", before.machine, d.readme)), nil
	}
	five, err := now.five()
	if err != nil {
		return did, err
	}
	return did, between(d.readme, five)
}

// rewrite makes the overview and the rows of the README anew from the pages.
func (d pages) rewrite() error {
	if err := d.writeOverview(); err != nil {
		return err
	}
	front, err := readPage(d.readme)
	if err != nil {
		return err
	}
	all, err := d.all()
	if err != nil {
		return err
	}
	for _, p := range all {
		if p.machine == front.machine {
			five, err := p.five()
			if err != nil {
				return err
			}
			return between(d.readme, five)
		}
	}
	return fmt.Errorf("%s has results of %s, which has no page in %s", d.readme, front.machine, d.cost)
}

// five returns the rows for the README, with the columns that say what was measured.
func (p page) five() (string, error) {
	var w bytes.Buffer
	t := table(&w)
	t.Header(slices.Clone(p.header[:5]))
	for _, main := range mainRows {
		if !main.front {
			continue
		}
		r := p.row(main.name)
		if r == nil || r[1] == "" || r[4] == "" {
			return "", fmt.Errorf("%q was not measured", main.title)
		}
		if err := t.Append(r[:5]); err != nil {
			return "", err
		}
	}
	if err := t.Render(); err != nil {
		return "", err
	}
	return w.String() + "\n" + wrap(p.note), nil
}

const beginMark, endMark = "<!-- begin of scripts/bench -->\n", "<!-- end of scripts/bench -->\n"

// marked divides a document at its two marks.
func marked(document string) (head, inside, tail string, ok bool) {
	head, rest, ok := strings.Cut(document, beginMark)
	inside, tail, ok2 := strings.Cut(rest, endMark)
	return head, inside, tail, ok && ok2
}

// between puts text between the two marks in a document.
func between(document, text string) error {
	b, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	head, _, tail, ok := marked(string(b))
	if !ok {
		return fmt.Errorf("%s: the marks of scripts/bench are missing", document)
	}
	return os.WriteFile(document, []byte(head+beginMark+text+endMark+tail), 0o644)
}

// wrap breaks a paragraph into lines of a hundred columns at most.
func wrap(text string) string {
	var b strings.Builder
	column := 0
	for w := range strings.FieldsSeq(text) {
		switch {
		case column > 0 && column+1+len(w) > 100:
			b.WriteByte('\n')
			column = 0
		case column > 0:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(w)
		column += len(w)
	}
	return b.String() + "\n"
}
