package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

func init() { tracetest.Helpers["one-directory"] = oneDirectory }

// oneDirectory is testdata/one_directory.c in Go.
func oneDirectory(steps []string) {
	ok := func(err error) { tracetest.Check(err == nil, "%v", err) }
	id := posixtrace.EventUnnamed
	var s *posixtrace.Stream
	for _, step := range steps {
		var err error
		switch dir, set := strings.CutPrefix(step, "PTRACE_DIR="); {
		case set:
			os.Setenv("PTRACE_DIR", dir)
		case step == "open":
			id, err = posixtrace.OpenEventID("one directory")
		case step == "event":
			posixtrace.Event(id, []byte("x"))
		case step == "create":
			s, err = posixtrace.Create(0, &posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
			ok(err)
			err = s.Start()
		case step == "unset":
			os.Unsetenv("PTRACE_DIR")
		default:
			err = os.Chdir(step)
		}
		ok(err)
	}
	n := 0
	for rec, err := range s.All() {
		ok(err)
		if rec.ID != posixtrace.EventStart {
			n++
		}
	}
	ok(s.Shutdown())
	os.Stdout.WriteString(strings.Repeat("event ", n))
}

// A process has one trace directory, that of its first use, whatever it does to its environment or its working
// directory later: its streams have its events.
func TestProcessHasOneDirectory(t *testing.T) {
	for name, steps := range map[string]string{
		"trace point first":      "open PTRACE_DIR=$other create event",
		"event first":            "event PTRACE_DIR=$other create event",
		"create first":           "create PTRACE_DIR=$other open event",
		"changed before use":     "PTRACE_DIR=$other create open event",
		"changed twice":          "open PTRACE_DIR=$other PTRACE_DIR=$dir create event",
		"unset":                  "open unset create event",
		"unset after create":     "create unset open event",
		"relative":               "PTRACE_DIR=sub open / create event",
		"relative, create first": "PTRACE_DIR=sub create / open event",
		"of a fork":              "open create PTRACE_DIR=$other fork event",
		"of a fork, new":         "create fork PTRACE_DIR=$other event",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := ctest.TraceDir(t)
			dir, other := filepath.Join(base, "dir"), filepath.Join(base, "other")
			tracetest.OK(t, "mkdir", os.Mkdir(dir, 0o700))
			tracetest.OK(t, "mkdir", os.Mkdir(other, 0o700))
			args := strings.Fields(strings.NewReplacer("$dir", dir, "$other", other).Replace(steps))
			cmd := ctest.Command(t, dir, agentProgram(t, "one_directory.c"), args...)
			cmd.Dir, cmd.Stderr = base, os.Stderr
			if out, err := cmd.Output(); err != nil || string(out) != "1\n" {
				t.Errorf("C: %v, %q", err, out)
			}
			if strings.Contains(steps, "fork") {
				return
			}
			cmd = inGoHelper(t, dir, args)
			cmd.Dir = base
			if out, err := cmd.Output(); err != nil || string(out) != "event " {
				t.Errorf("Go: %v, %q", err, out)
			}
		})
	}
}

// inGoHelper returns the command of oneDirectory.
func inGoHelper(t *testing.T, dir string, steps []string) *exec.Cmd {
	cmd := ctest.Command(t, dir, os.Args[0], steps...)
	cmd.Env = append(cmd.Env, tracetest.HelperVar+"=one-directory")
	cmd.Stderr = os.Stderr
	return cmd
}

// A program that a stream traces has used its directory before main. If it chooses another one there, its streams
// have its events still.
func TestTracedProgramHasOneDirectory(t *testing.T) {
	base := ctest.TraceDir(t)
	dir, other := filepath.Join(base, "dir"), filepath.Join(base, "other")
	tracetest.OK(t, "mkdir", os.Mkdir(dir, 0o700))
	t.Cleanup(tool.ForgetDirectory)
	t.Setenv("PTRACE_DIR", dir)
	tool.ForgetDirectory()
	s, err := posixtrace.Create(0, &posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	tracetest.OK(t, "Create", err)
	defer s.Shutdown()
	tracetest.OK(t, "Start", s.Start())
	info, err := s.Info()
	tracetest.OK(t, "Info", err)
	steps := []string{"PTRACE_DIR=" + other, "create", "open", "event"}
	for language, cmd := range map[string]*exec.Cmd{
		"C":  ctest.Command(t, dir, agentProgram(t, "one_directory.c"), steps...),
		"Go": inGoHelper(t, dir, steps),
	} {
		cmd.Env = append(cmd.Env, "PTRACE_STREAM="+info.Path)
		want := map[string]string{"C": "1\n", "Go": "event "}[language]
		if out, err := cmd.Output(); err != nil || string(out) != want {
			t.Errorf("%s: %v, %q", language, err, out)
		}
	}
	n := 0
	for rec, err := range s.All() {
		tracetest.OK(t, "event", err)
		if rec.Name == "one directory" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("the stream around them has %d events, want 2", n)
	}
}
