package posixtrace

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// readEvent is an event as a reader reports it.
type readEvent struct {
	id   EventID
	addr uint64
	data string
}

// inSteps reads all that a reader reports, one by one or in batches.
func inSteps(t *testing.T, r *Reader, batches bool) (all []readEvent) {
	t.Helper()
	var b Batch
	for {
		var recs []Record
		var err error
		if batches {
			err = r.NextBatch(&b)
			recs = b.Records
		} else {
			var rec *Record
			if rec, err = r.Next(); err == nil {
				recs = []Record{*rec}
			}
		}
		if err == io.EOF {
			return all
		}
		tracetest.OK(t, "Next", err)
		for _, rec := range recs {
			all = append(all, readEvent{rec.ID, rec.Address, string(rec.Data)})
		}
	}
}

// checkNamed checks that each event of this program follows a note on the mapping of its address, of
// the file of this program, and returns the number of notes.
func checkNamed(t *testing.T, all []readEvent) (notes int) {
	t.Helper()
	exe, err := os.Executable()
	tracetest.OK(t, "Executable", err)
	var known []MapData
	for _, e := range all {
		if e.id == EventProcMap {
			d, err := DecodeMap([]byte(e.data))
			tracetest.OK(t, "DecodeMap", err)
			if d.Path != exe || d.Program == 0 || d.Err != 0 || len(d.BuildID) == 0 {
				t.Errorf("the mapping is %+v, want one of %s", d, exe)
			}
			known = append(known, d)
			continue
		}
		if e.id.User() && !slices.ContainsFunc(known, func(d MapData) bool { return d.Start <= e.addr && e.addr < d.End }) {
			t.Errorf("no mapping before the event at %#x", e.addr)
		}
	}
	return len(known)
}

// A program that records events notes its own mapping before the first: in the stream, in a live log, in
// the finished one, and in what WriteLog makes of that. No reader that does not ask has the note, and no
// count includes it.
func TestOwnMappings(t *testing.T) {
	s, path := withLog(t, nil)
	tracetest.OK(t, "Start", s.Start())
	id, err := OpenEventID("own.maps")
	tracetest.OK(t, "OpenEventID", err)
	for range 3 {
		Event(id, []byte("x"))
	}
	check := func(what string, r *Reader) {
		t.Helper()
		plain := inSteps(t, r, false)
		if n := countAll(t, r); n != uint64(len(plain)) {
			t.Errorf("%s: %d events, counted %d", what, len(plain), n)
		}
		for _, batches := range []bool{false, true} {
			r.Select(Selection{Mappings: true})
			tracetest.OK(t, "Rewind", r.Rewind())
			all := inSteps(t, r, batches)
			if n := checkNamed(t, all); n != 1 || len(all) != len(plain)+1 {
				t.Errorf("%s: %d notes and %d events, %d without notes", what, n, len(all)-n, len(plain))
			}
			var types EventSet
			types.Add(EventProcMap)
			r.Select(Selection{Mappings: true, Types: &types})
			tracetest.OK(t, "Rewind", r.Rewind())
			if all := inSteps(t, r, batches); len(all) != 1 || all[0].id != EventProcMap {
				t.Errorf("%s: selected %v", what, all)
			}
		}
		r.Select(Selection{})
		tracetest.OK(t, "Rewind", r.Rewind())
		if again := inSteps(t, r, true); !slices.Equal(again, plain) {
			t.Errorf("%s: %v, before %v", what, again, plain)
		}
	}
	live, err := s.Reader()
	tracetest.OK(t, "Reader", err)
	check("stream", live)
	tracetest.OK(t, "Flush", s.Flush())
	live.Select(Selection{Mappings: true})
	tracetest.OK(t, "Renew", live.Renew(time.Time{}))
	if n := checkNamed(t, inSteps(t, live, true)); n != 1 {
		t.Errorf("after a flush: %d notes", n)
	}
	tracetest.OK(t, "Close", live.Close())
	tracetest.OK(t, "Shutdown", s.Shutdown())
	open := func(path string) *Reader {
		f, err := os.Open(path)
		tracetest.OK(t, "Open", err)
		t.Cleanup(func() { f.Close() })
		r, err := NewReader(f)
		tracetest.OK(t, "NewReader", err)
		t.Cleanup(func() { r.Close() })
		return r
	}
	check("log", open(path))

	// What WriteLog leaves out takes no note with it, unless it leaves out the notes.
	copied := filepath.Join(t.TempDir(), "copy.trace")
	for _, keepNotes := range []bool{true, false} {
		var out bytes.Buffer
		left := 0
		err = open(path).WriteLog(&out, func(rec *Record) bool {
			if rec.ID == EventProcMap {
				return keepNotes
			}
			left++
			return left != 2 // the first of the three events
		})
		tracetest.OK(t, "WriteLog", err)
		tracetest.OK(t, "WriteFile", os.WriteFile(copied, out.Bytes(), 0o600))
		if keepNotes {
			check("copy", open(copied))
			continue
		}
		r := open(copied)
		r.Select(Selection{Mappings: true})
		if all := inSteps(t, r, true); slices.ContainsFunc(all, func(e readEvent) bool { return e.id == EventProcMap }) {
			t.Errorf("a note that WriteLog was to leave out: %v", all)
		}
	}
}

// countAll counts the events of a reader from the start.
func countAll(t *testing.T, r *Reader) uint64 {
	t.Helper()
	r.Select(Selection{Mappings: true})
	tracetest.OK(t, "Rewind", r.Rewind())
	var c Counts
	for {
		err := r.Count(&c)
		if err == io.EOF {
			return c.Events
		}
		tracetest.OK(t, "Count", err)
	}
}

// A stream whose filter rejects proc.map has no notes. Events on behalf of another process have none.
func TestNoOwnMappings(t *testing.T) {
	s := running(t, 0, Attr{})
	var set EventSet
	set.Add(EventProcMap)
	tracetest.OK(t, "SetFilter", s.SetFilter(set, FilterAdd))
	Event(EventUnnamed, []byte("x"))
	r, err := s.Reader()
	tracetest.OK(t, "Reader", err)
	defer r.Close()
	r.Select(Selection{Mappings: true})
	all := inSteps(t, r, false)
	if n := kinds(all, EventProcMap); n != 0 || kinds(all, EventUnnamed) != 1 {
		t.Errorf("%v", all)
	}
	s = running(t, 0, Attr{})
	rec, err := s.Recorder()
	tracetest.OK(t, "Recorder", err)
	defer rec.Close()
	rec.Record(EventInfo{ID: EventUnnamed, PID: 1, Address: uint64(ownMaps().List()[0].Start)}, nil)
	other, err := s.Reader()
	tracetest.OK(t, "Reader", err)
	defer other.Close()
	other.Select(Selection{Mappings: true})
	if all := inSteps(t, other, false); kinds(all, EventProcMap) != 0 {
		t.Errorf("a mapping of this process for an event of another: %v", all)
	}
}

func kinds(all []readEvent, id EventID) (n int) {
	for _, e := range all {
		if e.id == id {
			n++
		}
	}
	return n
}
