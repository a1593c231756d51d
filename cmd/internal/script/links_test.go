package script_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/ctl"
	"github.com/posixtrace/posixtrace/cmd/internal/diff"
	"github.com/posixtrace/posixtrace/cmd/internal/dump"
	"github.com/posixtrace/posixtrace/cmd/internal/export"
	"github.com/posixtrace/posixtrace/cmd/internal/filter"
	"github.com/posixtrace/posixtrace/cmd/internal/run"
)

// Linked packages cost time at each start, and a script starts ptrace-event for each event.
// So only the programs that print tables, and ptrace-export, link tables and the library that draws them.
//
// scripts/bench measures the time.
func TestLinks(t *testing.T) {
	const draws = "github.com/posixtrace/posixtrace/cmd/internal/format/output"
	const page = "github.com/posixtrace/posixtrace/cmd/internal/format/report/page"
	const unpacks = "github.com/posixtrace/posixtrace/cmd/internal/read/openlog"
	tables := []*cli.Command{run.Command, ctl.Command, dump.Command, diff.Command, export.Command}
	for _, c := range commands {
		out, err := exec.Command("go", "list", "-deps", "../../"+c.Name).Output()
		if err != nil {
			t.Fatal(c.Name, err)
		}
		deps := strings.Fields(string(out))
		want := slices.Contains(tables, c)
		if got := slices.Contains(deps, draws); got != want {
			t.Errorf("%s imports %s: %v, want %v", c.Name, draws, got, want)
		}
		if reads := []*cli.Command{dump.Command, diff.Command, export.Command, filter.Command}; slices.Contains(deps, unpacks) != slices.Contains(reads, c) {
			t.Errorf("%s links %s: %v", c.Name, unpacks, slices.Contains(deps, unpacks))
		}
		if slices.Contains(deps, page) && c != run.Command && c != dump.Command && c != diff.Command {
			t.Errorf("%s links the page of reports", c.Name)
		}
		for _, d := range deps {
			switch {
			case c == export.Command: // formats and sending need more; no script starts it for each event
			case strings.Contains(d, "tablewriter") && !want,
				d == "crypto/rand" && !slices.Contains(deps, unpacks), // forty packages, as much as the decompression: half a millisecond
				d == "crypto/sha256", d == "html/template",
				strings.HasPrefix(d, "net/http"):
				t.Errorf("%s links %s", c.Name, d)
			}
		}
	}
}

// No package imports that of a command, and one package alone imports each library of the command line.
func TestPackages(t *testing.T) {
	const internal = "github.com/posixtrace/posixtrace/cmd/internal/"
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	doors := map[string]string{"urfave/cli": "cli", "fatih/color": "cli", "smetrics": "cli", "tablewriter": "format/output", "demangle": "read/symbols", "klauspost": "read/openlog"}
	for line := range strings.Lines(string(out)) {
		imports := strings.Fields(line)
		name := strings.TrimPrefix(imports[0], internal)
		for _, path := range imports[1:] {
			other, _ := strings.CutPrefix(path, internal)
			if slices.ContainsFunc(commands, func(c *cli.Command) bool { return c.Name == "ptrace-"+other }) {
				t.Errorf("%s imports the command's package %s", name, other)
			}
			for library, door := range doors {
				if strings.Contains(path, library) && name != door {
					t.Errorf("%s imports %s, which is for %s", name, path, door)
				}
			}
		}
	}
}
