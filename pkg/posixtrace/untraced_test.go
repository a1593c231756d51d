package posixtrace

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
)

// Programs that register event types and are not traced do not fill the trace directory: the
// next one removes the files of the dead, also while another process is traced.
func TestUntracedProgramsLeaveFewFiles(t *testing.T) {
	for _, c := range []struct {
		name    string
		streams int
	}{{"alone", 0}, {"beside a stream", 1}} {
		t.Run(c.name, func(t *testing.T) {
			dir, err := os.MkdirTemp(os.Getenv("PTRACE_DIR"), "litter")
			tracetest.OK(t, "MkdirTemp", err)
			defer os.RemoveAll(dir)
			t.Cleanup(conn.ForgetDir)
			t.Setenv("PTRACE_DIR", dir)
			conn.ForgetDir()
			var m *tracetest.Child
			if c.streams > 0 {
				// A process of the family continues, and keeps its names.
				m = tracetest.Start(t, "target")
				m.Line()
				m.Say("litter.kept before")
				s := running(t, m.PID, Attr{})
				defer func() {
					m.Say("litter.kept after")
					equal(t, drain(t, s), got{"litter.kept", "after", m.PID})
				}()
			}
			for range tracetest.Scale(30, 200, 1500) {
				cmd := exec.Command(os.Args[0], "litter.event")
				cmd.Env = append(os.Environ(), tracetest.HelperVar+"=event", tracetest.Quick)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			files, err := filepath.Glob(filepath.Join(dir, "[np]-*"))
			tracetest.OK(t, "Glob", err)
			if len(files) > 16 {
				t.Errorf("%d files of untraced programs are left", len(files))
			}
		})
	}
}
