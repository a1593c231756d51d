package destination

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func TestMain(m *testing.M) { tracetest.Main(m) }

func TestStreamTakesEvents(t *testing.T) {
	s, err := posixtrace.Create(os.Getpid(), nil)
	tracetest.OK(t, "Create", err)
	defer s.Shutdown()
	tracetest.OK(t, "Start", s.Start())
	info, err := s.Info()
	tracetest.OK(t, "Info", err)
	other, err := posixtrace.Attach(info.Path)
	tracetest.OK(t, "Attach", err)
	to, err := Stream(other, os.Getpid())
	tracetest.OK(t, "Stream", err)
	defer to.Close()
	to.Rewrite = func(b []byte, _ bool) []byte { return bytes.ReplaceAll(b, []byte("secret"), []byte("***")) }

	first := "first of " + filepath.Base(info.Path) // the names of this process remain
	if !to.New(first) {
		t.Error("an event type is there before its first event")
	}
	tracetest.OK(t, "Event", to.Event(first, []byte("a secret")))
	if to.New(first) || !to.New("second") {
		t.Error("the event type of the first event is not there, or another one is")
	}
	for name, fault := range map[string]string{"posix_trace_start": "system event", strings.Repeat("x", posixtrace.EventNameMax+1): "more than"} {
		if err := to.Event(name, nil); err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%.20q: %v", name, err)
		}
	}
	id, err := s.EventID(first)
	tracetest.OK(t, "EventID", err)
	n, data := 0, make([]byte, 100)
	for {
		ev, size, err := s.TryNext(data)
		if err == posixtrace.ErrUnavailable {
			break
		}
		tracetest.OK(t, "TryNext", err)
		if ev.ID.System() {
			continue
		}
		if n++; ev.ID != id || string(data[:size]) != "a ***" || ev.PID != os.Getpid() {
			t.Errorf("%+v, %q", ev, data[:size])
		}
	}
	if n != 1 {
		t.Errorf("%d events", n)
	}
}

// Without a stream there is nothing to do, and nothing to complain of.
func TestNoStreamTakesNoEvent(t *testing.T) {
	t.Setenv("PTRACE_STREAM", "")
	to, err := Process(os.Getpid())
	tracetest.OK(t, "Process", err)
	defer to.Close()
	if err := to.Event("name", nil); err != nil || to.New("name") || len(to.Streams()) != 0 {
		t.Errorf("%v, streams %v", err, to.Streams())
	}
}
