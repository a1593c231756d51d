package posixtrace

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

// TestRequirements checks that every id is tested, or accounted for in
// CONFORMANCE.md, and that nothing else claims to be one.
func TestRequirements(t *testing.T) {
	known := map[string]bool{}
	for _, l := range lines(t, "../../testdata/requirements.txt") {
		if f := strings.Fields(l); len(f) == 4 && !strings.HasPrefix(l, "#") {
			known[f[0]] = true
		}
	}
	excused := map[string]bool{}
	// The excuses stand before the table of tests, which has rows of the same form.
	row := regexp.MustCompile(`^\| ([A-Z]{3}-[0-9]{2}) \|`)
	for _, l := range lines(t, "../../CONFORMANCE.md") {
		if l+"\n" == tableMark {
			break
		}
		if m := row.FindStringSubmatch(l); m != nil {
			excused[m[1]] = true
			if !known[m[1]] {
				t.Errorf("CONFORMANCE.md accounts for %s, which is no requirement", m[1])
			}
		}
	}
	tested := map[string]bool{}
	for _, r := range requirements {
		id, _, _ := strings.Cut(r.name, "/")
		tested[id] = true
		if !known[id] {
			t.Errorf("%s is no requirement", r.name)
		}
	}
	checkTable(t)
	for id := range known {
		if !tested[id] && !excused[id] {
			t.Errorf("%s has neither a test nor an entry in CONFORMANCE.md", id)
		}
		if tested[id] && excused[id] {
			t.Errorf("%s has a test and an excuse", id)
		}
	}
}

const tableMark = "<!-- from here on written by: go test ./pkg/posixtrace -run TestRequirements -update -->\n"

// checkTable compares the table of tests in CONFORMANCE.md with the tests.
func checkTable(t *testing.T) {
	const path = "../../CONFORMANCE.md"
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
	if f := flag.Lookup("update"); f == nil || f.Value.String() != "true" {
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
