package posixtrace

import (
	"path/filepath"
	"runtime/debug"
	"testing"
)

// Readers of a log that is still being recorded, and of its stream, leave nothing open:
// who follows one makes many.
func TestReaderCloses(t *testing.T) {
	s, path := limLogged(t, 0, Attr{})
	logOK(t, "Start", s.Start())
	Event(logID(t, "reader.closes"), []byte("x"))
	open := func() int {
		list, err := filepath.Glob("/proc/self/fd/*")
		logOK(t, "Glob", err)
		return len(list)
	}
	read := func() {
		r, err := s.Reader()
		logOK(t, "Reader", err)
		defer r.Close()
		if state, _ := r.State(); state != LogLive {
			t.Fatalf("%s is %v", path, state)
		}
		for {
			rec, err := r.Next()
			logOK(t, "Next", err)
			if rec.ID.User() {
				// The name is not yet in the log.
				if name := r.EventName(rec.ID); name != "reader.closes" {
					t.Fatalf("the event's name is %q", name)
				}
				return
			}
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close what we forget
	read()
	before := open()
	for range 20 {
		read()
	}
	if after := open(); after >= before+5 {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}
