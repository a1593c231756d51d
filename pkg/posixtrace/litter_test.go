package posixtrace

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracetest"
)

// Programs that register event types and are not traced do not fill the trace directory:
// what the dead leave the next one removes, also while something else is traced.
func TestUntracedLeaveLittle(t *testing.T) {
	for _, c := range []struct {
		name    string
		streams int
	}{{"alone", 0}, {"beside a stream", 1}} {
		t.Run(c.name, func(t *testing.T) {
			dir, err := os.MkdirTemp(os.Getenv("PTRACE_DIR"), "litter")
			logOK(t, "MkdirTemp", err)
			defer os.RemoveAll(dir)
			t.Setenv("PTRACE_DIR", dir)
			var m *child
			if c.streams > 0 {
				// A process of the family goes on, and its names with it.
				m = start(t, "target")
				m.line()
				m.say("litter.kept before")
				s := running(t, m.pid, Attr{})
				defer func() {
					m.say("litter.kept after")
					equal(t, drain(t, s), got{"litter.kept", "after", m.pid})
				}()
			}
			for range tracetest.Scale(30, 200, 1500) {
				cmd := exec.Command(os.Args[0], "litter.event")
				cmd.Env = append(os.Environ(), helperVar+"=event", quick)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			files, err := filepath.Glob(filepath.Join(dir, "[np]-*"))
			logOK(t, "Glob", err)
			if len(files) > 16 {
				t.Errorf("%d files are left of programs that nothing traced", len(files))
			}
		})
	}
}
