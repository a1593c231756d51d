package tracer

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// The tables are what their generator makes of golang.org/x/sys.
func TestNamesAreGenerated(t *testing.T) {
	if out, err := exec.Command("go", "run", "gen_names.go", "-check").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func TestCallsOf(t *testing.T) {
	if nrs := CallsOf("openat"); len(nrs) != 1 || nrs[0] != unix.SYS_OPENAT {
		t.Errorf("openat is %v", nrs)
	}
	if nrs := CallsOf("*at"); len(nrs) < 10 {
		t.Errorf("*at is %v", nrs)
	}
	if nrs := CallsOf("nosuch"); len(nrs) != 0 {
		t.Errorf("nosuch is %v", nrs)
	}
}

// Every call whose arguments are known exists, and a table of flags is there for each kind.
func TestSpecs(t *testing.T) {
	known := 0
	for nr := range names {
		for _, k := range spec(nr) {
			if k >= kFlags && int(k-kFlags) >= len(flagTables) {
				t.Errorf("%s has an argument of kind %d", names[nr], k)
			}
		}
		if specs()[nr] != nil {
			known++
		}
	}
	if known < 100 {
		t.Errorf("the arguments of only %d calls are known", known)
	}
	for name, kinds := range calls() {
		if len(kinds) > 6 {
			t.Errorf("%s has %d arguments", name, len(kinds))
		}
	}
}
