package script

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// Tests that trace themselves, as those of these packages do, pass under ptrace-run, too.
func TestOwnTestsUnderRun(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	packages := []string{"posixspan", "posixslog"}
	if tracetest.Full() {
		packages = append(packages, "posixtest")
	}
	for _, name := range packages {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("..", "..", "..", "pkg", "posixtrace", name)
			program := filepath.Join(t.TempDir(), name+".test")
			build := exec.Command("go", "test", "-c", "-o", program, ".")
			build.Dir = dir
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("go test -c: %v\n%s", err, out)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, "ptrace-run", "--dump=never", program)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
