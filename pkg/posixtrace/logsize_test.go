package posixtrace

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// A log whose size is asked for has that size, also below the default size of a stream: the stream follows
// it. The attributes say so, and the file has no more.
func TestStreamFollowsSmallerLog(t *testing.T) {
	id, err := OpenEventID("logsize")
	tracetest.OK(t, "OpenEventID", err)
	for _, policy := range []FullPolicy{PolicyUntilFull, PolicyLoop, PolicyDefault} {
		for _, size := range []int64{16 << 10, 64 << 10, 300 << 10, DefaultLoggedStreamSize - 1} {
			t.Run(fmt.Sprint(policy, size), func(t *testing.T) {
				f, err := os.Create(filepath.Join(t.TempDir(), "log.trace"))
				tracetest.OK(t, "Create", err)
				defer f.Close()
				s, err := CreateWithLog(0, &Attr{LogFullPolicy: policy, LogSize: size}, f)
				tracetest.OK(t, "CreateWithLog", err)
				a, err := s.Attr()
				tracetest.OK(t, "Attr", err)
				if a.LogSize != size || a.StreamSize != size {
					t.Errorf("a log of %d bytes and a stream of %d, want %d", a.LogSize, a.StreamSize, size)
				}
				tracetest.OK(t, "Start", s.Start())
				for i := range 4 * size / 100 {
					if Event(id, make([]byte, 100)); i%50 == 49 {
						tracetest.OK(t, "Flush", s.Flush())
					}
				}
				tracetest.OK(t, "Shutdown", s.Shutdown())
				st, err := f.Stat()
				tracetest.OK(t, "Stat", err)
				if most := size + size/4 + 64<<10; st.Size() > most {
					t.Errorf("the file has %d bytes, more than %d", st.Size(), most)
				}
				l, err := Open(f)
				tracetest.OK(t, "Open", err)
				defer l.Close()
				status, err := l.Status()
				if err != nil || status.Lost+status.LogLost == 0 {
					t.Errorf("%+v, %v; want lost events", status, err)
				}
			})
		}
	}
	// A size that is asked for stays, and a log that grows has none.
	for _, a := range []Attr{{StreamSize: 1 << 20, LogSize: 64 << 10}, {LogFullPolicy: PolicyAppend, LogSize: 64 << 10}, {LogSize: 2 << 20}, {}} {
		f, err := os.Create(filepath.Join(t.TempDir(), "log.trace"))
		tracetest.OK(t, "Create", err)
		s, err := CreateWithLog(0, &a, f)
		tracetest.OK(t, "CreateWithLog", err)
		if got, err := s.Attr(); err != nil || got.StreamSize != DefaultLoggedStreamSize {
			t.Errorf("%+v: a stream of %d bytes, %v", a, got.StreamSize, err)
		}
		tracetest.OK(t, "Shutdown", s.Shutdown())
		f.Close()
	}
}
