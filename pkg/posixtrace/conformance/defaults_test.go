package conformance

import (
	"fmt"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A stream with log of the default size holds a burst of 3,000 events with 100 bytes of data each.
func TestDefaultLoggedStreamHoldsABurst(t *testing.T) {
	s, path := newLoggedOf(t, 0, posixtrace.Attr{LogFullPolicy: posixtrace.PolicyAppend})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := posixtrace.OpenEventID("attr.burst")
	if err != nil {
		t.Fatal(err)
	}
	const burst = 3000
	for i := range burst {
		posixtrace.Event(id, fmt.Appendf(nil, "%0100d", i))
	}
	st, err := s.PeekStatus()
	if err != nil || st.Lost != 0 {
		t.Errorf("%d events lost, %v", st.Lost, err)
	}
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	l := openLogAt(t, path)
	n := 0
	for {
		ev, _, err := l.Next(nil)
		if err != nil {
			break
		}
		if ev.ID == id {
			n++
		}
	}
	if n != burst {
		t.Errorf("%d events in the log, want %d", n, burst)
	}
}

func TestAttributesReadBackSettings(t *testing.T) {
	for _, tt := range []struct {
		set          posixtrace.Attr
		logged       bool
		stream, data int
	}{
		{posixtrace.Attr{}, false, posixtrace.DefaultStreamSize, posixtrace.DefaultMaxDataSize},
		{posixtrace.Attr{}, true, posixtrace.DefaultLoggedStreamSize, posixtrace.DefaultMaxDataSize},
		{posixtrace.Attr{StreamSize: 100 << 10, MaxDataSize: new(0)}, false, 100 << 10, 0},
		{posixtrace.Attr{StreamSize: 100 << 10, MaxDataSize: new(1)}, true, 100 << 10, 1},
	} {
		a := attrOf(t, tt.set, tt.logged)
		if a.StreamSize != int64(tt.stream) || a.MaxDataSize != tt.data {
			t.Errorf("log %v: %+v became stream size %d, data size %d; want %d, %d",
				tt.logged, tt.set, a.StreamSize, a.MaxDataSize, tt.stream, tt.data)
		}
		if b := attrOf(t, a.Attr(), tt.logged); b.StreamSize != a.StreamSize || b.MaxDataSize != a.MaxDataSize || b.LogSize != a.LogSize {
			t.Errorf("%+v became %+v", a, b)
		}
	}
}
