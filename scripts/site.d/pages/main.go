// Site builds the documentation as pages of HTML from what the repository has: documents, guides,
// manual pages, package comments and the pages of cost.
//
// usage: site ROOT OUT [DEMO]
//
// DEMO is a report of ptrace-run. The pages need no network and no script. The program checks every
// page: the nesting of its tags, its headings, and that each link and anchor leads somewhere.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed page.html
var pageText string

//go:embed style.css
var style []byte

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// A page of the site.
type page struct {
	path   string // below the root of the site: guides/ci.html
	source string // the file or directory it is made of: docs/guides/ci.md
	title  string
	about  string // one line: what the page is about
	body   []byte
}

type site struct {
	root, out string
	pages     []*page
	files     map[string]string // other files of the site: path, source
	demo      bool
}

func main() {
	if len(os.Args) < 3 || len(os.Args) > 4 {
		fmt.Fprintln(os.Stderr, "usage: site ROOT OUT [DEMO]")
		os.Exit(2)
	}
	s := &site{root: os.Args[1], out: os.Args[2], files: map[string]string{}}
	demo := ""
	if len(os.Args) == 4 {
		demo, s.demo = os.Args[3], true
	}
	if err := s.build(demo); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	faults, err := check(s.out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	for _, f := range faults {
		fmt.Println(f)
	}
	fmt.Printf("%d pages, %d faults\n", len(s.pages), len(faults))
	if len(faults) > 0 {
		os.Exit(1)
	}
}

func (s *site) build(demo string) error {
	if err := s.documents(); err != nil {
		return err
	}
	if err := s.manual(); err != nil {
		return err
	}
	if err := s.packages(); err != nil {
		return err
	}
	s.lists()
	write := func(to string, data []byte) error {
		to = filepath.Join(s.out, filepath.FromSlash(to))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	}
	for _, p := range s.pages {
		if s.demo && p.path == "report/index.html" {
			p.body = append(p.body, "\n<p><a href=\"#demo\">The report of a real build</a>, of the C library.</p>\n"...)
		}
		html, err := s.render(p)
		html = bytes.Replace(html, []byte(`href="#demo"`), []byte(`href="../demo.html"`), 1)
		if err != nil {
			return fmt.Errorf("%s: %w", p.source, err)
		}
		if err := write(p.path, html); err != nil {
			return err
		}
	}
	for to, from := range s.files {
		data, err := os.ReadFile(filepath.Join(s.root, from))
		if err != nil {
			return err
		}
		if err := write(to, data); err != nil {
			return err
		}
	}
	if demo != "" {
		data, err := os.ReadFile(demo)
		if err != nil {
			return err
		}
		if err := write("demo.html", data); err != nil {
			return err
		}
	}
	return write("style.css", style)
}

// entry is a line of the navigation.
type entry struct {
	Title, Link string
	Here, Deep  bool
}

// sections are the navigation; a page belongs to the one whose directory it is in.
var sections = []struct{ title, page string }{
	{"posixtrace", "index.html"}, {"Overview", "overview.html"}, {"Guides", "guides/index.html"}, {"Manual", "man/index.html"}, {"Go packages", "pkg/index.html"},
	{"Comparison", "compare.html"}, {"Cost", "cost/index.html"},
}

// render puts a page into the template.
func (s *site) render(p *page) ([]byte, error) {
	heading, body, contents, err := s.transform(p)
	if err != nil {
		return nil, err
	}
	var nav, foot, beside []entry
	for _, sec := range sections {
		dir := path.Dir(sec.page)
		here := p.path == sec.page || dir != "." && path.Dir(p.path) == dir
		nav = append(nav, entry{Title: sec.title, Link: relative(p.path, sec.page), Here: here})
	}
	for _, q := range s.pages {
		if !strings.Contains(q.path, "/") && !slices.ContainsFunc(sections, func(x struct{ title, page string }) bool { return x.page == q.path }) {
			foot = append(foot, entry{Title: q.title, Link: relative(p.path, q.path), Here: q == p})
		}
	}
	for _, dir := range []string{"report", "sources", "fleet", "platforms"} {
		if i := slices.IndexFunc(s.pages, func(q *page) bool { return q.path == dir+"/index.html" }); i >= 0 {
			foot = append(foot, entry{Title: s.pages[i].title, Link: relative(p.path, s.pages[i].path), Here: s.pages[i] == p})
		}
	}
	if path.Dir(p.path) == "guides" && path.Base(p.path) != "index.html" {
		for _, q := range s.pages {
			if path.Dir(q.path) == "guides" && path.Base(q.path) != "index.html" && q != p {
				beside = append(beside, entry{Title: q.title, Link: path.Base(q.path)})
			}
		}
	}
	var b bytes.Buffer
	err = pageTemplate.Execute(&b, map[string]any{"Title": p.title, "Home": p.path == "index.html", "Style": relative(p.path, "style.css"), "Nav": nav, "Foot": foot,
		"Summary": p.about, "Heading": template.HTML(heading), "Body": template.HTML(body), "Contents": contents, "Beside": beside})
	return b.Bytes(), err
}

// relative returns a link from a page to another file of the site.
func relative(from, to string) string {
	return strings.Repeat("../", strings.Count(from, "/")) + to
}

// place returns the path of the page that is made of a file or directory.
func (s *site) place(source string) (string, bool) {
	for _, p := range s.pages {
		if p.source == source || p.source == source+"/README.md" {
			return p.path, true
		}
	}
	return "", false
}

// lists adds the lists of guides, manual pages and packages.
func (s *site) lists() {
	list := func(dir, title, text string, sections ...string) {
		var b bytes.Buffer
		fmt.Fprintf(&b, "<h1>%s</h1>\n<p>%s</p>\n", title, text)
		if len(sections) == 0 {
			sections = []string{""}
		}
		for _, section := range sections {
			number, name, named := strings.Cut(section, " ")
			if named {
				fmt.Fprintf(&b, "<h2 id=\"section-%s\">%s</h2>\n", number, name)
			}
			b.WriteString("<dl class=\"list\">\n")
			for _, p := range s.pages {
				if path.Dir(p.path) == dir && (!named || strings.HasSuffix(p.path, "."+number+".html")) {
					fmt.Fprintf(&b, "<dt><a href=\"%s\">%s</a></dt>\n<dd>%s</dd>\n", path.Base(p.path), template.HTMLEscapeString(p.title), template.HTMLEscapeString(p.about))
				}
			}
			b.WriteString("</dl>\n")
		}
		s.pages = append(s.pages, &page{path: dir + "/index.html", source: dir, title: title, body: b.Bytes()})
	}
	list("guides", "Guides", "The examples are run as tests, and their output is real. Times are those of one machine.")
	list("man", "Manual pages", "Without the site: <code>man ptrace-run</code>.", "7 Concepts", "1 Commands", "3 Functions in C", "5 The format of logs")
	list("pkg", "Go packages", "The documentation of the packages, as <code>go doc -all</code> shows it.")
}
