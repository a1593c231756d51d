package main

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// transform returns the heading and the body of a page with its links to sources as links to pages,
// with tables and code that scroll by themselves, and with the headings of the manual one level down.
// A long page has contents.
func (s *site) transform(p *page) (heading, body []byte, contents []entry, err error) {
	context := &html.Node{Type: html.ElementNode, Data: "main", DataAtom: atom.Main}
	nodes, err := html.ParseFragment(bytes.NewReader(p.body), context)
	if err != nil {
		return nil, nil, nil, err
	}
	root := &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div}
	for _, n := range nodes {
		root.AppendChild(n)
	}
	manual := strings.HasPrefix(p.source, "man/")
	if manual {
		root.Attr = []html.Attribute{{Key: "class", Val: "manual"}}
		s.ofManual(root)
	}
	ids := map[string]int{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if i := attribute(n, "id"); i >= 0 { // an anchor that mandoc gives twice
			ids[n.Attr[i].Val]++
			if ids[n.Attr[i].Val] > 1 {
				n.Attr = slices.Delete(n.Attr, i, i+1)
			}
		}
		switch n.DataAtom {
		case atom.A:
			if i := attribute(n, "href"); i >= 0 {
				link, err := s.link(p, n.Attr[i].Val)
				if err != nil {
					return nil, nil, nil, err
				}
				n.Attr[i].Val = link
				if link == "" { // a page of another manual
					n.Data, n.DataAtom, n.Attr = "span", atom.Span, nil
				}
			}
		case atom.Img:
			i := attribute(n, "src")
			link, err := s.link(p, n.Attr[i].Val)
			if err != nil {
				return nil, nil, nil, err
			}
			n.Attr[i].Val = link
		case atom.Td, atom.Th: // goldmark writes the alignment of a column as a style
			if i := attribute(n, "style"); i >= 0 {
				_, align, _ := strings.Cut(n.Attr[i].Val, ":")
				n.Attr[i] = html.Attribute{Key: "class", Val: strings.TrimSpace(align)}
			}
			if text := n.FirstChild; text != nil && text.Type == html.TextNode { // a number and its unit are one word
				text.Data = unit.ReplaceAllString(text.Data, "$1\u00a0$2")
			}
		case atom.Pre:
			set(n, "tabindex", "0")
		}
	}
	for _, n := range slices.Collect(root.Descendants()) {
		if n.DataAtom == atom.Img && n.Parent.DataAtom != atom.A { // to see it larger
			a := &html.Node{Type: html.ElementNode, Data: "a", DataAtom: atom.A, Attr: []html.Attribute{{Key: "href", Val: n.Attr[attribute(n, "src")].Val}}}
			n.Parent.InsertBefore(a, n)
			n.Parent.RemoveChild(n)
			a.AppendChild(n)
		}
		if n.DataAtom != atom.Table {
			continue
		}
		for d := range n.Descendants() {
			if d.DataAtom == atom.Th && d.FirstChild == nil { // an empty corner
				d.Data, d.DataAtom = "td", atom.Td
			}
		}
		if i := attribute(n, "class"); manual && (i < 0 || !strings.Contains(n.Attr[i].Val, "Bl-column")) {
			continue
		}
		wide := &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div, Attr: []html.Attribute{{Key: "class", Val: "wide"}, {Key: "tabindex", Val: "0"}}}
		n.Parent.InsertBefore(wide, n)
		n.Parent.RemoveChild(n)
		wide.AppendChild(n)
	}
	for n := range root.Descendants() {
		if deep := n.DataAtom == atom.H3; deep || n.DataAtom == atom.H2 {
			if i := attribute(n, "id"); i >= 0 {
				title := words(n)
				if strings.HasPrefix(p.source, "pkg/") { // a function or type
					title = strings.TrimPrefix(strings.TrimPrefix(title, "func "), "type ")
				}
				contents = append(contents, entry{Title: title, Link: "#" + n.Attr[i].Val, Deep: deep})
			}
		}
	}
	if len(contents) < 4 || strings.HasSuffix(p.path, "index.html") && p.path != "cost/index.html" {
		contents = nil
	}
	var h, b bytes.Buffer
	if first := root.FirstChild; first != nil && first.DataAtom == atom.H1 {
		if err := html.Render(&h, first); err != nil {
			return nil, nil, nil, err
		}
		root.RemoveChild(first)
	}
	for n := range root.ChildNodes() {
		if manual {
			break
		}
		if err := html.Render(&b, n); err != nil {
			return nil, nil, nil, err
		}
	}
	if manual {
		err = html.Render(&b, root)
	}
	return h.Bytes(), b.Bytes(), contents, err
}

var unit = regexp.MustCompile(`([0-9]) ([kMG]?B|[kM]iB|M/s|[nmµ]?s)\b`)

// words returns the text of a node.
func words(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// ofManual removes the head and foot of a page of the manual and moves its headings down.
func (s *site) ofManual(root *html.Node) {
	ids := map[string]bool{}
	for n := range root.Descendants() {
		if i := attribute(n, "id"); i >= 0 {
			ids[n.Attr[i].Val] = true
		}
	}
	for _, n := range slices.Collect(root.Descendants()) {
		if n.Type != html.ElementNode {
			continue
		}
		if i := attribute(n, "style"); i >= 0 {
			n.Attr = slices.Delete(n.Attr, i, i+1)
		}
		class := ""
		if i := attribute(n, "class"); i >= 0 {
			class = n.Attr[i].Val
		}
		switch {
		case n.DataAtom == atom.Table && (class == "head" || class == "foot"):
			n.Parent.RemoveChild(n)
		case n.DataAtom == atom.H1 && class != "":
			n.Data, n.DataAtom = "h2", atom.H2
		case n.DataAtom == atom.H2 && class == "Ss":
			n.Data, n.DataAtom = "h3", atom.H3
		}
		if n.DataAtom == atom.A && class == "Sx" { // may be a section of another page
			if to := n.Attr[attribute(n, "href")].Val; !ids[strings.TrimPrefix(to, "#")] {
				n.Data, n.DataAtom, n.Attr = "span", atom.Span, nil
			}
		}
		if n.DataAtom == atom.A && class == "Xr" {
			n.Attr[attribute(n, "href")].Val = "../man/" + strings.TrimSuffix(n.Attr[attribute(n, "href")].Val, ".html")
		}
	}
}

func attribute(n *html.Node, key string) int {
	return slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}

func set(n *html.Node, key, val string) {
	if i := attribute(n, key); i >= 0 {
		n.Attr[i].Val = val
		return
	}
	n.Attr = append(n.Attr, html.Attribute{Key: key, Val: val})
}

var manName = regexp.MustCompile(`^man/[A-Za-z0-9._-]+\.[0-9]$`)

// link returns the link of a page for that of its source. A file of the repository that is no page
// becomes a file of the site.
func (s *site) link(p *page, to string) (string, error) {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Path == "" {
		return to, err
	}
	if strings.HasSuffix(p.path, "/index.html") && !strings.HasSuffix(p.source, ".md") || strings.HasPrefix(p.source, "pkg/") {
		return to, nil // made by this program
	}
	anchor := ""
	if u.Fragment != "" {
		anchor = "#" + u.Fragment
	}
	from := path.Dir(p.source)
	target := path.Join(from, u.Path)
	if page, ok := s.place(target); ok {
		return relative(p.path, page) + anchor, nil
	}
	if manName.MatchString(target) {
		page, ok := s.manualPage(strings.TrimPrefix(target, "man/"))
		if !ok {
			return "", nil
		}
		return relative(p.path, page) + anchor, nil
	}
	if pkg, ok := strings.CutPrefix(path.Join("docs", "x", u.Path), "docs/pkg/"); ok && strings.HasSuffix(pkg, ".html") {
		return relative(p.path, "pkg/"+pkg) + anchor, nil
	}
	st, err := os.Stat(filepath.Join(s.root, target))
	if err != nil || st.IsDir() || strings.HasPrefix(target, "..") {
		return "", fmt.Errorf("link to %s: no page and no file", to)
	}
	place := strings.TrimPrefix(target, "docs/")
	switch path.Ext(place) {
	case ".png", ".svg", ".csv":
	default:
		place = "files/" + place + ".txt" // as text, whatever a server takes its name for
	}
	s.files[place] = target
	return relative(p.path, place) + anchor, nil
}
