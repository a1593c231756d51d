package traced

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// plugin builds a shared object that uses the shared library.
func plugin(t testing.TB) string {
	t.Helper()
	return ctest.Build(t, ctest.Program{Sources: []string{"testdata/plugin.c"}, Flags: []string{"-shared", "-fPIC"}})
}

// A plug-in with trace points comes and goes, in a program that has the library from elsewhere: the
// shared one, or a copy of its own.
func TestCopiesOfLibrary(t *testing.T) {
	tracetest.Only(t, !ctest.Static(), "in programs that load plug-ins")
	for _, static := range []bool{false, true} {
		program := ctest.Build(t, ctest.Program{Sources: []string{"testdata/copies.c"}, Static: static, Flags: []string{"-Wno-pedantic", "-ldl"}})
		s := inherited(t)
		cmd := command(t, program, plugin(t))
		if out, err := cmd.Output(); err != nil || string(out) != "1000\n" {
			t.Fatalf("static %v: %v\n%s", static, err, out)
		}
		got := map[string][]int{}
		for _, e := range events(t, s) {
			got[e.name] = append(got[e.name], e.number())
		}
		for _, name := range []string{"program", "plugin"} {
			if len(got[name]) != 500 {
				t.Errorf("static %v: %d events of the %s", static, len(got[name]), name)
			}
			for i, n := range got[name] {
				if n != i%100 {
					t.Errorf("static %v: event %d of the %s is %d", static, i, name, n)
					break
				}
			}
		}
		none(t, s)
	}
}

// Go and C in one program record in one stream, and count their names together.
func TestGoAndCInOneProgram(t *testing.T) {
	ctest.Need(t)
	native(t)
	tracetest.NeedProgram(t, "go")
	lib := ctest.Library(t)
	program := filepath.Join(t.TempDir(), "cgo")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./testdata/cgo")
	build.Env = append(os.Environ(), "CGO_ENABLED=1", "CC="+strings.Join(ctest.CC(), " "), "CGO_CFLAGS=-O2 -I"+ctest.Source,
		"CGO_LDFLAGS=-L"+lib+" -lposixtrace -Wl,-rpath,"+lib)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// A process that inherits no stream has a family of its own.
	out, err := command(t, program, "names").Output()
	if want := fmt.Sprintln(posixtrace.UserEventMax - 1); err != nil || string(out) != want {
		t.Errorf("%v, %s names, want %s", err, out, want)
	}
	for range 3 {
		s := inherited(t)
		if out, err := command(t, program).Output(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		got := map[string][]int{}
		for _, e := range events(t, s) {
			got[e.name] = append(got[e.name], e.number())
		}
		for _, name := range []string{"go", "c 0"} {
			if len(got[name]) != 2000 {
				t.Errorf("%d events of %s", len(got[name]), name)
			}
			for i, n := range got[name] {
				if n != i {
					t.Errorf("event %d of %s is %d", i, name, n)
					break
				}
			}
		}
		none(t, s)
		s.Shutdown()
	}
}
