package selection

import (
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	defer func(l *time.Location) { time.Local = l }(time.Local)
	time.Local = time.FixedZone("x", 3600)
	first := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC).UnixNano()
	last := first + 100e9
	for _, tt := range []struct {
		in   string
		want int64 // after first
	}{
		{"2026-11-20T10:00:01Z", 1e9},
		{"2026-11-20T11:00:01.5+01:00", 15e8},
		{"2026-11-20T11:00:01", 1e9},
		{"11:00:02", 2e9},
		{"11:00:02.25", 225e7},
		{"+1.5s", 15e8},
		{"-30s", 70e9},
	} {
		m, err := parse(tt.in)
		if err != nil {
			t.Errorf("parse(%q): %v", tt.in, err)
			continue
		}
		if got := m.resolve(first, last) - first; got != tt.want {
			t.Errorf("parse(%q) is %d ns after the first event, want %d", tt.in, got, tt.want)
		}
	}
	for _, in := range []string{"", "+", "-", "now", "25:00:00", "+x", "2026-13-01T00:00:00Z"} {
		if m, err := parse(in); err == nil {
			t.Errorf("parse(%q) = %v, want an error", in, m)
		}
	}
}
