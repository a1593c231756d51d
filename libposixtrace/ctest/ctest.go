// Package ctest builds the C library, its agent and C programs, for tests. Only tests import it.
//
// The environment of the tests chooses the compiler: POSIXTRACE_CC (cc), POSIXTRACE_CXX,
// POSIXTRACE_CFLAGS (-O2 -g), POSIXTRACE_EMULATOR (a command that runs the programs of another
// architecture). With POSIXTRACE_SANITIZE, all programs have sanitizers; with POSIXTRACE_STATIC,
// all are linked statically. POSIXTRACE_CTEST names a directory for the library and the agent, so
// that the tests of several packages build them once.
package ctest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// Root is the directory of the project, Source that of the library.
var (
	Root   = root()
	Source = filepath.Join(Root, "libposixtrace")
)

func root() string {
	_, self, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(self)))
}

// Program is a C program to build.
type Program struct {
	// Sources are the files, relative to the directory of the test.
	Sources []string
	// Text is the program itself, in place of Sources.
	Text string
	// Flags are added to the compiler's command line before the sources, After behind the library.
	Flags, After []string
	// NoLibrary does not link the library.
	NoLibrary bool
	// CXX compiles C++.
	CXX bool
	// Static links libposixtrace.a. Such a program can also use the library's internal functions.
	Static bool
	// Sanitize checks the program and the library by AddressSanitizer and UndefinedBehaviorSanitizer.
	Sanitize bool
	// LibFlags are added to the compiler's command line for the library, which is then a separate one.
	LibFlags []string
}

// sanitizers stop a program at the first fault.
var sanitizers = []string{"-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"}

// CC returns the command of the C compiler.
func CC() []string { return words("POSIXTRACE_CC", "cc") }

// CXX returns the command of the C++ compiler that belongs to CC; nil if there is none.
func CXX() []string { return CXXOf(CC()[0]) }

// CXXOf returns the command of the C++ compiler that belongs to a C compiler; nil if there is none.
func CXXOf(cc string) []string {
	switch {
	case os.Getenv("POSIXTRACE_CXX") != "":
		return words("POSIXTRACE_CXX", "")
	case strings.Contains(cc, "musl"):
		return nil
	case strings.HasPrefix(cc, "clang"):
		return []string{strings.Replace(cc, "clang", "clang++", 1)}
	case cc == "gcc" || strings.HasSuffix(cc, "-gcc"):
		return []string{strings.TrimSuffix(cc, "gcc") + "g++"}
	}
	return []string{"c++"}
}

// CFlags returns the flags for everything that is compiled.
func CFlags() []string { return words("POSIXTRACE_CFLAGS", "-O2 -g") }

func words(variable, otherwise string) []string {
	if w := strings.Fields(os.Getenv(variable)); len(w) > 0 {
		return w
	}
	return strings.Fields(otherwise)
}

// Native reports whether the programs run on this processor, not in an emulator.
func Native() bool { return os.Getenv("POSIXTRACE_EMULATOR") == "" }

// Musl reports whether the compiler compiles for musl.
func Musl() bool { return strings.Contains(CC()[0], "musl") }

// Sanitized and Static report whether the environment asks for sanitizers, or static programs, where
// a test does not.
func Sanitized() bool { return os.Getenv("POSIXTRACE_SANITIZE") != "" }
func Static() bool    { return os.Getenv("POSIXTRACE_STATIC") != "" }

// Need skips the test where there is no C compiler. The race detector knows nothing of C.
func Need(t testing.TB) {
	t.Helper()
	tracetest.OnlyWithoutRace(t)
	tracetest.NeedProgram(t, CC()[0])
	tracetest.NeedProgram(t, "make")
}

// Main runs the tests of a package like tracetest.Main, and removes the C programs that they have built.
func Main(m *testing.M) {
	tracetest.AtEnd = append(tracetest.AtEnd, Clean)
	tracetest.Main(m)
}

// Clean removes what this process has built.
func Clean() {
	if dir := scratch.dir; dir != "" {
		os.RemoveAll(dir)
	}
}

// scratch is the directory of what this process has built.
var scratch struct {
	once sync.Once
	dir  string
	err  error
}

func scratchDir(t testing.TB) string {
	t.Helper()
	scratch.once.Do(func() { scratch.dir, scratch.err = os.MkdirTemp("", "posixtrace-ctest-") })
	if scratch.err != nil {
		t.Fatal(scratch.err)
	}
	return scratch.dir
}

// shared returns the directory for what other test processes may use, too.
func shared(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("POSIXTRACE_CTEST"); dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	return scratchDir(t)
}

// built are the results so far, by what was asked for.
var built struct {
	sync.Mutex
	m map[string]func() (string, error)
}

// once makes something under a key once, for all tests of the process.
func once(t testing.TB, key string, make func() (string, error)) string {
	t.Helper()
	built.Lock()
	if built.m == nil {
		built.m = map[string]func() (string, error){}
	}
	f := built.m[key]
	if f == nil {
		f = sync.OnceValues(make)
		built.m[key] = f
	}
	built.Unlock()
	result, err := f()
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// locked calls f while no other process does so for the same directory.
func locked(dir string, f func() error) error {
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	return f()
}

func name(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// run runs a command. Its error has what the command prints.
func run(cmd *exec.Cmd) error {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, &out)
	}
	return nil
}

// read reads files, so that go test knows that the result of the test depends on them.
func read(t testing.TB, dir string, extensions ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && slices.Contains(extensions, filepath.Ext(path)) {
			_, err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// AgentPath is the path of the agent that the libraries have compiled in.
func AgentPath(t testing.TB) string {
	t.Helper()
	return filepath.Join(shared(t), "posixtrace-agent")
}

// Agent builds the agent, which a program needs that calls more than a traced process does.
func Agent(t testing.TB) string {
	t.Helper()
	tracetest.Only(t, Native(), "on the processor itself: the emulator cannot start an agent")
	path := AgentPath(t)
	for _, dir := range []string{"cmd/posixtrace-agent", "cmd/internal/agent", "pkg/posixtrace"} {
		read(t, filepath.Join(Root, dir), ".go")
	}
	return once(t, "agent", func() (string, error) {
		return path, locked(path, func() error {
			if _, err := os.Stat(path); err == nil {
				return nil
			}
			cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, "./cmd/posixtrace-agent")
			cmd.Dir = Root
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
			return run(cmd)
		})
	})
}

// Library builds the library with extra flags of the compiler and returns its directory.
func Library(t testing.TB, flags ...string) string {
	t.Helper()
	Need(t)
	flags = append(slices.Clone(CFlags()), flags...)
	cc, cflags := strings.Join(CC(), " "), strings.Join(flags, " ")
	dir := filepath.Join(shared(t), "lib-"+name(cc, cflags))
	agent := AgentPath(t)
	ldflags := ""
	if strings.Contains(cflags, "-fsanitize=") {
		ldflags = "-Wl,-z,undefs" // clang links the sanitizers' functions with programs only
	}
	read(t, Source, ".c", ".h", ".map", "") // "": the Makefile
	return once(t, dir, func() (string, error) {
		return dir, locked(dir, func() error {
			return run(exec.Command("make", "-s", "-C", Source, fmt.Sprintf("-j%d", runtime.NumCPU()),
				"BUILD="+dir, "CC="+cc, "CFLAGS="+cflags, "LDFLAGS="+ldflags, "AGENT="+agent))
		})
	})
}

// Build builds a program and returns its path. All tests of the process that ask for the same
// program get the same file.
func Build(t testing.TB, p Program) string {
	t.Helper()
	Need(t)
	cc, language := CC(), "c"
	if p.CXX {
		tracetest.Only(t, !Musl(), "with the C library of the C++ compiler")
		cc, language = CXX(), "c++"
		tracetest.Need(t, cc != nil, "a C++ compiler")
		tracetest.NeedProgram(t, cc[0])
	}
	switch {
	case p.NoLibrary:
	case Sanitized():
		p.Sanitize = true
	case Static() && !p.Sanitize && !slices.Contains(p.Flags, "-shared"):
		p.Static = true
		p.Flags = append(slices.Clone(p.Flags), "-static")
	}
	lib := slices.Clone(p.LibFlags)
	args := append(slices.Clone(cc[1:]), CFlags()...)
	args = append(args, "-Wall", "-Wextra", "-Werror")
	if p.Sanitize {
		tracetest.Only(t, !Musl(), "with glibc, which the sanitizers know")
		lib = append(lib, sanitizers...)
		args = append(args, sanitizers...)
		p.Static = true
	}
	dir := Library(t, lib...)
	args = append(args, "-I"+Source)
	args = append(args, p.Flags...)

	out := filepath.Join(scratchDir(t), "program-"+name(dir, language, strings.Join(args, "\x00"),
		strings.Join(p.Sources, "\x00"), strings.Join(p.After, "\x00"), p.Text, fmt.Sprint(p.Static, p.NoLibrary)))
	if p.Text != "" {
		args = append(args, "-x", language, out+".source", "-x", "none")
	}
	for _, source := range p.Sources {
		read(t, source, filepath.Ext(source))
	}
	args = append(args, p.Sources...)
	switch {
	case p.NoLibrary:
	case p.Static:
		args = append(args, "-x", "none", filepath.Join(dir, "libposixtrace.a"))
	default:
		args = append(args, "-x", "none", "-L"+dir, "-Wl,-rpath,"+dir, "-lposixtrace")
	}
	args = append(args, p.After...)
	args = append(args, "-pthread", "-o", out)
	return once(t, out, func() (string, error) {
		if p.Text != "" {
			if err := os.WriteFile(out+".source", []byte(p.Text), 0o600); err != nil {
				return "", err
			}
		}
		return out, run(exec.Command(cc[0], args...))
	})
}

// C builds the program of one source file against the shared library.
func C(t testing.TB, source string, flags ...string) string {
	t.Helper()
	return Build(t, Program{Sources: []string{source}, Flags: flags})
}

// TraceDir makes a trace directory of the test's own. It disappears with the test, as do directories
// of the same name and a suffix, which programs of other users make.
func TraceDir(t testing.TB) string {
	t.Helper()
	return tracetest.SharedDir(t)
}

// patience is how long a program may run.
const patience = 5 * time.Minute

// Command returns a command that runs a program with a trace directory. It ends with the test.
func Command(t testing.TB, traceDir, program string, args ...string) *exec.Cmd {
	t.Helper()
	argv := append(words("POSIXTRACE_EMULATOR", ""), program)
	argv = append(argv, args...)
	ctx, end := context.WithTimeout(context.Background(), patience)
	t.Cleanup(end) // after the cleanups of the test itself, which may wait for the program
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool {
		return strings.HasPrefix(s, "PTRACE_") || strings.HasPrefix(s, "POSIXTRACE_") || strings.HasPrefix(s, "LD_")
	})
	cmd.Env = append(cmd.Env, "PTRACE_DIR="+traceDir, "ASAN_OPTIONS=detect_leaks=0", "UBSAN_OPTIONS=print_stacktrace=1")
	return cmd
}

// InPidNamespace returns the command in a pid namespace of its own, as process 1, with the /proc of that
// namespace or of this one.
func InPidNamespace(t testing.TB, cmd *exec.Cmd, proc bool) *exec.Cmd {
	t.Helper()
	tracetest.NeedProgram(t, "unshare")
	args := []string{"--pid", "--mount", "--fork", "--kill-child"}
	if proc {
		args = append(args, "--mount-proc")
	}
	if os.Geteuid() != 0 {
		args = append(args, "--user", "--map-current-user")
	}
	out, err := exec.Command("unshare", append(args, "true")...).CombinedOutput()
	tracetest.Need(t, err == nil, "namespaces of our own: "+string(out))
	in := exec.Command("unshare", append(append(args, "--"), cmd.Args...)...)
	in.Env, in.Stderr = cmd.Env, cmd.Stderr
	return in
}

// Run runs a program with a trace directory of its own and returns what it prints. The test fails
// if the program's status is not 0.
func Run(t testing.TB, program string, args ...string) string {
	t.Helper()
	cmd := Command(t, TraceDir(t), program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", filepath.Base(program), strings.Join(args, " "), err, out, &stderr)
	}
	return string(out)
}
