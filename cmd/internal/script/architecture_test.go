package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The list of packages in ARCHITECTURE.md has each package once, and a package imports only packages
// on lines below its own.
func TestArchitectureListsPackages(t *testing.T) {
	const module = "github.com/posixtrace/posixtrace/"
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\n## Packages\n")
	_, list, _ = strings.Cut(list, "\n```\n")
	list, _, _ = strings.Cut(list, "```\n")
	group := regexp.MustCompile(`^(.*)\{(.*)\}(.*)$`)
	at := map[string]int{}
	n := 0
	for line := range strings.Lines(list) {
		n++
		name := strings.Fields(line)[0]
		names := []string{name}
		if m := group.FindStringSubmatch(name); m != nil {
			names = names[:0]
			for part := range strings.SplitSeq(m[2], ",") {
				names = append(names, m[1]+part+m[3])
			}
		}
		for _, name := range names {
			if strings.HasPrefix(name, "internal/") {
				name = "pkg/posixtrace/" + name
			}
			if at[name] != 0 {
				t.Errorf("%s is listed twice", name)
			}
			at[name] = n
		}
	}
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"cmd/internal/...", module+"pkg/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{"cmd/ptrace-*": true}
	for line := range strings.Lines(string(out)) {
		imports := strings.Fields(strings.ReplaceAll(line, module, ""))
		name := imports[0]
		exists[name] = true
		if at[name] == 0 {
			t.Errorf("%s is not listed", name)
			continue
		}
		for _, other := range imports[1:] {
			if line := at[other]; line != 0 && line <= at[name] {
				t.Errorf("%s imports %s, which is not on a line below", name, other)
			}
		}
	}
	for name := range at {
		if !exists[name] {
			t.Errorf("%s is listed and does not exist", name)
		}
	}
}
