package script_test

import (
	"bytes"
	"encoding/xml"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/internal/pagetest"
)

// Each form shows output as it was printed, and nothing that acts on a terminal. A file of
// testdata/printed has what a program printed for a terminal. The file with .want behind its name has
// what each form shows of it; "go test -update" writes it.
func TestPrinted(t *testing.T) {
	files, err := filepath.Glob("testdata/printed/*")
	if err != nil || len(files) < 20 {
		t.Fatalf("%v, %q", err, files)
	}
	for _, file := range files {
		if filepath.Ext(file) == "" {
			t.Run(filepath.Base(file), func(t *testing.T) { checkPrinted(t, file) })
		}
	}
}

// pageSigns make a line of the page's data visible.
var pageSigns = strings.NewReplacer("\ufdd0", "⟦", "\ufdd1", "⟧", "\x1b", "␛")

func checkPrinted(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "text"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	traces := filepath.Join(dir, "traces")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(status int, args ...string) []byte {
		t.Helper()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "TERM=xterm", "LC_ALL=C.UTF-8", "GITHUB_ACTIONS=")
		out, err := cmd.Output()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != status {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		return out
	}
	run(0, "ptrace-run", "-c", "-o", "old.trace", "true")
	run(1, "ptrace-run", "-c", "-o", "new.trace", "sh", "-c", "cat text; exit 1")

	var got bytes.Buffer
	show := func(form string, b []byte) {
		harmlessText(t, form, b, "\t")
		got.WriteString("-- " + form + " --\n")
		got.Write(b)
	}
	lossless := run(0, "ptrace-dump", "--format=%d", "-e", "output.stdout", "new.trace")
	checkLossless(t, text, lossless)
	show("text", lossless)
	show("annotate", run(0, "ptrace-dump", "--replay=1000000000", "--color=never", "new.trace"))
	colored := run(0, "ptrace-dump", "--replay=1000000000", "--color=always", "new.trace")
	if plain := sgr.ReplaceAll(colored, nil); !bytes.Equal(plain, run(0, "ptrace-dump", "--replay=1000000000", "--color=never", "new.trace")) {
		t.Errorf("in colour: %q", colored)
	}
	show("summary", linesWith(run(0, "ptrace-dump", "-s", "new.trace"), `^    `))
	show("markdown", []byte(html.UnescapeString(string(linesWith(run(0, "ptrace-dump", "--markdown", "new.trace"), `^  - <code>`)))))
	show("diff", linesWith(run(1, "ptrace-diff", "--golden", "old.trace", "new.trace"), `the line`))
	show("junit", systemOut(t, run(0, "ptrace-dump", "--junit", "new.trace")))
	page, err := pagetest.Parse(run(0, "ptrace-dump", "--html", "new.trace"))
	if err != nil {
		t.Fatal(err)
	}
	show("page", []byte(pageSigns.Replace(strings.Join(page.Runs[0].Text, "\n"))+"\n"))

	if len(text) > 4096 { // in pieces
		if i := bytes.Index(got.Bytes(), []byte(`\x`)); i >= 0 && !bytes.Contains(got.Bytes()[i:], []byte(`\x1b[31mred`)) {
			t.Errorf("a character was cut: %q", got.Bytes()[max(0, i-20):i+20])
		}
		return
	}
	if *update {
		if err := os.WriteFile(file+".want", got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file + ".want")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// checkLossless checks that the text form of lines stands for all bytes but the ends of lines.
func checkLossless(t *testing.T, text, shown []byte) {
	t.Helper()
	var back []byte
	for line := range bytes.Lines(shown) {
		for b := bytes.TrimSuffix(line, []byte("\n")); len(b) > 0; {
			c, n := escape.Byte(b)
			back, b = append(back, c), b[n:]
		}
	}
	ends := strings.NewReplacer("\r", "", "\n", "")
	if ends.Replace(string(back)) != ends.Replace(string(text)) {
		t.Errorf("the text is of %q", back)
	}
}

func linesWith(b []byte, pattern string) (all []byte) {
	p := regexp.MustCompile(pattern)
	for line := range bytes.Lines(b) {
		if p.Match(line) {
			all = append(all, line...)
		}
	}
	return all
}

// systemOut returns the output in JUnit XML, which must be valid.
func systemOut(t *testing.T, b []byte) (all []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(b))
	for inside := false; ; {
		token, err := d.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("%v in %q", err, b)
		}
		switch x := token.(type) {
		case xml.StartElement:
			inside = x.Name.Local == "system-out"
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if inside {
				all = append(all, x...)
			}
		}
	}
}
