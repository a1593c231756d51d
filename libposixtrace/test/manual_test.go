package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

// pages returns the text of the manual pages of section 3, by name. links maps each alias page (.so)
// to its target.
func pages(t *testing.T) (text, links map[string]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(ctest.Root, "man", "*.3"))
	if err != nil || len(files) == 0 {
		t.Fatal("no pages", err)
	}
	text, links = map[string]string{}, map[string]string{}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".3")
		if to, is := strings.CutPrefix(string(b), ".so man3/"); is {
			links[name] = strings.TrimSuffix(to, ".3\n")
		} else {
			text[name] = string(b)
		}
	}
	return text, links
}

// Each function of the header has a page, which names it and shows its prototype, and each link
// leads to a page that names it.
func TestManualNames(t *testing.T) {
	text, links := pages(t)
	names := map[string][]string{} // the names in the NAME of a page
	for page, s := range text {
		_, s, _ = strings.Cut(s, ".Sh NAME\n")
		s, _, _ = strings.Cut(s, "\n.Nd ")
		for _, m := range regexp.MustCompile(`(?m)^\.Nm (\S+)`).FindAllStringSubmatch(s, -1) {
			names[m[1]] = append(names[m[1]], page)
			if m[1] != page && links[m[1]] != page {
				t.Errorf("%s.3 names %s, which has no link to it", page, m[1])
			}
		}
		if len(names[page]) == 0 {
			t.Errorf("%s.3 does not have its own name", page)
		}
	}
	for name, page := range links {
		if text[page] == "" || len(names[name]) == 0 {
			t.Errorf("%s.3 leads to %s.3, which does not name it", name, page)
		}
	}
	declared := prototypes(t)
	if len(declared) < 50 {
		t.Errorf("the header declares %d functions", len(declared))
	}
	for name, want := range declared {
		page := name
		if to := links[name]; to != "" {
			page = to
		}
		if got := synopsis(text[page])[name]; got != want {
			t.Errorf("%s.3 shows %s as %q; the header has %q", page, name, got, want)
		}
	}
}

// prototypes returns the result and parameter types of the standard's functions in the header.
func prototypes(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(ctest.Source, "trace.h"))
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(int|void) (posix_trace_\w+)\(([^)]*)\)[^;{]*;`).FindAllStringSubmatch(string(b), -1) {
		list[m[2]] = m[1] + " (" + plain(strings.Split(m[3], ",")) + ")"
	}
	return list
}

// synopsis returns the same of the functions in a page.
func synopsis(page string) map[string]string {
	_, page, _ = strings.Cut(page, ".Sh SYNOPSIS\n")
	page, _, _ = strings.Cut(page, ".Sh ")
	page = regexp.MustCompile(`(?s)\.Fo (\w+)\n(.*?)\.Fc\n`).ReplaceAllStringFunc(page, func(s string) string {
		s = strings.NewReplacer(".Fo", ".Fn", "\n.Fa", "", "\n.Fc", "").Replace(s)
		return s
	})
	list, result := map[string]string{}, ""
	parameter := regexp.MustCompile(`"([^"]*?)\w+"`) // without its name
	for line := range strings.Lines(page) {
		if ft, is := strings.CutPrefix(line, ".Ft "); is {
			result = strings.TrimSpace(ft)
		}
		if fn, is := strings.CutPrefix(line, ".Fn "); is {
			name, rest, _ := strings.Cut(fn, " ")
			var types []string
			for _, m := range parameter.FindAllStringSubmatch(rest, -1) {
				types = append(types, m[1])
			}
			list[name] = result + " (" + plain(types) + ")"
		}
	}
	return list
}

// plain joins types without qualifiers of pointers and spaces that mean nothing.
func plain(types []string) string {
	for i, s := range types {
		s = strings.ReplaceAll(s, "__posixtrace_restrict", "")
		types[i] = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "* ", "*")
	}
	return strings.Join(types, ", ")
}

// session is the EXAMPLES of a page.
type session struct {
	files map[string]string
	steps []step
}

// step is a command of a session and what it prints.
type step struct {
	line          int
	command, want string
}

// readSession reads the EXAMPLES of a page: the comment `.\" example: NAME` names the file in the
// next display, and in other displays commands follow a prompt.
func readSession(page string) session {
	s := session{files: map[string]string{}}
	inside, display, file := false, false, ""
	unescape := strings.NewReplacer(`\e`, `\`, `\&`, "", `\-`, "-")
	for i, l := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(l, ".Sh "):
			inside = l == ".Sh EXAMPLES"
		case !inside:
		case strings.HasPrefix(l, `.\" example: `):
			file = strings.TrimPrefix(l, `.\" example: `)
		case strings.HasPrefix(l, ".Bd -literal"):
			display = true
		case l == ".Ed":
			display, file = false, ""
		case !display:
		case file != "":
			s.files[file] += unescape.Replace(l) + "\n"
		case strings.HasPrefix(l, "$ "):
			s.steps = append(s.steps, step{line: i + 1, command: unescape.Replace(l[2:])})
		case len(s.steps) > 0:
			s.steps[len(s.steps)-1].want += unescape.Replace(l) + "\n"
		}
	}
	return s
}

// Every program of every page compiles without warnings.
func TestManualPrograms(t *testing.T) {
	ctest.Need(t)
	text, _ := pages(t)
	for page, s := range text {
		for name, program := range readSession(s).files {
			if !strings.HasSuffix(name, ".c") {
				continue
			}
			for _, level := range []string{"-O0", "-O2"} {
				args := append(ctest.CC()[1:], level, "-std=c99", "-D_POSIX_C_SOURCE=200809L", "-pedantic", "-Wall", "-Wextra", "-Wconversion",
					"-Werror", "-I"+ctest.Source, "-S", "-o", os.DevNull, "-x", "c", "-")
				cmd := exec.CommandContext(t.Context(), ctest.CC()[0], args...)
				cmd.Stdin = strings.NewReader(program)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s of %s.3: %v\n%s", name, page, err, out)
				}
			}
		}
	}
}
