package test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

// commands returns a directory with the commands that the tests use. They are built once.
func commands(t *testing.T) string {
	t.Helper()
	dir, err := buildCommands()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var buildCommands = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "posixtrace-ctest-")
	if err != nil {
		return "", err
	}
	tracetest.AtEnd = append(tracetest.AtEnd, func() { os.RemoveAll(dir) })
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", dir, "./cmd/ptrace-run", "./cmd/ptrace-dump", "./cmd/ptrace-event", "./cmd/ptrace-ctl")
	cmd.Dir = ctest.Root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v\n%s", err, out)
	}
	return dir, nil
})

// Every program of every page prints what the page shows.
func TestManualExamples(t *testing.T) {
	ctest.Need(t)
	tracetest.Only(t, ctest.Native(), "on the processor itself")
	text, _ := pages(t)
	bin := commands(t)
	for name, page := range text {
		s := readSession(page)
		if len(s.files) == 0 || len(s.steps) == 0 {
			t.Errorf("%s.3 has no example", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.run(t, bin)
		})
	}
}

func (s *session) run(t *testing.T, bin string) {
	dir, lib := t.TempDir(), ctest.Library(t)
	ctest.Agent(t)
	for name, text := range s.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The pages link with -lposixtrace as if it were installed.
	own := filepath.Join(dir, "bin")
	compiler := ctest.CC()
	path, err := exec.LookPath(compiler[0]) // the pages call it cc, as they do the script
	if err != nil {
		t.Fatal(err)
	}
	cc := fmt.Sprintf("#!/bin/sh\nexec %s %s \"$@\" -L%s -Wl,-rpath,%s\n", path, strings.Join(compiler[1:], " "), lib, lib)
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "cc"), []byte(cc), 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PTRACE_DIR="+ctest.TraceDir(t), "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C", "CPATH="+ctest.Source,
		"LD_LIBRARY_PATH="+lib, "PATH="+own+":"+bin+":"+os.Getenv("PATH"))
	python := slices.IndexFunc(s.steps, func(p step) bool { return strings.Contains(p.command, "python3 ") })
	if python < 0 {
		runSteps(t, s.steps, dir, env)
		return
	}
	runSteps(t, s.steps[:python], dir, env)
	t.Run("python", func(t *testing.T) {
		tracetest.NeedProgram(t, "python3")
		tracetest.Only(t, !strings.Contains(ctest.CC()[0], "musl"), "with the C library of Python")
		runSteps(t, s.steps[python:], dir, env)
	})
}

func runSteps(t *testing.T, steps []step, dir string, env []string) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for _, step := range steps {
		cmd := exec.CommandContext(ctx, "sh", "-c", step.command)
		cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, 5*time.Second
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		if out.String() != step.want {
			t.Errorf("line %d: %s\nprints, with %v,\n%s\nThe page shows\n%s", step.line, step.command, err, &out, step.want)
		}
	}
}

// The C program and the Python program of the README print what the README shows.
func TestReadme(t *testing.T) {
	ctest.Need(t)
	tracetest.Only(t, ctest.Native(), "on the processor itself")
	b, err := os.ReadFile(filepath.Join(ctest.Root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(b), "\n## Trace a program\n")
	part, _, _ = strings.Cut(part, "\n## ")
	s := session{files: map[string]string{}}
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(part, -1) {
		switch m[1] {
		case "c", "python":
			s.files["app."+m[1]] += m[2]
		case "":
			for _, l := range strings.Split(m[2], "$ ")[1:] {
				command, want, _ := strings.Cut(l, "\n")
				command = strings.ReplaceAll(command, "$(pkg-config --cflags --libs posixtrace)", "-lposixtrace")
				s.steps = append(s.steps, step{command: command, want: want})
			}
		}
	}
	if len(s.files) != 2 || len(s.steps) != 3 {
		t.Fatalf("the README has %d programs and %d commands", len(s.files), len(s.steps))
	}
	for _, c := range s.steps[1:] { // the same of the other program
		c.command = strings.NewReplacer("./app", "python3 app.python", "app.trace", "python.trace").Replace(c.command)
		s.steps = append(s.steps, c)
	}
	s.run(t, commands(t))
}
