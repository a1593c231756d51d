package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

// compilers are the C compilers for tests of the header: the chosen one, and with all cases both
// that the header supports.
func compilers() [][]string {
	list := [][]string{ctest.CC()}
	if tracetest.Full() && ctest.Native() {
		list = append(list, []string{"gcc"}, []string{"clang"})
	}
	return list
}

// accepts reports whether a compiler knows a version of the language.
func accepts(cc []string, language, standard string) bool {
	args := append(slices.Clone(cc[1:]), "-std="+standard, "-x", language, "-fsyntax-only", os.DevNull)
	return exec.Command(cc[0], args...).Run() == nil
}

// compile compiles a source file to assembly, which it returns.
func compile(t *testing.T, cc []string, source string, flags ...string) string {
	t.Helper()
	args := append(slices.Clone(cc[1:]), "-I"+ctest.Source, "-S", "-o", "-")
	args = append(append(args, flags...), source)
	cmd := exec.Command(cc[0], args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", cc[0], strings.Join(args, " "), err, &stderr)
	}
	return string(out)
}

// The header compiles without a warning in every version of C and C++, and has each declaration
// of the standard.
func TestHeader(t *testing.T) {
	ctest.Need(t)
	if _, err := os.ReadFile("testdata/prototypes.c"); err != nil { // so that go test sees changes of it
		t.Fatal(err)
	}
	ctest.Library(t)
	modes := [][]string{{"-O2"}, {"-O0"}, {"-O2", "-DPOSIXTRACE_DISABLE"}, {"-O2", "-DPOSIXTRACE_WEAK"}, {"-O0", "-DPOSIXTRACE_WEAK"},
		{"-O2", "-DPOSIXTRACE_NO_INLINE", "-DPOSIXTRACE_NO_SYSCONF"}, {"-O2", "-D_POSIX_C_SOURCE=200112L"},
		{"-O2", "-D_XOPEN_SOURCE=700"}, {"-O2", "-D_GNU_SOURCE"}, {"-O2", "-fvisibility=hidden", "-fPIC"}}
	languages := []struct {
		name      string
		standards []string
		least     int // how many the compiler has to know
	}{
		{"c", []string{"gnu89", "c99", "c11", "c17", "c2x", "c23", "gnu17"}, 5},
		{"c++", []string{"c++98", "c++11", "c++14", "c++17", "c++20", "c++2b", "c++23"}, 5},
	}
	warnings := []string{"-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror"}
	for _, cc := range compilers() {
		tracetest.NeedProgram(t, cc[0])
		for _, l := range languages {
			compiler := cc
			if l.name == "c++" {
				if compiler = ctest.CXXOf(cc[0]); compiler == nil {
					continue // musl has none
				}
				tracetest.NeedProgram(t, compiler[0])
			}
			known := 0
			for i, standard := range l.standards {
				if !accepts(compiler, l.name, standard) {
					continue
				}
				known++
				for j, mode := range modes {
					if !tracetest.Full() && j > 1 && i != 1 {
						continue // a sample: all modes in the second oldest version
					}
					flags := append(append([]string{"-std=" + standard, "-x", l.name}, warnings...), mode...)
					compile(t, compiler, "testdata/prototypes.c", flags...)
				}
			}
			if known < l.least {
				t.Errorf("%s knows %d versions of %s, want %d", compiler[0], known, l.name, l.least)
			}
		}
	}
}

// instruction is a line of assembly that is no label and no directive.
var instruction = regexp.MustCompile(`(?m)^\t[a-z].*$`)

// A disabled trace point is no instruction: the code is that of a function that has none.
func TestDisabledTracePoints(t *testing.T) {
	ctest.Library(t)
	for _, cc := range compilers() {
		for _, o := range []string{"-O1", "-O2", "-Os"} {
			disabled := compile(t, cc, "testdata/points.c", o, "-DPOSIXTRACE_DISABLE")
			none := compile(t, cc, "testdata/points.c", o, "-DPOSIXTRACE_DISABLE", "-DNONE")
			// The compiler may still choose other registers, or a jump if less for one if greater.
			if n := len(instruction.FindAllString(none, -1)); n == 0 || len(instruction.FindAllString(disabled, -1)) != n {
				t.Errorf("%v %s: disabled trace points leave\n%s\nwithout them it is\n%s", cc, o, disabled, none)
			}
			if enabled := compile(t, cc, "testdata/points.c", o); !strings.Contains(enabled, "posix_trace_event") {
				t.Errorf("%v %s: the trace points are not in\n%s", cc, o, enabled)
			}
		}
		// Without optimization there is code, but it needs no library.
		if s := compile(t, cc, "testdata/points.c", "-O0", "-DPOSIXTRACE_DISABLE"); regexp.MustCompile(`(call|bl).*@PLT`).MatchString(s) {
			t.Errorf("%v -O0: a disabled trace point calls another module:\n%s", cc, s)
		}
	}
}

// An inlined trace point looks at the word before it calls the library.
func TestInlineTracePoint(t *testing.T) {
	ctest.Library(t)
	for _, cc := range compilers() {
		inline := compile(t, cc, "testdata/points.c", "-O2")
		call := compile(t, cc, "testdata/points.c", "-O2", "-DPOSIXTRACE_NO_INLINE")
		if !strings.Contains(inline, "posixtrace_hot") || strings.Contains(call, "posixtrace_hot") {
			t.Errorf("%v: inlined:\n%s\ncalled:\n%s", cc, inline, call)
		}
	}
}

// A program with weak references runs where the library is not installed.
func TestWeakReferences(t *testing.T) {
	tracetest.Only(t, !ctest.Sanitized() && !ctest.Static(), "with the shared library")
	lib := ctest.Library(t)
	for _, cxx := range []bool{false, true} {
		if cxx && ctest.CXXOf(ctest.CC()[0]) == nil {
			continue
		}
		for _, o := range []string{"-O0", "-O2", "-O0 -fno-pie -no-pie", "-O2 -fno-pie -no-pie"} {
			t.Run(fmt.Sprintf("c++ %v %s", cxx, o), func(t *testing.T) {
				options := append(strings.Fields(o), "-DPOSIXTRACE_WEAK")
				p := ctest.Program{Sources: []string{"testdata/weak.c"}, CXX: cxx, NoLibrary: true, Flags: slices.Clone(options)}
				if cxx {
					p.Flags = append(p.Flags, "-x", "c++")
				}
				if got := ctest.Run(t, ctest.Build(t, p)); got != "absent 32\n" {
					t.Errorf("without the library: %q", got)
				}
				// Only weak references: the linker records no need for the library.
				p.Flags = append(p.Flags, "-L"+lib, "-Wl,--as-needed")
				p.After = []string{"-lposixtrace"}
				program := ctest.Build(t, p)
				if got := ctest.Run(t, program); got != "absent 32\n" {
					t.Errorf("linked with the library, which is not installed: %q", got)
				}
				// The linker gives the references of a program at a fixed address up, and an emulator
				// would load the library itself.
				if !strings.Contains(o, "no-pie") && ctest.Native() {
					cmd := ctest.Command(t, ctest.TraceDir(t), program)
					cmd.Env = append(cmd.Env, "LD_PRELOAD="+filepath.Join(lib, "libposixtrace.so.1"))
					if out, err := cmd.CombinedOutput(); err != nil || string(out) != "present\n" {
						t.Errorf("with the library preloaded: %q, %v", out, err)
					}
				}
				// Where the library is linked in any case, the same source finds it.
				p.Flags, p.After, p.NoLibrary = append(options, "-Wl,--no-as-needed"), nil, false
				if cxx {
					p.Flags = append(p.Flags, "-x", "c++")
				}
				if got := ctest.Run(t, ctest.Build(t, p)); got != "present\n" {
					t.Errorf("with the library: %q", got)
				}
			})
		}
	}
}

// A program sees the options and limits by the ways that the standard names.
func TestSysconf(t *testing.T) {
	ctest.Run(t, ctest.C(t, "testdata/sysconf.c"))
}
