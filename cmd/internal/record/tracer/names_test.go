package tracer

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// The tables are what gen_names.go generates from golang.org/x/sys.
func TestNamesAreGenerated(t *testing.T) {
	if out, err := exec.Command("go", "run", "gen_names.go", "-check").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func TestCallsOf(t *testing.T) {
	if nrs := CallsOf("openat"); len(nrs) != 1 || nrs[0] != unix.SYS_OPENAT {
		t.Errorf("CallsOf(openat) = %v, want its number", nrs)
	}
	if nrs := CallsOf("*at"); len(nrs) < 10 {
		t.Errorf("CallsOf(*at) = %v, want at least 10 numbers", nrs)
	}
	if nrs := CallsOf("nosuch"); len(nrs) != 0 {
		t.Errorf("CallsOf(nosuch) = %v, want none", nrs)
	}
}

// The table of arguments is consistent: each flag kind has a table of flags, and each call one
// row with six arguments at most.
func TestSpecsAreConsistent(t *testing.T) {
	known := 0
	for nr := range names {
		for _, k := range spec(nr) {
			if k >= kFlags && int(k-kFlags) >= len(flagTables) {
				t.Errorf("%s has an argument of the unknown kind %d", names[nr], k)
			}
		}
		if specs()[nr] != nil {
			known++
		}
	}
	if known < 100 {
		t.Errorf("the arguments of only %d calls are known", known)
	}
	seen := map[string]bool{}
	for _, c := range calls {
		if len(c.args) > 6 || seen[c.name] {
			t.Errorf("%s has %d arguments, or two rows", c.name, len(c.args))
		}
		seen[c.name] = true
	}
}
