package posixslog_test

import (
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func TestMain(m *testing.M) { tracetest.Main(m) }

// record returns a stream that traces this process and records, until the test ends.
func record(t testing.TB, attr *posixtrace.Attr) *posixtrace.Stream {
	t.Helper()
	s, err := posixtrace.Create(0, attr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown() })
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

type event struct{ posixtrace.Record }

func (e event) String() string { return e.Name + " " + string(e.Data) }

// events returns the user events that s has recorded since the last call.
func events(t testing.TB, s *posixtrace.Stream) (list []event) {
	t.Helper()
	for rec, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
		if rec.ID.User() {
			rec.Data = append([]byte(nil), rec.Data...)
			list = append(list, event{rec})
		}
	}
	return list
}

// one returns the only user event since the last call.
func one(t testing.TB, s *posixtrace.Stream) event {
	t.Helper()
	list := events(t, s)
	if len(list) != 1 {
		t.Fatalf("%d events: %v", len(list), list)
	}
	return list[0]
}

// members decodes the data of an event.
func members(t testing.TB, rec event) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(rec.Data, &m); err != nil {
		t.Fatalf("%s: %v: %s", rec.Name, err, rec.Data)
	}
	return m
}

// withoutTime is a slog.HandlerOptions.ReplaceAttr.
func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime {
		return slog.Attr{}
	}
	return a
}
