package stream

import (
	"bytes"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

var twoMaps = []Mapping{{1000, 2000, []byte("program")}, {3000, 4000, []byte("a library")}}

// noting returns a writer that notes two mappings.
func noting(t *testing.T, m *Mem) *Writer {
	t.Helper()
	maps := new(Maps)
	maps.Set(twoMaps)
	w := newWriter(t, m, 1)
	w.NoteMaps(maps)
	return w
}

// mapReader checks that each event follows a note on the mapping of its address.
type mapReader struct {
	t      *testing.T
	known  map[string]int
	events int
}

func (r *mapReader) take(rec *chunk.Record, pid uint32) {
	r.t.Helper()
	for m := rec.Maps; m != nil; m = m.Next {
		if m.PID != pid {
			r.t.Fatalf("a note of process %d", m.PID)
		}
		r.known[string(m.Data)]++
	}
	if rec.Event != event.FirstUser {
		return
	}
	r.events++
	for _, m := range twoMaps {
		if m.Start <= rec.Addr && rec.Addr < m.End && r.known[string(m.Data)] == 0 {
			r.t.Fatalf("no note before an event at %d", rec.Addr)
		}
	}
}

// readMaps reads a snapshot with its notes.
func readMaps(t *testing.T, m *Mem) *mapReader {
	t.Helper()
	r := &mapReader{t: t, known: map[string]int{}}
	s := m.Snapshot()
	plain := 0
	var rec chunk.Record
	for ; s.Next(&rec); plain++ {
		if rec.Maps != nil {
			t.Fatal("a note that no reader has asked for")
		}
	}
	s = m.Snapshot()
	s.ReportMaps()
	all := 0
	for ; s.Next(&rec); all++ {
		r.take(&rec, sys.SelfProc().PID)
	}
	if all != plain {
		t.Fatalf("%d events, %d with notes", plain, all)
	}
	return r
}

var mapAddrs = [...]uint64{1500, 3500, 1999, 5000, 3000, 2000}

// Each chunk has notes on the mappings of its addresses, so what is left of a LOOP stream has them, in
// chunks of one writer and in open ones, and with any data. Without data, the room for notes is small.
func TestMapNotes(t *testing.T) {
	for _, policy := range []uint8{Loop, UntilFull, Flush} {
		for _, short := range []bool{false, true} {
			for _, size := range []int{0, 16, 200} {
				m := newMem(t, 64<<10, policy)
				w := noting(t, m)
				if short {
					w.Short()
				}
				m.Start(w, Event{})
				recorded := 0
				for n := range 60_000 {
					if !w.Record(0, &Event{ID: event.FirstUser, Addr: mapAddrs[n%len(mapAddrs)]}, make([]byte, size)) {
						break
					}
					recorded++
				}
				r := readMaps(t, m)
				if policy == Loop && (r.events == recorded || r.known["program"] < 2 || r.known["a library"] < 2) ||
					policy != Loop && r.events != recorded {
					t.Errorf("policy %d, short %v, %d bytes: %d events of %d, notes %v", policy, short, size, r.events, recorded, r.known)
				}
			}
		}
	}
}

// Where all chunks go to a log, one note of each mapping will do, until the stream is cleared.
func TestMapNotesOnce(t *testing.T) {
	m := newMem(t, 256<<10, UntilFull)
	m.HasLog = true
	w := noting(t, m)
	m.Start(w, Event{})
	for round := range 3 {
		for n := range 1000 {
			w.Record(n, &Event{ID: event.FirstUser, Addr: mapAddrs[n%len(mapAddrs)]}, make([]byte, 100))
		}
		if r := readMaps(t, m); r.known["program"] != 1 || r.known["a library"] != 1 || r.events != 1000 {
			t.Fatalf("round %d: %d events, notes %v", round, r.events, r.known)
		}
		m.Clear()
	}
}

// An event whose note was consumed with events before it still has its name.
func TestMapNotesOfConsumed(t *testing.T) {
	m := newMem(t, 64<<10, UntilFull)
	w := noting(t, m)
	m.Start(w, Event{})
	for range 10 {
		w.Record(0, &Event{ID: event.FirstUser, Addr: 1500}, nil)
	}
	r := m.NewReader()
	var rec chunk.Record
	for range 5 {
		if !r.Next(&rec) || rec.Maps != nil {
			t.Fatal(rec)
		}
	}
	if r := readMaps(t, m); r.known["program"] != 1 || r.events != 6 {
		t.Fatalf("%d events, notes %v", r.events, r.known)
	}
}

// A filter that rejects proc.map stops the notes, and what does not fit is left out: never an event.
func TestMapNotesLeftOut(t *testing.T) {
	m := newMem(t, 64<<10, UntilFull)
	maps := new(Maps)
	maps.Set([]Mapping{{1000, 2000, bytes.Repeat([]byte("x"), 5000)}, {3000, 4000, bytes.Repeat([]byte("y"), 600)}})
	w := newWriter(t, m, 1)
	w.NoteMaps(maps)
	m.Start(w, Event{})
	for _, addr := range []uint64{1500, 3500, 9000} {
		if !w.Record(0, &Event{ID: event.FirstUser, Addr: addr}, nil) {
			t.Fatal("an event is lost")
		}
	}
	s := m.Snapshot()
	s.ReportMaps()
	n := 0
	var rec chunk.Record
	for ; s.Next(&rec); n++ {
		if rec.Maps != nil {
			t.Errorf("a note of %d bytes", len(rec.Maps.Data))
		}
	}
	if n != 4 {
		t.Errorf("%d events", n)
	}
	var f event.Set
	f.Add(event.ProcMap)
	m = newMem(t, 64<<10, UntilFull)
	w = noting(t, m)
	m.SetFilter(w, Event{}, &f)
	m.Start(w, Event{})
	w.Record(0, &Event{ID: event.FirstUser, Addr: 1500}, nil)
	s = m.Snapshot()
	s.ReportMaps()
	for s.Next(&rec) {
		if rec.Maps != nil {
			t.Error("a note that the filter rejects")
		}
	}
}
