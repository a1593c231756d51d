package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write sums.go")

// slots lists what is between marks in page.html.
func slots(t *testing.T) (list []string) {
	html, err := files.ReadFile("page.html")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(html), mark)
	if len(parts)%2 == 0 {
		t.Fatal("page.html has an odd number of marks")
	}
	for i := 1; i < len(parts); i += 2 {
		list = append(list, parts[i])
	}
	return list
}

// TestSums compares the hashes in the page's policy with the texts.
func TestSums(t *testing.T) {
	var b strings.Builder
	b.WriteString("package page\n\n// sums are the hashes of the style and the scripts. \"go generate\" writes them.\nvar sums = map[string]string{\n")
	for _, s := range slots(t) {
		kind, names, ok := strings.Cut(s, " ")
		if !ok {
			continue
		}
		h := sha256.New()
		if err := concatenate(h, names); err != nil {
			t.Fatal(err)
		}
		hash := "'sha256-" + base64.StdEncoding.EncodeToString(h.Sum(nil)) + "'"
		fmt.Fprintf(&b, "\t%-11s %q,\n", fmt.Sprintf("%q:", "hash-"+kind), hash)
		if sums["hash-"+kind] != hash && !*update {
			t.Errorf("sums.go has another hash for %s; go generate ./cmd/internal/format/report/page writes it", kind)
		}
	}
	b.WriteString("}\n")
	if *update {
		if err := os.WriteFile("sums.go", []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// whole is the document with a text in each slot.
func whole(t *testing.T, text string) string {
	fill := map[string]func(io.Writer) error{}
	for _, name := range []string{"title", "links", "verdict", "differences", "chain", "tables", "notes", "holds", "data"} {
		fill[name] = func(w io.Writer) error {
			_, err := io.WriteString(w, strings.ReplaceAll(text, "NAME", name))
			return err
		}
	}
	var b bytes.Buffer
	if err := Write(&b, fill); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWrite checks that each slot is filled, that a text with marks is no slot, and that all files
// are in the document and cannot end the element that holds them.
func TestWrite(t *testing.T) {
	html := whole(t, "<NAME @@data@@>")
	for _, s := range slots(t) {
		if _, ok := sums[s]; !ok && !strings.Contains(s, " ") && !strings.Contains(html, "<"+s+" @@data@@>") {
			t.Errorf("slot %s is not filled", s)
		}
	}
	for _, dir := range []string{"css", "js", "uplot"} {
		err := fs.WalkDir(files, dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := files.ReadFile(path)
			text := strings.TrimSpace(string(b))
			if !strings.Contains(html, text) {
				t.Errorf("%s is not in the document", path)
			}
			if regexp.MustCompile(`(?i)</?script|</style|<!--`).MatchString(text) {
				t.Errorf("%s has a tag of the element that holds it", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestNoWayOut checks that the page asks for nothing and interprets no text.
func TestNoWayOut(t *testing.T) {
	html := whole(t, "")
	if !regexp.MustCompile(`Content-Security-Policy" content="default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'"`).MatchString(html) {
		t.Error("no policy with hashes")
	}
	own := strings.ReplaceAll(html, "https://github.com/leeoniya/uPlot", "")
	if m := regexp.MustCompile(`.{0,40}(https?:|//[a-z]+\.|\burl\(|@import|\bsrc=|<link|innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function|fetch\(|XMLHttp|WebSocket).{0,40}`).FindString(own); m != "" {
		t.Errorf("the page has %q", m)
	}
}

func TestLicence(t *testing.T) {
	text, err := files.ReadFile("uplot/LICENSE")
	if err != nil || !bytes.Contains(text, []byte("MIT License")) {
		t.Errorf("licence of uPlot: %q, %v", text, err)
	}
}

type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

// TestWriteFails checks that a failure to write is reported wherever it happens.
func TestWriteFails(t *testing.T) {
	n := len(whole(t, ""))
	for at := 0; at < n; at += 1000 {
		if err := Write(&full{at}, nil); err != io.ErrShortWrite {
			t.Fatalf("Write to a writer that takes %d bytes = %v", at, err)
		}
	}
}
