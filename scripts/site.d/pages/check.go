package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// document is what links need of a page.
type document struct {
	ids   map[string]bool
	links []string
}

// check returns the faults of all pages below a directory. Reports, which have their own tests, are
// checked as targets of links only.
func check(dir string) (faults []string, err error) {
	pages := map[string]*document{}
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		doc := &document{ids: map[string]bool{}}
		pages[name] = doc
		if path.Ext(name) == ".html" && name != "demo.html" {
			for _, f := range checkPage(data, doc) {
				faults = append(faults, name+": "+f)
			}
		}
		return nil
	})
	for name, doc := range pages {
		for _, link := range doc.links {
			u, err := url.Parse(link)
			switch {
			case err != nil:
				faults = append(faults, fmt.Sprintf("%s: link %q: %v", name, link, err))
				continue
			case u.Scheme == "https":
				continue
			case u.Scheme != "" || u.Host != "" || strings.HasPrefix(u.Path, "/"):
				faults = append(faults, fmt.Sprintf("%s: link %q leads out of the site", name, link))
				continue
			}
			to := name
			if u.Path != "" {
				to = path.Join(path.Dir(name), u.Path)
			}
			target, ok := pages[to]
			switch {
			case !ok:
				faults = append(faults, fmt.Sprintf("%s: link %q: no such file", name, link))
			case u.Fragment != "" && !target.ids[u.Fragment]:
				faults = append(faults, fmt.Sprintf("%s: link %q: no such anchor", name, link))
			}
		}
	}
	slices.Sort(faults)
	return faults, err
}

// Elements of the pages. An element that is not here is a fault: the pages need no scripts, frames
// or forms.
var (
	void   = strings.Fields("meta link br img hr input")
	block  = strings.Fields("html head title body header nav ul li main footer h1 h2 h3 h4 h5 h6 p pre div section table thead tbody tr th td dl dt dd ol blockquote details summary")
	inline = strings.Fields("a code span em strong i b var del cite small sup sub u s mark kbd samp")
)

// allowed says which elements an element of its kind must stand in.
var allowed = map[string][]string{"li": {"ul", "ol"}, "tr": {"thead", "tbody", "table"}, "td": {"tr"}, "th": {"tr"}, "dt": {"dl", "div"}, "dd": {"dl", "div"}, "thead": {"table"}, "tbody": {"table"}}

// checkPage reads a page as strictly as a person who writes one by hand would: each element is closed
// where it must be, ids are unique, headings descend by one level, pictures have a text, and nothing
// comes from a network.
func checkPage(data []byte, doc *document) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if !bytes.HasPrefix(data, []byte("<!DOCTYPE html>\n<html lang=\"en\">")) {
		fault("does not begin with a document type and a language")
	}
	var stack []string
	level, h1, title := 0, 0, false
	z := html.NewTokenizer(bytes.NewReader(data))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			if !errors.Is(z.Err(), io.EOF) {
				fault("%v", z.Err())
			}
			break
		}
		t := z.Token()
		switch kind {
		case html.StartTagToken, html.SelfClosingTagToken:
			name := t.Data
			isVoid := slices.Contains(void, name)
			if !isVoid && !slices.Contains(block, name) && !slices.Contains(inline, name) {
				fault("element %s", name)
			}
			parent := ""
			if len(stack) > 0 {
				parent = stack[len(stack)-1]
			}
			if in := allowed[name]; in != nil && !slices.Contains(in, parent) {
				fault("%s in %s", name, parent)
			}
			if slices.Contains(block, name) && (slices.Contains(inline, parent) && parent != "a" || parent == "p" || parent == "pre") {
				fault("%s in %s", name, parent)
			}
			if name == "a" && slices.Contains(stack, "a") {
				fault("a link in a link")
			}
			if (parent == "ul" || parent == "ol") && name != "li" {
				fault("%s in %s", name, parent)
			}
			attributes := map[string]string{}
			for _, a := range t.Attr {
				if _, ok := attributes[a.Key]; ok {
					fault("%s has %s twice", name, a.Key)
				}
				attributes[a.Key] = a.Val
				switch {
				case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
					fault("%s has %s", name, a.Key)
				case a.Key == "id":
					if doc.ids[a.Val] || a.Val == "" || strings.ContainsAny(a.Val, " \t\n") {
						fault("id %q", a.Val)
					}
					doc.ids[a.Val] = true
				case a.Key == "href" || a.Key == "src":
					doc.links = append(doc.links, a.Val)
					if u, err := url.Parse(a.Val); name != "a" && (err != nil || u.Scheme != "" || u.Host != "") {
						fault("%s needs a network: %s", name, a.Val)
					}
				}
			}
			if name == "img" && attributes["alt"] == "" {
				fault("a picture without a text: %s", attributes["src"])
			}
			if len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6' {
				n := int(name[1] - '0')
				if n > level+1 {
					fault("%s follows h%d", name, level)
				}
				level = n
				if n == 1 {
					h1++
				}
			}
			title = title || name == "title"
			if !isVoid {
				stack = append(stack, name)
			}
		case html.EndTagToken:
			if len(stack) == 0 || stack[len(stack)-1] != t.Data {
				fault("</%s> closes %q", t.Data, stack)
				return faults
			}
			stack = stack[:len(stack)-1]
		}
	}
	if len(stack) > 0 {
		fault("not closed: %q", stack)
	}
	if h1 != 1 || !title {
		fault("%d headings of the first level, title %v", h1, title)
	}
	return faults
}
