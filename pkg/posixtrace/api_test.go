package posixtrace_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata/api*.txt")

// testdata/api*.txt hold the public API: a change of the API changes these files, and shows in
// review.
func TestAPI(t *testing.T) {
	t.Run("posixtrace", func(t *testing.T) { testAPI(t, ".", "api.txt") })
	for _, name := range beside {
		t.Run(name, func(t *testing.T) { testAPI(t, "./"+name, "api_"+name+".txt") })
	}
}

// beside are the packages for other programs, which no program of ours imports.
var beside = []string{"posixslog", "posixspan", "posixtest"}

func testAPI(t *testing.T, pkg, file string) {
	got, err := exec.Command("go", "doc", "-all", pkg).Output()
	if err != nil {
		t.Fatalf("go doc: %v", err)
	}
	file = filepath.Join("..", "..", "testdata", file)
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); d != "" {
		t.Errorf("the API has changed (run with -update if intended), -%s +code:\n%s", filepath.Base(file), d)
	}
}

// The table of the package documentation has every function of the standard, with a counterpart
// that exists.
func TestPOSIXNames(t *testing.T) {
	doc := docText(t)
	api, err := os.ReadFile(filepath.Join("..", "..", "testdata", "api.txt"))
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(posix_trace_\w+) {2,}(.+)$`).FindAllStringSubmatch(doc, -1) {
		if _, ok := table[m[1]]; ok {
			t.Errorf("%s is in the table twice", m[1])
		}
		table[m[1]] = m[2]
	}
	for _, name := range strings.Fields(standardFunctions) {
		name = "posix_trace_" + name
		counterpart, ok := table[name]
		if !ok {
			t.Errorf("%s is missing from the table", name)
		}
		delete(table, name)
		if strings.HasPrefix(counterpart, "none: ") {
			continue
		}
		for _, g := range strings.Split(counterpart, ", ") {
			if !exists(string(api), g) {
				t.Errorf("%s: no such declaration: %s", name, g)
			}
		}
	}
	for name := range table {
		t.Errorf("%s is no function of the standard", name)
	}
}

// Error.Op and everything else in the source names functions of the standard only.
func TestNoInventedPOSIXNames(t *testing.T) {
	known := map[string]bool{}
	for _, name := range strings.Fields(standardFunctions) {
		known["posix_trace_"+name] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`"(posix_trace_\w+)"`).FindAllSubmatch(src, -1) {
			if !known[string(m[1])] {
				t.Errorf("%s: %s is no function of the standard", file, m[1])
			}
		}
	}
}

// exists reports whether the API has a function, method or struct member.
func exists(api, name string) bool {
	typ, member, ok := strings.Cut(name, ".")
	if !ok {
		return strings.Contains(api, "\nfunc "+name+"(")
	}
	if regexp.MustCompile(fmt.Sprintf(`(?m)^func \(\w+ \*?%s\) %s\(`, typ, member)).MatchString(api) {
		return true
	}
	_, body, ok := strings.Cut(api, "\ntype "+typ+" struct {\n")
	body, _, _ = strings.Cut(body, "\n}\n")
	return ok && regexp.MustCompile(`(?m)^\t`+member+` `).MatchString(body)
}

// The functions of <trace.h>, without posix_trace_.
const standardFunctions = `
	attr_destroy attr_getclockres attr_getcreatetime attr_getgenversion
	attr_getinherited attr_getlogfullpolicy attr_getlogsize attr_getmaxdatasize
	attr_getmaxsystemeventsize attr_getmaxusereventsize attr_getname
	attr_getstreamfullpolicy attr_getstreamsize attr_init attr_setinherited
	attr_setlogfullpolicy attr_setlogsize attr_setmaxdatasize attr_setname
	attr_setstreamfullpolicy attr_setstreamsize clear close create
	create_withlog event eventid_equal eventid_get_name eventid_open
	eventset_add eventset_del eventset_empty eventset_fill eventset_ismember
	eventtypelist_getnext_id eventtypelist_rewind flush get_attr get_filter
	get_status getnext_event open rewind set_filter shutdown start stop
	timedgetnext_event trid_eventid_open trygetnext_event`

// The program in the package documentation compiles and prints the documented output.
func TestDocProgram(t *testing.T) {
	doc := docText(t)
	prog := block(t, doc, "\tpackage main\n")
	want := block(t, doc, "\tposix_trace_start\n")
	dir := t.TempDir()
	src := filepath.Join(dir, "main.go")
	if err := os.WriteFile(src, []byte(prog), 0o666); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "main")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", exe, src).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	got, err := exec.Command(exe).Output()
	if err != nil {
		t.Fatalf("the program: %v", err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("the program prints other output, -doc.go +program:\n%s", d)
	}
}

// The packages import each other as ARCHITECTURE.md says.
func TestPackages(t *testing.T) {
	const top = "github.com/posixtrace/posixtrace/"
	const inner = top + "pkg/posixtrace/internal/"
	const unix = "golang.org/x/sys/unix"
	allowed := map[string]string{
		"event":    "",
		"sys":      unix,
		"chunk":    inner + "event",
		"attr":     "",
		"stream":   inner + "attr " + inner + "event " + inner + "sys " + inner + "chunk",
		"tracelog": inner + "attr " + inner + "event " + inner + "sys " + inner + "chunk",
		"registry": inner + "event " + inner + "sys",
		"hook":     "",
		"loaded":   inner + "sys",
		"owner":    inner + "chunk " + inner + "conn " + inner + "event " + inner + "registry " + inner + "stream " + inner + "sys " + inner + "tracelog",
		"tracee":   inner + "conn " + inner + "event " + inner + "registry " + inner + "stream " + inner + "sys",
		"conn":     inner + "event " + inner + "registry " + inner + "stream " + inner + "sys",
		// The public packages for the commands.
		top + "pkg/posixtrace/tool":       top + "pkg/posixtrace " + inner + "attr " + inner + "hook " + inner + "loaded " + inner + "registry " + inner + "sys",
		top + "pkg/posixtrace/tool/early": "",
	}
	for _, name := range beside {
		allowed[top+"pkg/posixtrace/"+name] = top + "pkg/posixtrace"
	}
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		imports := strings.Fields(line)
		name := strings.TrimPrefix(imports[0], inner)
		for _, imp := range imports[1:] {
			switch ours := strings.HasPrefix(imp, top); {
			case imports[0] == top+"pkg/posixtrace":
				if imp == unix {
					t.Errorf("the public package imports %s; only sys may", imp)
				}
			case (ours || imp == unix) && !slices.Contains(strings.Fields(allowed[name]), imp):
				t.Errorf("%s must not import %s", name, imp)
			}
		}
	}
}

// The folder of the public package shows the families of the standard: the rest is in packages beneath it.
func TestPublicFiles(t *testing.T) {
	const most = 32
	all, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	if len(files) == 0 || len(files) > most {
		t.Errorf("%d files, want at most %d: %q", len(files), most, files)
	}
}

// The packages for other programs add nothing to the commands, nor to a program that uses the public
// package alone.
func TestBesideIsNotImported(t *testing.T) {
	const top = "github.com/posixtrace/posixtrace/"
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, top+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	if n := strings.Count(string(out), "\n"); n < 20 {
		t.Fatalf("only %d packages", n)
	}
	for line := range strings.Lines(string(out)) {
		imports := strings.Fields(line)
		for _, imp := range imports[1:] {
			if name, ok := strings.CutPrefix(imp, top+"pkg/posixtrace/"); ok && slices.Contains(beside, name) {
				t.Errorf("%s must not import %s", imports[0], imp)
			}
		}
	}
}

// docText returns the text of the package documentation in doc.go.
func docText(t *testing.T) string {
	src, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^// ?`).ReplaceAllString(string(src), "")
}

// block returns the indented block that begins with the given line, without the
// indentation.
func block(t *testing.T, doc, first string) string {
	i := strings.Index(doc, first)
	if i < 0 {
		t.Fatalf("doc.go has no block that begins with %q", first)
	}
	var b strings.Builder
	for line := range strings.Lines(doc[i:]) {
		rest, ok := strings.CutPrefix(line, "\t")
		if !ok && line != "\n" {
			break
		}
		if !ok {
			rest = line
		}
		b.WriteString(rest)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
