package script_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// A damaged log may have another name for a type: an event is what its number says, and each form shows the
// name of the log.
func TestExportRenamed(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	program := decoder(t)
	dir, env := hostileTrace(t)
	log, err := os.ReadFile(filepath.Join(dir, "hostile.trace"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = exec.LookPath("babeltrace2")
	ctf := err == nil
	for _, name := range []struct{ old, new string }{
		{"output.stderr", "ouXput.stderr"}, {"proc.map", "proc.mXp"}, {"proc.exec", "prXc.exec"}, {"proc.exit", "proc.exec"},
		{"proc.fork", "proc.forX"}, {"syscall.openat", "sysXall.openat"}, {"posix_trace_start", "posix_trace_sXart"}, {"output.stdout", "syscall.openat"},
	} {
		if !bytes.Contains(log, []byte(name.old)) {
			t.Fatalf("the log has no type %s", name.old)
		}
		b := bytes.Clone(log)
		for i := 0; ; {
			k := bytes.Index(b[i:], []byte(name.old))
			if k < 0 {
				break
			}
			copy(b[i+k:i+k+len(name.old)], name.new)
			i += k + 1
		}
		hostile.FixChecksums(b)
		if err := os.WriteFile(filepath.Join(dir, "evil.trace"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Run(name.old+" "+name.new, func(t *testing.T) {
			compareOTLP(t, program, dir, env, nil, "evil.trace")
			compareParquetLog(t, dir, env, nil, "evil.trace")
			if ctf {
				compareCTF(t, dir, env, nil, "evil.trace")
			}
		})
	}
}
