package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

const filesMakefile = `all: prog install
prog: main.o part.o libx.a
	gcc -o $@ main.o part.o -L. -lx
main.o part.o x.o: %.o: %.c inc/part.h
	gcc -Iinc -MMD -c -o $@.new $< && mv $@.new $@
inc/part.h: part.h.in
	mkdir -p inc && sed s/NAME/part/ $< >$@
libx.a: x.o
	ar rc $@ x.o && ranlib $@
install: prog
	mkdir -p root/bin && cp prog root/bin/ && chmod 755 root/bin/prog && ln -s prog root/bin/other && ln prog root/bin/third
	./script >log; cat log log >>log2; touch log2; rm -f log nosuch; rmdir empty 2>/dev/null; :
`

// -e files records the same uses of files as strace(1), path by path, of a build in C. An independent program
// reads strace's output.
func TestFilesLikeStrace(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	for _, name := range []string{"strace", "make", "gcc", "ar", "python3"} {
		tracetest.NeedProgram(t, name)
	}
	base := realDir(t)
	if err := os.Chmod(base, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "build")
	build := func() {
		os.RemoveAll(dir)
		for name, text := range map[string]string{
			"Makefile": filesMakefile, "part.h.in": "int NAME(void);\n", "main.c": "#include <stdio.h>\n#include \"part.h\"\nint main(void) { puts(\"x\"); return part(); }\n",
			"part.c": "#include <part.h>\n#include <string.h>\nint part(void) { return 0; }\n", "x.c": "int x;\n", "script": "#!/bin/sh\ncd root\nls bin/prog ./bin ../root/none\n:\n", "empty/not": "",
		} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	env := []string{"LC_ALL=C", "TMPDIR=" + base}
	run := func(argv ...string) {
		t.Helper()
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), append(env, "PTRACE_DIR="+base)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", argv, err, out)
		}
	}
	prefix := filepath.Join(base, "strace")
	build()
	run("strace", "-f", "-ff", "-y", "-e", "trace=%file,%desc,%process", "-o", prefix, "make", "-s")
	text, err := exec.Command("python3", "testdata/strace_files.py", prefix, dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(temporary.ReplaceAllString(strings.TrimSpace(string(text)), "${1}TEMP"), "\n")

	build()
	log := filepath.Join(base, "x.trace")
	run("ptrace-run", "--dump=never", "-e", "files", "-o", log, "make", "-s")
	var got []string
	missing := map[string]int64{}
	for _, f := range filesOf(t, base, log) {
		modes := slices.DeleteFunc(f.Modes, func(m string) bool { return m == "create" || m == "directory" || m == "unnamed" || m == "special" })
		switch {
		case f.Kind == "close" || slices.Contains(f.Modes, "interpreter"): // strace does not see those
			continue
		case f.Kind == "missing":
			missing[f.File] += f.Count
			continue
		case f.Kind == "truncate" || f.Kind == "map":
			modes = nil
		}
		if f.Kind != "open" {
			f.Canonical = ""
		}
		f.Modes, f.Perm = modes, 0
		got = append(got, temporary.ReplaceAllString(f.in("/nowhere"), "${1}TEMP"))
	}
	for path, n := range missing {
		f := file{Kind: "missing", Count: n, File: path}
		got = append(got, strings.Replace(f.in("/nowhere"), " times", "", 1))
	}
	slices.Sort(want)
	slices.Sort(got)
	want, got = slices.Compact(want), slices.Compact(got)
	t.Logf("%d uses of files", len(want))
	if len(want) < 100 {
		t.Fatalf("strace saw %d uses of files", len(want))
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("only strace saw: %s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("strace did not see: %s", line)
		}
	}
}

// temporary matches what the names of temporary files of compilers, of sed(1) and of ar(1) have at random.
var temporary = regexp.MustCompile(`(/cc|/sed|/st)[A-Za-z0-9]{6}`)
