package analysis

import (
	"encoding/binary"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Whatever a log contains, an analysis ends, and no duration is below 0.
func FuzzAnalysis(f *testing.F) {
	f.Add([]byte("\x01\x01\x02\x03abcdefgh\x02\x01\x02\x03abcdefgh\x03\x01\x02\x03abcdefgh"))
	f.Add([]byte("\x07\x01\x01\x03aaaaaaaa\x08\x01\x01\x03baaaaaaa\x07\x01\x01\x03caaaaaaa\x04\x01\x02\x03daaaaaaa"))
	exit := (&posixtrace.ExitData{Status: 1, User: 5, MaxRSS: 9}).Append(nil)
	f.Fuzz(func(t *testing.T, b []byte) {
		names := []string{"a.begin", "a.end", "step.begin", "step.end", "plain"}
		seen := map[uint64]bool{}
		a := New(Limits{Rows: 3, Calls: true, Each: func(iv *Interval) {
			if iv.ID == 0 || seen[iv.ID] || iv.Parent >= iv.ID || iv.End < iv.Start || iv.Source < 0 || iv.Source > 1 || len(iv.Data) > maxArgs {
				t.Fatalf("%+v", iv)
			}
			seen[iv.ID] = true
		}})
		sources := [2]*Source{}
		for i := range sources {
			sources[i] = a.NewSource(func(id posixtrace.EventID) string {
				switch {
				case id.User() && int(id-firstID) < len(names):
					return names[id-firstID]
				case id == 3600:
					return "syscall.read"
				}
				return ""
			})
		}
		ids := []posixtrace.EventID{posixtrace.EventProcFork, posixtrace.EventProcExec, posixtrace.EventProcExit, posixtrace.EventOutputStdout,
			3600, firstID, firstID + 1, firstID + 2, firstID + 3, firstID + 4, 0, 1 << 15}
		n := uint64(0)
		for ; len(b) >= 12; b = b[12:] {
			rec := posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: ids[int(b[0])%len(ids)], PID: int(b[1] % 8), TID: int(b[2] % 4), Span: uint64(b[3] % 4), Parent: uint64(b[3] / 4 % 4),
				UnixNano: int64(binary.LittleEndian.Uint64(b[4:]))}}
			rec.Data = b[1:min(len(b), 40)]
			switch rec.ID {
			case posixtrace.EventProcFork:
				rec.Data = (&posixtrace.ForkData{Child: int(b[3] % 8)}).Append(nil)
			case posixtrace.EventProcExit:
				rec.Data = exit
			}
			sources[b[0]>>7].Add([]posixtrace.Record{rec})
			n++
		}
		a.Finish()
		for _, h := range a.observer.homes {
			open, keyed := 0, 0
			for p := h.latest; p != nil; p = p.older {
				if open++; p.home != h || open > a.spans.open {
					t.Fatalf("%+v", p)
				}
				if p.keyed {
					keyed++
				}
			}
			if keyed != h.keyed {
				t.Fatalf("%d spans with keys, %d counted", keyed, h.keyed)
			}
		}
		if a.Events != n || a.Duration() < 0 {
			t.Fatalf("%d events of %d in %d", a.Events, n, a.Duration())
		}
		list, failed := a.Commands()
		for _, c := range append(list, failed...) {
			if c.Wall < 0 || c.Self < 0 || c.Self > c.Wall || c.CPU < 0 {
				t.Fatalf("%+v", c)
			}
		}
		for _, r := range a.Spans() {
			if r.Times.Total < 0 || r.Self < 0 || r.Self > r.Times.Total || r.Open > n {
				t.Fatalf("%+v", r)
			}
		}
		for _, g := range a.Programs() {
			if g.Wall < 0 || g.Self < 0 || g.CPU < 0 || g.Commands > n {
				t.Fatalf("%+v", g)
			}
		}
		pauses, _ := a.Pauses()
		for _, p := range pauses {
			if p.Duration <= 0 {
				t.Fatalf("%+v", p)
			}
		}
	})
}
