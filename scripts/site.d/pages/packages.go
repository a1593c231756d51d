package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/printer"
	"go/token"
	"html"
	"path/filepath"
	"strings"
)

// packages are those with a promise of stability.
var packages = []string{"posixtrace", "posixtrace/posixslog", "posixtrace/posixspan", "posixtrace/posixtest"}

const module = "github.com/posixtrace/posixtrace/"

func (s *site) packages() error {
	for _, name := range packages {
		dir := "pkg/" + name
		files, err := filepath.Glob(filepath.Join(s.root, dir, "*.go"))
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		var parsed []*ast.File
		seen := map[string]bool{}
		for _, f := range files {
			if strings.HasSuffix(f, "_elsewhere.go") || strings.HasSuffix(f, "_arm64.go") { // the same functions
				continue
			}
			file, err := parser.ParseFile(fset, f, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			parsed = append(parsed, file)
			seen[file.Name.Name] = true
		}
		d, err := doc.NewFromFiles(fset, parsed, module+dir)
		if err != nil {
			return err
		}
		s.pages = append(s.pages, &page{path: "pkg/" + d.Name + ".html", source: dir, title: "package " + d.Name, about: d.Synopsis(d.Doc), body: packageHTML(d, fset)})
	}
	return nil
}

// packageHTML returns what go doc -all prints.
func packageHTML(d *doc.Package, fset *token.FileSet) []byte {
	var b bytes.Buffer
	p := d.Printer()
	p.DocLinkURL = func(l *comment.DocLink) string {
		anchor := ""
		if l.Name != "" {
			anchor = "#" + l.Name
			if l.Recv != "" {
				anchor = "#" + l.Recv + "." + l.Name
			}
		}
		switch {
		case l.ImportPath == "":
			return anchor
		case strings.HasPrefix(l.ImportPath, module):
			return l.ImportPath[strings.LastIndexByte(l.ImportPath, '/')+1:] + ".html" + anchor
		}
		return "https://pkg.go.dev/" + l.ImportPath + anchor
	}
	p.HeadingLevel = 3
	text := func(s string) { b.Write(p.HTML(d.Parser().Parse(s))) }
	decl := func(n any) {
		b.WriteString("<pre><code>")
		var code bytes.Buffer
		(&printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 8}).Fprint(&code, fset, n)
		b.WriteString(html.EscapeString(code.String()))
		b.WriteString("</code></pre>\n")
	}
	examples := func(list []*doc.Example) {
		for _, e := range list {
			title := "Example"
			if e.Suffix != "" {
				title += " (" + e.Suffix + ")"
			}
			fmt.Fprintf(&b, "<p>%s:</p>\n", title)
			text(e.Doc)
			decl(&printer.CommentedNode{Node: e.Code, Comments: e.Comments})
			if e.Output != "" {
				fmt.Fprintf(&b, "<pre><code>%s</code></pre>\n", html.EscapeString(e.Output))
			}
		}
	}
	values := func(list []*doc.Value) {
		for _, v := range list {
			for _, n := range v.Names {
				if ast.IsExported(n) {
					fmt.Fprintf(&b, "<span id=\"%s\"></span>", n)
				}
			}
			decl(v.Decl)
			text(v.Doc)
		}
	}
	function := func(f *doc.Func, level int) {
		id := f.Name
		if f.Recv != "" {
			id = strings.TrimLeft(f.Recv, "*") + "." + f.Name
		}
		fmt.Fprintf(&b, "<h%d id=\"%s\">func %s</h%[1]d>\n", level, id, html.EscapeString(id))
		f.Decl.Body = nil
		decl(f.Decl)
		text(f.Doc)
		examples(f.Examples)
	}
	fmt.Fprintf(&b, "<h1>package %s</h1>\n<pre><code>import \"%s\"</code></pre>\n<h2 id=\"pkg-overview\">Overview</h2>\n", d.Name, d.ImportPath)
	text(d.Doc)
	examples(d.Examples)
	section := func(n int, id, title string, f func()) {
		if n > 0 {
			fmt.Fprintf(&b, "<h2 id=\"%s\">%s</h2>\n", id, title)
			f()
		}
	}
	section(len(d.Consts), "pkg-constants", "Constants", func() { values(d.Consts) })
	section(len(d.Vars), "pkg-variables", "Variables", func() { values(d.Vars) })
	section(len(d.Funcs), "pkg-functions", "Functions", func() {
		for _, f := range d.Funcs {
			function(f, 3)
		}
	})
	section(len(d.Types), "pkg-types", "Types", func() {
		for _, t := range d.Types {
			fmt.Fprintf(&b, "<h3 id=\"%s\">type %[1]s</h3>\n", t.Name)
			for _, f := range fields(t.Decl) {
				fmt.Fprintf(&b, "<span id=\"%s.%s\"></span>", t.Name, f)
			}
			decl(t.Decl)
			text(t.Doc)
			examples(t.Examples)
			values(t.Consts)
			values(t.Vars)
			for _, f := range t.Funcs {
				function(f, 4)
			}
			for _, f := range t.Methods {
				function(f, 4)
			}
		}
	})
	return b.Bytes()
}

// fields returns the exported fields of a declared structure, which comments link to.
func fields(d *ast.GenDecl) (names []string) {
	for _, spec := range d.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		if st, ok := t.Type.(*ast.StructType); ok {
			for _, f := range st.Fields.List {
				for _, n := range f.Names {
					if n.IsExported() {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}
