package script_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/ctl"
	"github.com/posixtrace/posixtrace/cmd/internal/dump"
	"github.com/posixtrace/posixtrace/cmd/internal/run"
)

// What a program links costs at each start, and ptrace-event is started for
// every event of a script. So tables, and the library that draws them, are in the
// programs that print tables and in no other.
//
// The timing itself is in scripts/bench.
func TestLinks(t *testing.T) {
	const draws = "github.com/posixtrace/posixtrace/cmd/internal/table"
	tables := []*cli.Command{run.Command, ctl.Command, dump.Command}
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
		for _, d := range deps {
			switch {
			case strings.Contains(d, "tablewriter") && !want,
				d == "crypto/rand", // forty packages
				strings.HasPrefix(d, "net/http"):
				t.Errorf("%s links %s", c.Name, d)
			}
		}
	}
}
