package conformance

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A known requirement.
type known struct {
	functions, errnos []string
}

var table = flag.Bool("table", false, "print the table of tests")

// languages are the columns of the table of tests, with the tests of each.
var languages = []struct {
	name  string
	tests func(t *testing.T) []string
}{{"Go", testsInGo}, {"C", testsInC}}

func testsInGo(*testing.T) (names []string) {
	for _, r := range requirements {
		names = append(names, r.name)
	}
	return names
}

var testLine = regexp.MustCompile(`(?m)^TEST\(([A-Z]{3})_([0-9]{2})\w*, "([^"]*)"\)`)

// testsInC returns the tests that package libposixtrace/test runs where there is a C compiler.
func testsInC(t *testing.T) (names []string) {
	var files []string
	for _, dir := range []string{"conformance", "test/testdata/conformance"} {
		list, err := filepath.Glob(filepath.Join("../../../libposixtrace", dir, "*.c"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, list...)
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testLine.FindAllStringSubmatch(string(b), -1) {
			names = append(names, strings.TrimSuffix(m[1]+"-"+m[2]+"/"+m[3], "/"))
		}
	}
	return names
}

// TestRequirements checks that every id, and every error number of it, is tested in each language or
// accounted for in CONFORMANCE.md, and that nothing else claims to be one.
func TestRequirements(t *testing.T) {
	list := func(s string) []string {
		if s == "-" {
			return nil
		}
		return strings.Split(s, ",")
	}
	ids := map[string]known{}
	for _, l := range lines(t, "../../../libposixtrace/conformance/requirements.txt") {
		if f := strings.Fields(l); len(f) == 5 && !strings.HasPrefix(l, "#") {
			ids[f[0]] = known{list(f[2]), list(f[3])}
		}
	}
	excused := excuses(t, ids)
	for _, language := range languages {
		t.Run(language.name, func(t *testing.T) {
			checkTested(t, ids, language.tests(t), excused[language.name])
		})
	}
	if *table {
		fmt.Print(tableOf(t, ids))
	}
}

// checkTested compares the names of the tests in a language with the requirements.
func checkTested(t *testing.T, ids map[string]known, names []string, excused map[string]bool) {
	tested := map[string]bool{}
	for _, name := range names {
		id, rest, _ := strings.Cut(name, "/")
		k, ok := ids[id]
		if !ok {
			t.Errorf("%s is no requirement", name)
		}
		tested[id] = true
		for part := range strings.SplitSeq(rest, "/") {
			for word := range strings.SplitSeq(part, ",") {
				switch {
				case errnoName.MatchString(part):
					tested[id+" "+word] = true
					if !slices.Contains(k.errnos, word) {
						t.Errorf("%s: %s is about no %s", name, id, word)
					}
				case strings.HasPrefix(word, "posix_trace_") && k.functions != nil && !slices.Contains(k.functions, word):
					t.Errorf("%s: %s is about %v", name, id, k.functions)
				}
			}
		}
	}
	for id, k := range ids {
		what := []string{id}
		if !excused[id] {
			for _, no := range k.errnos {
				what = append(what, id+" "+no)
			}
		}
		for _, w := range what {
			if !tested[w] && !excused[w] {
				t.Errorf("%s has neither a test nor an entry in CONFORMANCE.md", w)
			}
			if tested[w] && excused[w] {
				t.Errorf("%s has a test and an excuse", w)
			}
		}
	}
}

var errnoName = regexp.MustCompile(`^E[A-Z0-9]{3,}(,E[A-Z0-9]{3,})*$`)

// excuses returns what CONFORMANCE.md accounts for, by language: ids, and error numbers of ids, with
// a blank between the two.
func excuses(t *testing.T, ids map[string]known) map[string]map[string]bool {
	excused := map[string]map[string]bool{"Go": {}, "C": {}}
	row := regexp.MustCompile(`^\| ([A-Z]{3}-[0-9]{2})(?: (E[A-Z0-9]+))? \| (.*) \|$`)
	language := ""
	for _, l := range lines(t, "../../../CONFORMANCE.md") {
		if section, ok := strings.CutPrefix(l, "## "); ok {
			language = strings.TrimPrefix(section, "What does not exist in ")
		}
		m := row.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		k, ok := ids[m[1]]
		if !ok || m[2] != "" && !slices.Contains(k.errnos, m[2]) {
			t.Errorf("CONFORMANCE.md accounts for %s %s, which is no requirement", m[1], m[2])
		}
		if len(m[3]) < 20 {
			t.Errorf("CONFORMANCE.md does not say why there is no %s %s", m[1], m[2])
		}
		if excused[language] == nil {
			t.Fatalf("CONFORMANCE.md accounts for %s under %q", m[1], language)
		}
		excused[language][strings.TrimSpace(m[1]+" "+m[2])] = true
	}
	return excused
}

// tableOf is the table of the tests of each requirement, a column for each language.
func tableOf(t *testing.T, ids map[string]known) string {
	var columns []map[string][]string
	numbers, names, rule := fmt.Sprintf("%d requirements", len(ids)), "| id |", "|---|"
	for _, language := range languages {
		byID := map[string][]string{}
		tests := language.tests(t)
		for _, name := range tests {
			id, what, _ := strings.Cut(name, "/")
			if what == "" {
				what = "as a whole"
			}
			byID[id] = append(byID[id], strings.ReplaceAll(what, ",", ", "))
		}
		columns = append(columns, byID)
		numbers += fmt.Sprintf("; in %s %d of them have %d tests", language.name, len(byID), len(tests))
		names += " " + language.name + " |"
		rule += "---|"
	}
	table := numbers + ".\n\n" + names + "\n" + rule + "\n"
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		table += "| " + id + " |"
		for _, byID := range columns {
			table += " " + cmp.Or(strings.Join(byID[id], "; "), "does not exist") + " |"
		}
		table += "\n"
	}
	return table
}

func lines(t *testing.T, path string) (ls []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		ls = append(ls, s.Text())
	}
	return ls
}
