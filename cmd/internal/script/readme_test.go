package script_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// The sessions of the READMEs that show a verdict print what the pages say, but for numbers and the widths
// of columns. The session of scripts/demo in README.md is not among them: it builds the project.
func TestReadmeSessions(t *testing.T) {
	const prepared = "sleep 0.12; :\n"
	for _, s := range []struct {
		page, first string // the first command of the session
		files       map[string]string
		before      string // commands
	}{
		{"docs/README.md", "$ ptrace-run -c -e proc --make -o build.trace -- make -j8 ", map[string]string{
			"Makefile": "prog: a.o b.o\n\tcc -o prog a.o b.o\n%.o: %.c\n\tcc -O2 -c $<\n",
			"a.c":      "int b(void);\nint main(void) { return b(); }\n",
			"b.c":      "#define A(x) x x x x x x x x\nvolatile int v;\nint b(void) { A(A(A(A(v++;)))) return 0; }\n",
		}, ""},
		{"README.md", "$ ptrace-diff good.trace bad.trace\n", map[string]string{
			"Makefile": "all: number other\nnumber:\n\tsh number.c\nother:\n\tsleep 0.05\n", "number.c": prepared,
		}, "ptrace-run -e proc -o good.trace make -s -j2; echo 'sleep 0.5; :' >number.c; ptrace-run -e proc -o bad.trace make -s -j2"},
	} {
		t.Run(s.page, func(t *testing.T) {
			t.Parallel()
			for _, program := range []string{"make", "cc", "bash"} {
				_, err := exec.LookPath(program)
				tracetest.Need(t, err == nil, program)
			}
			text, err := os.ReadFile(filepath.Join("..", "..", "..", s.page))
			if err != nil {
				t.Fatal(err)
			}
			_, session, ok := strings.Cut(string(text), "```\n"+s.first)
			if !ok {
				t.Fatalf("no session begins with %q", s.first)
			}
			session, _, _ = strings.Cut(s.first+session, "```")
			for try := 1; ; try++ { // the slowest command may be another one on a busy machine
				difference := readmeSession(t, session, s.files, s.before)
				if difference == "" {
					return
				}
				if try == 3 {
					t.Fatal(difference)
				}
				t.Log(difference)
			}
		})
	}
}

// readmeSession returns how a session differs.
func readmeSession(t *testing.T, session string, files map[string]string, before string) string {
	dir := t.TempDir()
	traces, err := os.MkdirTemp("/dev/shm", "posixtrace-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(traces)
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C", "COLUMNS=200", "MAKEFLAGS=", "MAKELEVEL=")
	if before != "" {
		runSession(t, dir, env, []string{"$ " + before + "\n"})
	}
	if got := runSession(t, dir, env, strings.SplitAfter(session, "\n")); rough(got) != rough(session) {
		return fmt.Sprintf("the page has\n%s\nand the commands print\n%s", session, got)
	}
	return ""
}
