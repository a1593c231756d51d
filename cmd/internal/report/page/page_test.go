package page

import (
	"bytes"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// TestWrite checks that each slot is filled where it is, and that all files are in the document.
func TestWrite(t *testing.T) {
	fill := map[string]func(io.Writer) error{}
	for _, name := range []string{"title", "verdict", "chain", "tables", "holds", "data"} {
		fill[name] = func(w io.Writer) error {
			_, err := io.WriteString(w, "<"+name+" of the report>")
			return err
		}
	}
	var b bytes.Buffer
	if err := Write(&b, fill); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	for name := range fill {
		if !strings.Contains(html, "<"+name+" of the report>") {
			t.Errorf("slot %s is not filled", name)
		}
	}
	if m := slot.FindString(html); m != "" {
		t.Errorf("%s is left", m)
	}
	for _, dir := range []string{"css", "js", "uplot"} {
		fs.WalkDir(files, dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				t.Error(err)
			} else if text, _ := files.ReadFile(path); !d.IsDir() && !strings.Contains(html, strings.TrimSpace(string(text))) {
				t.Errorf("%s is not in the document", path)
			}
			return nil
		})
	}
}

// TestNoWayOut checks that the page asks for nothing and interprets no text.
func TestNoWayOut(t *testing.T) {
	html, err := document()
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`Content-Security-Policy" content="default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'"`).Match(html) {
		t.Error("no policy with hashes")
	}
	own := bytes.ReplaceAll(html, []byte("https://github.com/leeoniya/uPlot"), nil)
	if m := regexp.MustCompile(`.{0,40}(https?:|//[a-z]+\.|\burl\(|@import|\bsrc=|<link|innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function|fetch\(|XMLHttp|WebSocket).{0,40}`).Find(own); m != nil {
		t.Errorf("the page has %q", m)
	}
}

func TestLicence(t *testing.T) {
	text, err := files.ReadFile("uplot/LICENSE")
	if err != nil || !bytes.Contains(text, []byte("MIT License")) {
		t.Errorf("licence of uPlot: %q, %v", text, err)
	}
}
