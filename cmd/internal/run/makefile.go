package run

import (
	"os"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
)

// makefile is a file that GNU make reads before all others, since $MAKEFILES has its name. It
// makes each make, also a recursive one, pass the name of the target to the programs of a recipe,
// which the tracer watches. The shell of recipes and what make prints stay the same. Another
// make does not read it, nor does make after the end of ptrace-run: a file of MAKEFILES may be
// missing.
type makefile struct{ path string }

const makefilesVariable = "MAKEFILES"

// makefileText is the file. The first line keeps make from remaking the file by a rule for any
// target; the last removes the file from the list that a Makefile may use.
func makefileText(path string) string {
	return path + ": ;\n" +
		"override " + tracer.MakeVariable + " = $(MAKELEVEL) $@$(if $%,($%))\n" +
		"export " + tracer.MakeVariable + "\n" +
		"MAKEFILE_LIST :=\n"
}

// makeEnv creates the file if the session needs it, and returns environ with its path.
func (s *session) makeEnv(environ []string) []string {
	if s.tracer == nil || !s.plan.trace.Make {
		return environ
	}
	m, err := newMakefile()
	if err != nil {
		s.env.Note("recipes are not recorded: " + cli.Reason(err))
		return environ
	}
	s.makefile = m
	list := m.path
	if others := s.env.Getenv(makefilesVariable); others != "" {
		list += " " + others
	}
	return setEnv(environ, makefilesVariable, list)
}

// newMakefile creates the file in the directory for temporary files, or in /tmp if make would not
// understand the path.
func newMakefile() (*makefile, error) {
	dir := os.TempDir()
	if !plainPath(dir) {
		dir = "/tmp"
	}
	f, err := os.CreateTemp(dir, "ptrace-run-*.mk")
	if err != nil {
		return nil, err
	}
	m := &makefile{f.Name()}
	_, err = f.WriteString(makefileText(m.path))
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		m.remove()
		return nil, err
	}
	return m, nil
}

// plainPath reports whether an absolute path has no character that means something to make.
func plainPath(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.ContainsFunc(path, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+", r))
	})
}

func (m *makefile) remove() {
	if m != nil {
		os.Remove(m.path)
	}
}
