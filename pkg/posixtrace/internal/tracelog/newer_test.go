package tracelog

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/posixtrace/posixtrace/internal/hostile"
)

// newer makes a log one of a higher minor version: with a field at the end of its superblock, and with
// blocks of a kind that this version does not know. The field is what was the last argument, and the
// blocks are what was status.
func newer(log []byte) []byte {
	log = bytes.ReplaceAll(log, []byte("STAT"), []byte("NEWS"))
	le := binary.LittleEndian
	le.PutUint16(log[10:], minor+1)
	le.PutUint32(log[100:], le.Uint32(log[100:])-1)
	hostile.FixChecksums(log)
	return log
}

// A log of a higher minor version has the same events, however it is read.
func TestNewerMinor(t *testing.T) {
	for _, p := range []Policy{Append, UntilFull, Loop} {
		var m memory
		s := superFor(p)
		s.Command = []string{"ptrace-run", "what is to come"}
		w, err := create(&m, s)
		must(t, err)
		if p != Loop {
			must(t, w.Status(Status{Running: true}))
		}
		writeLog(t, w, overlapping(300))
		want, bad := verdict(openFile(t, m.b), nil)
		must(t, bad)
		log := newer(bytes.Clone(m.b))
		if has := bytes.Contains(log, []byte("NEWS")); has != (p != Loop) {
			t.Errorf("%v: a block of a new kind: %v", p, has)
		}
		bothWays(log, func(way string, r *Reader, err error) {
			got, bad := verdict(r, err)
			if bad != nil || got != want {
				t.Errorf("%v, %s: %v, events:\n%swant:\n%s", p, way, bad, got, want)
				return
			}
			if v := r.Super().Newer(); v == "" || len(r.Super().Command) != 1 {
				t.Errorf("%v, %s: version %q, command %q", p, way, v, r.Super().Command)
			}
		})
	}
}
