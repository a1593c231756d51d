package posixtrace

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// For every source of a Reader, batches have the events that Next returns, and Count counts them.
func TestBatchesAndCounts(t *testing.T) {
	var ids [3]EventID
	for i := range ids {
		var err error
		if ids[i], err = OpenEventID("batch." + string(rune('a'+i))); err != nil {
			t.Fatal(err)
		}
	}
	record := func(n int) {
		var writers sync.WaitGroup
		data := []byte("0123456789abcdef")
		for k := range 3 {
			writers.Go(func() {
				for i := range n {
					Event(ids[(i+k)%len(ids)], data[:(i+k)%len(data)])
				}
			})
		}
		writers.Wait()
	}
	start := func(s *Stream, err error) *Stream {
		t.Helper()
		if err == nil {
			err = s.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Shutdown() })
		return s
	}
	s := start(Create(0, &Attr{StreamSize: 256 << 10, StreamFullPolicy: PolicyLoop}))
	record(2000)
	sameInAllWays(t, "a stream", s.Reader)
	s.Shutdown()

	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s = start(CreateWithLog(0, &Attr{StreamSize: 4 << 20, StreamFullPolicy: PolicyFlush, LogFullPolicy: PolicyAppend}, f))
	s.log.Halt() // an automatic flush would add its marks while readers are compared
	record(5000)
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	record(1000)
	if err := s.Stop(); err != nil { // so that the stream does not grow
		t.Fatal(err)
	}
	sameInAllWays(t, "a live log", s.Reader)
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	sameInAllWays(t, "a finished log", func() (*Reader, error) { return NewReader(f) })
	log, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	sameInAllWays(t, "a log from a pipe", func() (*Reader, error) { return NewReader(bytes.NewReader(log)) })
}

func sameInAllWays(t *testing.T, what string, open func() (*Reader, error)) {
	t.Helper()
	reader := func(sel Selection) *Reader {
		t.Helper()
		r, err := open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		r.Select(sel)
		return r
	}
	one := func(sel Selection) (recs []Record) {
		t.Helper()
		r := reader(sel)
		for {
			rec, err := r.Next()
			if err == io.EOF {
				return recs
			}
			if err != nil {
				t.Fatal(err)
			}
			recs = append(recs, Record{rec.EventInfo, rec.Name, bytes.Clone(rec.Data)})
		}
	}
	all := one(Selection{})
	if len(all) < 5000 {
		t.Fatalf("%s: %d events", what, len(all))
	}
	var types EventSet
	types.Add(all[len(all)/2].ID)
	from, to := all[len(all)/3].Time(), all[len(all)/2].Time()
	for _, sel := range []Selection{{}, {Types: &types}, {Since: from}, {Until: to}, {Since: from, Until: to, Types: &types}, {Types: &EventSet{}}, {Since: to.Add(time.Hour)}} {
		want := one(sel)
		r := reader(sel)
		var b [2]Batch // one is used while the other is valid, too
		read := 0
		compare := func(b *Batch) {
			t.Helper()
			for i := range b.Records {
				got := &b.Records[i]
				if read == len(want) || got.EventInfo != want[read].EventInfo || !bytes.Equal(got.Data, want[read].Data) {
					t.Fatalf("%s, %+v: event %d of %d in batches is %+v %q", what, sel, read, len(want), got.EventInfo, got.Data)
				}
				read++
			}
		}
		for i := 0; ; i = 1 - i {
			err := r.NextBatch(&b[i])
			compare(&b[1-i])
			b[1-i].Records = b[1-i].Records[:0]
			if err == io.EOF {
				break
			}
			if err != nil || len(b[i].Records) == 0 {
				t.Fatalf("%s, %+v: a batch of %d events: %v", what, sel, len(b[i].Records), err)
			}
		}
		if read != len(want) {
			t.Fatalf("%s, %+v: %d events in batches, want %d", what, sel, read, len(want))
		}
		if err := r.NextBatch(&b[0]); err != io.EOF {
			t.Errorf("%s: behind the end: %v", what, err)
		}

		// Alternating with Next.
		r = reader(sel)
		for read = 0; ; {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil || read == len(want) || rec.EventInfo != want[read].EventInfo {
				t.Fatalf("%s, %+v: event %d of %d in turn with batches: %+v, %v", what, sel, read, len(want), rec, err)
			}
			read++
			if err := r.NextBatch(&b[0]); err != nil && err != io.EOF {
				t.Fatal(err)
			}
			compare(&b[0])
		}
		if read != len(want) {
			t.Errorf("%s, %+v: %d events in turn with batches, want %d", what, sel, read, len(want))
		}

		sameCounts(t, what, reader(sel), want)
		// Count continues after Next.
		skip := min(len(want), 700)
		r = reader(sel)
		for range skip {
			r.Next()
		}
		sameCounts(t, what+" from the middle on", r, want[skip:])
	}
}

func sameCounts(t *testing.T, what string, r *Reader, want []Record) {
	t.Helper()
	counts := map[EventID]*TypeCount{}
	for i := range want {
		rec := &want[i]
		if counts[rec.ID] == nil {
			counts[rec.ID] = &TypeCount{ID: rec.ID, First: rec.UnixNano}
		}
		n := counts[rec.ID]
		n.Events++
		n.Bytes += uint64(len(rec.Data))
		n.Last = max(n.Last, rec.UnixNano)
	}
	var c Counts
	for {
		err := r.Count(&c)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range c.Types() {
		if w := counts[n.ID]; w == nil || n != *w {
			t.Errorf("%s, %+v: counted %+v, want %+v", what, r.sel, n, w)
		}
		delete(counts, n.ID)
	}
	if len(counts) > 0 || c.Events != uint64(len(want)) {
		t.Errorf("%s, %+v: counted %d events, want %d, and none of %v", what, r.sel, c.Events, len(want), counts)
	}
	if state, err := r.State(); state != LogFinished && state != LogLive {
		t.Errorf("%s: state %v, %v", what, state, err)
	}
}
