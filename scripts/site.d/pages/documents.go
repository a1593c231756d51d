package main

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// documents adds a page for each document in markdown.
func (s *site) documents() error {
	list, err := filepath.Glob(filepath.Join(s.root, "*.md"))
	if err != nil {
		return err
	}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		more, err := filepath.Glob(filepath.Join(s.root, pattern))
		if err != nil {
			return err
		}
		list = append(list, more...)
	}
	for _, file := range list {
		source, err := filepath.Rel(s.root, file)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		p, err := markdown(data)
		if err != nil {
			return err
		}
		p.source, p.path = filepath.ToSlash(source), documentPath(filepath.ToSlash(source))
		if p.path == "overview.html" { // the start page has the name
			p.title = "Overview"
			p.body = bytes.Replace(p.body, []byte(">posixtrace</h1>"), []byte(">Overview</h1>"), 1)
		}
		s.pages = append(s.pages, p)
	}
	return nil
}

// documentPath returns the path of a document's page: docs/cost/README.md is cost/index.html.
func documentPath(source string) string {
	switch source {
	case "README.md":
		return "overview.html"
	case "docs/README.md":
		return "index.html"
	}
	source = strings.TrimPrefix(source, "docs/")
	dir, name := path.Split(source)
	if name == "README.md" {
		return dir + "index.html"
	}
	return dir + strings.ToLower(strings.TrimSuffix(name, ".md")) + ".html"
}

var fileInfo = regexp.MustCompile("(?m)^```([a-z]+) ([A-Za-z0-9._-]+)$")

// markdown returns the page of a document. The block of a file begins with the file's name.
func markdown(data []byte) (*page, error) {
	data = fileInfo.ReplaceAll(data, []byte("`$2`:\n\n```$1"))
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	doc := md.Parser().Parse(text.NewReader(data), parser.WithContext(parser.NewContext(parser.WithIDs(&headings{}))))
	p := &page{}
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && entering && h.Level == 1 && p.title == "" {
			p.title = string(h.Lines().Value(data))
		}
		if par, ok := n.(*ast.Paragraph); ok && entering && p.about == "" {
			p.about = firstSentence(string(par.Lines().Value(data)))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = md.Renderer().Render(&b, data, doc)
	p.body = b.Bytes()
	return p, err
}

// headings gives headings the anchors that GitHub gives them.
type headings struct{ used []string }

func (h *headings) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(string(value)) {
		switch {
		case r == ' ' || r == '-':
			b.WriteByte('-')
		case r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127:
			b.WriteRune(r)
		}
	}
	id := b.String()
	for slices.Contains(h.used, id) || id == "" {
		id += "-1"
	}
	h.used = append(h.used, id)
	return []byte(id)
}

func (h *headings) Put(value []byte) { h.used = append(h.used, string(value)) }

var markup = regexp.MustCompile("`|\\*|\\[|\\]\\([^)]*\\)")

// firstSentence returns the first sentence of a paragraph, without its markup.
func firstSentence(s string) string {
	s = strings.Join(strings.Fields(markup.ReplaceAllString(s, "")), " ")
	if i := strings.Index(s, ". "); i >= 0 {
		s = s[:i+1]
	}
	return s
}
