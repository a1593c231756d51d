package tracelog

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
)

const recordedLogs = "../../../../testdata/stable/logs.txt"

// Readers rely on the version in a log. So what is written changes its version, unless they read it as
// before.
func TestVersionOfWhatIsWritten(t *testing.T) {
	var now strings.Builder
	now.WriteString("Logs as they are written, by version. `go test ./pkg/posixtrace/internal/tracelog -run TestVersionOfWhatIsWritten -update` writes this.\n")
	b, _ := os.ReadFile(recordedLogs)
	for _, p := range []Policy{Append, UntilFull, Loop} {
		var m memory
		s := superFor(p)
		if p == Loop {
			s.LogSize = 64 << 10
		}
		w, err := create(&m, s)
		must(t, err)
		writeLog(t, w, overlapping(9))
		log := m.b
		for n := len(log); n > 0 && log[n-1] == 0; n-- { // slots that are unused
			log = log[:n-1]
		}
		major, minor := log[8], log[10]
		head := fmt.Sprintf("\n== %v, format %d.%d, %d bytes\n\n", p, major, minor, len(m.b))
		text := dump(log)
		now.WriteString(head + text)
		name, _, _ := strings.Cut(head, " bytes")
		name = name[:strings.LastIndexByte(name, ' ')]
		_, before, ok := strings.Cut(string(b), name)
		before, _, _ = strings.Cut(name+before, "\n\n== ")
		if *update {
			continue
		}
		if got := strings.TrimSpace(head + text); !ok || got != strings.TrimSpace(before) {
			t.Errorf("a log of policy %v is written in another way, and its format is still %d.%d. Raise the major version if a reader of "+
				"that format cannot read it, the minor one if the reader would miss something, describe it in ptrace-log(5), and run this "+
				"test with -update. If the ptrace-dump before the change shows the same of it, -update is all.", p, major, minor)
		}
	}
	if *update {
		must(t, os.WriteFile(recordedLogs, []byte(now.String()), 0o644))
	}
}

// dump returns the bytes of a log, lines of zeros left out.
func dump(b []byte) string {
	var s strings.Builder
	for at := 0; at < len(b); at += 32 {
		row := b[at:min(at+32, len(b))]
		if len(bytes.Trim(row, "\x00")) > 0 {
			fmt.Fprintf(&s, "%06x %s\n", at, hex.EncodeToString(row))
		}
	}
	return s.String()
}
