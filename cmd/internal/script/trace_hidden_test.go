package script_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// Of a program that the user may execute and not read, the kernel hides what its descriptors refer to. proc.exec
// says then that this is unknown, not that they are closed.
func TestHiddenProgram(t *testing.T) {
	tracetest.NeedRoot(t)
	const user = 65534
	base, shared := openBase(t)
	hidden := filepath.Join(base, "hidden")
	b, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hidden, b, 0o111); err != nil {
		t.Fatal(err)
	}
	dir, log := filepath.Join(shared, "dir"), filepath.Join(shared, "x.trace")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, user, user)); err != nil {
		t.Fatal(err)
	}
	env := []string{"PTRACE_DIR=" + dir}
	if out, status := userRun(t, user, env, "ptrace-run", "-y", "-e", "proc", "-o", log, "sh", "-c", hidden+" >/dev/null; env A=1 "+hidden+"; :"); status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	out, status := userRun(t, user, env, "ptrace-dump", "-j", "-e", "proc.exec", log)
	if status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	found := 0
	for line := range strings.Lines(out) {
		switch _, how, _ := strings.Cut(line, `"argv":`); {
		case !strings.Contains(how, `["`+hidden+`"]`):
		case strings.Contains(how, "&-"), !strings.Contains(how, `"incomplete":true`):
			t.Errorf("%s", line)
		default:
			found++
		}
	}
	if found != 2 {
		t.Errorf("%d programs in %s", found, out)
	}
}
