package conformance

import (
	"bufio"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A known requirement.
type known struct {
	functions, errnos []string
}

var update = flag.Bool("update", false, "write the table of tests in CONFORMANCE.md")

// TestRequirements checks that every id, and every error number of it, is tested or
// accounted for in CONFORMANCE.md, and that nothing else claims to be one.
func TestRequirements(t *testing.T) {
	list := func(s string) []string {
		if s == "-" {
			return nil
		}
		return strings.Split(s, ",")
	}
	ids := map[string]known{}
	for _, l := range lines(t, "../../../testdata/requirements.txt") {
		if f := strings.Fields(l); len(f) == 4 && !strings.HasPrefix(l, "#") {
			ids[f[0]] = known{list(f[2]), list(f[3])}
		}
	}
	excused := excuses(t, ids)
	tested := map[string]bool{}
	for _, r := range requirements {
		id, rest, _ := strings.Cut(r.name, "/")
		k, ok := ids[id]
		if !ok {
			t.Errorf("%s is no requirement", r.name)
		}
		tested[id] = true
		for part := range strings.SplitSeq(rest, "/") {
			switch {
			case errnoName.MatchString(part):
				for no := range strings.SplitSeq(part, ",") {
					tested[id+" "+no] = true
					if !slices.Contains(k.errnos, no) {
						t.Errorf("%s: %s is about no %s", r.name, id, no)
					}
				}
			case strings.HasPrefix(part, "posix_trace_") && k.functions != nil && !slices.Contains(k.functions, part):
				t.Errorf("%s: %s is about %v", r.name, id, k.functions)
			}
		}
	}
	checkTable(t)
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

// excuses returns what CONFORMANCE.md accounts for: ids, and error numbers of ids, with
// a blank between the two.
func excuses(t *testing.T, ids map[string]known) map[string]bool {
	excused := map[string]bool{}
	// They stand before the table of tests, which has rows of the same form.
	row := regexp.MustCompile(`^\| ([A-Z]{3}-[0-9]{2})(?: (E[A-Z0-9]+))? \| (.*) \|$`)
	for _, l := range lines(t, "../../../CONFORMANCE.md") {
		if l+"\n" == tableMark {
			break
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
		excused[strings.TrimSpace(m[1]+" "+m[2])] = true
	}
	return excused
}

const tableMark = "<!-- from here on written by: go test ./pkg/posixtrace/conformance -run TestRequirements -update -->\n"

// checkTable compares the table of tests in CONFORMANCE.md with the tests.
func checkTable(t *testing.T) {
	const path = "../../../CONFORMANCE.md"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, have, ok := strings.Cut(string(b), tableMark)
	if !ok {
		t.Fatalf("%s has no line %q", path, tableMark)
	}
	byID := map[string][]string{}
	for _, r := range requirements {
		id, what, _ := strings.Cut(r.name, "/")
		if what == "" {
			what = "as a whole"
		}
		byID[id] = append(byID[id], what)
	}
	want := fmt.Sprintf("\n%d requirements, %d tests.\n\n| id | tests |\n|---|---|\n", len(byID), len(requirements))
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		want += fmt.Sprintf("| %s | %s |\n", id, strings.Join(byID[id], "; "))
	}
	if have == want {
		return
	}
	if !*update {
		t.Errorf("the table in %s is out of date; -update writes it", path)
		return
	}
	if err := os.WriteFile(path, []byte(head+tableMark+want), 0o666); err != nil {
		t.Fatal(err)
	}
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
