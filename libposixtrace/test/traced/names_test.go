package traced

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func init() {
	tracetest.Helpers["register"] = func(args []string) {
		for i := range sharedNames {
			id, err := posixtrace.OpenEventID(fmt.Sprintf("shared %d", i*7%sharedNames))
			fmt.Printf("%d %d %v\n", i*7%sharedNames, id, err)
			own, err := posixtrace.OpenEventID(fmt.Sprintf("own %s %d", args[0], i))
			tracetest.Check(err == nil && own != id, "own name: %v", err)
		}
	}
}

const sharedNames = 60

// Processes of one family, in Go and in C, register the same names at once, in another order each,
// and names of their own. They agree on every number.
func TestNamesAgreeAcrossLanguages(t *testing.T) {
	program := ctest.C(t, "testdata/names.c")
	s := inherited(t)
	id, err := posixtrace.OpenEventID("the family's first")
	if err != nil {
		t.Fatal(err)
	}
	const each = 6
	var wg sync.WaitGroup
	outs := make([]string, 2*each)
	for i := range outs {
		cmd := command(t, program, fmt.Sprint(sharedNames), fmt.Sprint(i))
		if i%2 == 0 {
			cmd = exec.Command(os.Args[0], fmt.Sprint(i))
			cmd.Env = append(os.Environ(), tracetest.HelperVar+"=register")
		}
		wg.Go(func() {
			out, err := cmd.Output()
			outs[i] = string(out)
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	ids := map[string]string{}
	used := map[string]string{fmt.Sprint(id): "first"}
	for i, out := range outs {
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if len(lines) != sharedNames {
			t.Errorf("process %d: %d lines", i, len(lines))
		}
		for _, line := range lines {
			f := strings.Fields(line)
			if len(f) != 3 || f[2] != "<nil>" {
				t.Fatalf("process %d says %q", i, line)
			}
			if ids[f[0]] == "" {
				ids[f[0]] = f[1]
			}
			if ids[f[0]] != f[1] {
				t.Errorf("process %d: name %s is %s, elsewhere %s", i, f[0], f[1], ids[f[0]])
			}
			if other := used[f[1]]; other != "" && other != f[0] {
				t.Errorf("id %s is of names %s and %s", f[1], f[0], other)
			}
			used[f[1]] = f[0]
		}
	}
	for n, id := range ids {
		var v int
		fmt.Sscan(id, &v)
		if name, err := s.EventName(posixtrace.EventID(v)); err != nil || name != "shared "+n {
			t.Errorf("type %s is %q, %v", id, name, err)
		}
	}
}
