package test

import (
	"debug/elf"
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

func open(t *testing.T, path string) *elf.File {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// declared are the names that trace.h declares and the library has: the other functions are inline.
func declared(t *testing.T) []string {
	t.Helper()
	header, err := os.ReadFile(filepath.Join(ctest.Source, "trace.h"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"posixtrace_hot"}
	for _, m := range regexp.MustCompile(`\b(posix_trace_[a-z_]+|posixtrace_event|posixtrace_eventid_open)\(`).FindAllStringSubmatch(string(header), -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// The library exports the functions of the standard, and nothing but what the header declares.
func TestExportedSymbols(t *testing.T) {
	f := open(t, filepath.Join(ctest.Library(t), "libposixtrace.so.1"))
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF || elf.ST_TYPE(s.Info) == elf.STT_SECTION || s.Name == "POSIXTRACE_1" {
			continue
		}
		have = append(have, s.Name)
		if s.Version != "POSIXTRACE_1" {
			t.Errorf("%s has version %q", s.Name, s.Version)
		}
	}
	slices.Sort(have)
	if want := declared(t); !slices.Equal(have, want) {
		t.Errorf("the library exports %v, the header declares %v", have, want)
	}
}

// A program finds the library by a name that stays, and the library needs the C library alone. It
// is bound when it is loaded, stays loaded, and has no code that the dynamic linker changes.
func TestSharedLibrary(t *testing.T) {
	f := open(t, filepath.Join(ctest.Library(t), "libposixtrace.so.1"))
	if name, err := f.DynString(elf.DT_SONAME); err != nil || len(name) != 1 || name[0] != "libposixtrace.so.1" {
		t.Errorf("the soname is %v, %v", name, err)
	}
	needed, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range needed {
		if !regexp.MustCompile(`^(libc\.so(\.6)?|ld-linux.*)$`).MatchString(name) {
			t.Errorf("the library needs %s", name)
		}
	}
	if v, _ := f.DynValue(elf.DT_TEXTREL); len(v) > 0 {
		t.Error("the library has text relocations")
	}
	flags, err := f.DynValue(elf.DT_FLAGS_1)
	if err != nil || len(flags) != 1 || elf.DynFlag1(flags[0])&elf.DF_1_NOW == 0 || elf.DynFlag1(flags[0])&elf.DF_1_NODELETE == 0 {
		t.Errorf("flags %v, %v; want now and nodelete", flags, err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_GNU_STACK && p.Flags&elf.PF_X != 0 {
			t.Error("the stack is executable")
		}
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && p.Flags&elf.PF_W != 0 {
			t.Error("memory is writable and executable")
		}
	}
	if len(f.Progs) == 0 {
		t.Error("no program headers")
	}
}

// The library calls nothing that allocates, starts threads or handles signals, and reads its
// threads' words without a function that may allocate them.
func TestImportedSymbols(t *testing.T) {
	f := open(t, filepath.Join(ctest.Library(t), "libposixtrace.so.1"))
	symbols, err := f.ImportedSymbols()
	if err != nil {
		t.Fatal(err)
	}
	forbidden := regexp.MustCompile(`^(malloc|calloc|realloc|free|posix_memalign|aligned_alloc|mmap|.*printf|f?puts|fopen|pthread_create|` +
		`pthread_mutex_.*|sigaction|signal|sigprocmask|fork|exec.*|exit|abort|__tls_get_addr|dlopen|setenv|putenv)$`)
	for _, s := range symbols {
		if s.Name == "__tls_get_addr" && ctest.Musl() {
			continue // musl has given each thread that memory when it loaded the library
		}
		if forbidden.MatchString(s.Name) {
			t.Errorf("the library calls %s", s.Name)
		}
	}
	if len(symbols) == 0 {
		t.Error("no imported symbols: the test sees nothing")
	}
}

const attrProgram = `
#include <trace.h>
int main(void)
{
	trace_attr_t a;
	return posix_trace_attr_init(&a) || posix_trace_attr_destroy(&a);
}
`

// A program links with the static library, and with everything static.
func TestStaticLibrary(t *testing.T) {
	tracetest.Only(t, !ctest.Sanitized() && !ctest.Static(), "in programs that choose how to link")
	for _, flags := range [][]string{nil, {"-static"}, {"-static-pie"}, {"-fno-pie", "-no-pie"}} {
		if slices.Contains(flags, "-static-pie") && !linksStaticPIE(t) {
			continue
		}
		program := ctest.Build(t, ctest.Program{Text: attrProgram, Static: true, Flags: flags})
		ctest.Run(t, program)
		needed, err := open(t, program).ImportedLibraries()
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(needed, "libposixtrace.so.1") {
			t.Errorf("%v: the program needs %v", flags, needed)
		}
		// The program uses attributes only, and yet a child of its fork has to be noticed.
		symbols, err := open(t, program).Symbols()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range declared(t) {
			if !slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == name }) {
				t.Errorf("%v: the program lacks %s", flags, name)
			}
		}
	}
}

// linksStaticPIE reports whether the C library has what -static-pie needs: on Debian, musl's has not.
func linksStaticPIE(t *testing.T) bool {
	cc := ctest.CC()
	cmd := exec.Command(cc[0], append(slices.Clone(cc[1:]), "-static-pie", "-x", "c", "-", "-o", filepath.Join(t.TempDir(), "a"))...)
	cmd.Stdin = strings.NewReader("int main(void) { return 0; }")
	return cmd.Run() == nil
}

// installed installs the library as a package does, below a directory of its own, and returns that
// directory and the library directory in it.
func installed(t *testing.T) (root, libdir string) {
	t.Helper()
	ctest.Library(t)
	root = t.TempDir()
	libdir = "/opt/pt/lib/some-triplet"
	cmd := exec.Command("make", "-s", "-C", ctest.Source, "install", "BUILD="+filepath.Join(t.TempDir(), "build"), "DESTDIR="+root,
		"PREFIX=/opt/pt", "libdir="+libdir, "CC="+strings.Join(ctest.CC(), " "), "CFLAGS=-O1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make install: %v\n%s", err, out)
	}
	return root, libdir
}

// The command line of the manual compiles a program, wherever the library is installed.
func TestPkgConfig(t *testing.T) {
	tracetest.NeedProgram(t, "pkg-config")
	root, libdir := installed(t)
	config := func(args ...string) []string {
		cmd := exec.Command("pkg-config", append(args, "posixtrace")...)
		cmd.Env = append(os.Environ(), "PKG_CONFIG_PATH="+root+libdir+"/pkgconfig", "PKG_CONFIG_SYSROOT_DIR="+root)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("pkg-config: %v\n%s", err, out)
		}
		return strings.Fields(string(out))
	}
	if got := config("--cflags", "--libs"); !slices.Equal(got, []string{"-I" + root + "/opt/pt/include", "-L" + root + libdir, "-lposixtrace"}) {
		t.Errorf("flags %v", got)
	}
	if v := config("--modversion"); len(v) != 1 || v[0] != "0.1.0" {
		t.Errorf("version %v", v)
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "app.c")
	if err := os.WriteFile(source, []byte(attrProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	cc := ctest.CC()
	for i, flags := range [][]string{config("--cflags", "--libs"), append(config("--cflags", "--libs", "--static"), "-static")} {
		app := filepath.Join(dir, "app")
		args := append(append(slices.Clone(cc[1:]), "-o", app, source), flags...)
		if out, err := exec.Command(cc[0], args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", cc[0], args, err, out)
		}
		cmd := ctest.Command(t, ctest.TraceDir(t), app)
		if i == 0 {
			if !ctest.Native() {
				continue
			}
			cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+root+libdir)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", flags, err, out)
		}
	}
}

// A project finds the library by CMake, shared and static.
func TestCMake(t *testing.T) {
	tracetest.NeedProgram(t, "cmake")
	tracetest.Only(t, ctest.Native() && len(ctest.CC()) == 1, "with a compiler for this machine")
	root, libdir := installed(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"app.c": attrProgram,
		"CMakeLists.txt": `cmake_minimum_required(VERSION 3.10)
project(app C)
find_package(posixtrace 0.1 REQUIRED)
add_executable(shared app.c)
target_link_libraries(shared posixtrace::posixtrace)
add_executable(static app.c)
target_link_libraries(static posixtrace::static)
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := filepath.Join(dir, "build")
	for _, args := range [][]string{
		{"-S", dir, "-B", build, "-DCMAKE_C_COMPILER=" + ctest.CC()[0], "-Dposixtrace_DIR=" + root + libdir + "/cmake/posixtrace"},
		{"--build", build},
	} {
		if out, err := exec.Command("cmake", args...).CombinedOutput(); err != nil {
			t.Fatalf("cmake %v: %v\n%s", args, err, out)
		}
	}
	for _, name := range []string{"shared", "static"} {
		ctest.Run(t, filepath.Join(build, name))
	}
	// Another version is not the one asked for.
	lists := "find_package(posixtrace 2.0 REQUIRED)\n"
	if err := os.WriteFile(filepath.Join(dir, "CMakeLists.txt"), []byte("cmake_minimum_required(VERSION 3.10)\nproject(app C)\n"+lists), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("cmake", "-S", dir, "-B", filepath.Join(dir, "later"), "-Dposixtrace_DIR="+root+libdir+"/cmake/posixtrace")
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("version 2.0 was found:\n%s", out)
	}
}

// What is installed is what a program needs, and none of the library's own headers.
func TestInstalledFiles(t *testing.T) {
	root, libdir := installed(t)
	var files []string
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, strings.TrimPrefix(path, root))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/opt/pt/include/trace.h", libdir + "/cmake/posixtrace/posixtrace-config-version.cmake",
		libdir + "/cmake/posixtrace/posixtrace-config.cmake", libdir + "/libposixtrace.a", libdir + "/libposixtrace.so",
		libdir + "/libposixtrace.so.1", libdir + "/pkgconfig/posixtrace.pc"}
	if slices.Sort(files); !slices.Equal(files, want) {
		t.Errorf("installed %v, want %v", files, want)
	}
}
