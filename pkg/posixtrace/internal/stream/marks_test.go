package stream

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// story returns a letter for each mark, and e for any number of events in between.
func story(recs []chunk.Record) string {
	var b strings.Builder
	for _, r := range recs {
		switch r.Event {
		case event.Start:
			b.WriteByte('S')
		case event.Stop:
			fmt.Fprintf(&b, "P%d", binary.LittleEndian.Uint32(r.Data))
		case event.Overflow:
			b.WriteByte('O')
		case event.Resume:
			b.WriteByte('R')
		case event.Filter:
			b.WriteByte('F')
		case event.FlushStart:
			b.WriteByte('<')
		case event.FlushStop:
			b.WriteByte('>')
		default:
			if s := b.String(); !strings.HasSuffix(s, "e") {
				b.WriteByte('e')
			}
		}
	}
	return b.String()
}

func readAll(t testing.TB, r source) (recs []chunk.Record) {
	t.Helper()
	var rec chunk.Record
	last := uint64(0)
	for r.Next(&rec) {
		if rec.Tick < last {
			t.Errorf("time runs backwards at event %d (type %d)", len(recs), rec.Event)
		}
		last = rec.Tick
		c := rec
		c.Data = slices.Clone(rec.Data)
		recs = append(recs, c)
	}
	return recs
}

func fill(t testing.TB, m *Mem, w *Writer) (recorded int) {
	t.Helper()
	e := Event{ID: event.FirstUser}
	for range 1 << 20 {
		if !w.Record(0, &e, make([]byte, 100)) {
			return recorded
		}
		recorded++
	}
	t.Fatal("never full")
	return 0
}

func want(t *testing.T, got []chunk.Record, story_ string) {
	t.Helper()
	if s := story(got); s != story_ {
		t.Fatalf("read %q, want %q", s, story_)
	}
}

func TestMarksUntilFull(t *testing.T) {
	m := newMem(t, 16<<10, UntilFull)
	c, w := newWriter(t, m, 1), newWriter(t, m, 1)
	m.Start(c, Event{})
	fill(t, m, w)
	st := m.Status(false)
	if st.Running || !st.Full || !st.Overrun || st.Lost != 1 {
		t.Fatalf("%+v", st)
	}
	fill(t, m, w)
	if m.Lost() != 2 {
		t.Fatal("lost ", m.Lost())
	}
	want(t, readAll(t, m.Snapshot()), "SeP1O") // a snapshot changes nothing
	r := m.NewReader()
	recs := readAll(t, r)
	want(t, recs, "SeP1O")
	if m.State()&Running != 0 || !m.Restartable() {
		t.Fatal("not restartable")
	}
	fill(t, m, w) // lost as well, after the OVERFLOW: there is no second
	m.Restart(c)
	want(t, readAll(t, r), "S") // readable at once (FUL-10)
	w.Record(0, &Event{ID: event.FirstUser}, nil)
	recs = readAll(t, r)
	want(t, recs, "Re")
	if recs[0].Tick != recs[1].Tick {
		t.Error("RESUME does not have the time of its event")
	}
	if st := m.Status(true); !st.Overrun || m.Status(true).Overrun || st.Lost != 3 {
		t.Errorf("%+v", st)
	}
}

func TestMarksEarlyRestart(t *testing.T) {
	m := newMem(t, 16<<10, UntilFull)
	c, w := newWriter(t, m, 1), newWriter(t, m, 1)
	m.Start(c, Event{})
	n := fill(t, m, w)
	m.Start(c, Event{}) // full: no effect
	if m.State()&Running != 0 {
		t.Fatal("a full stream was started")
	}
	r := m.NewReader()
	var rec chunk.Record
	var recs []chunk.Record
	for range n/2 + 1 {
		if !r.Next(&rec) {
			t.Fatal("end")
		}
		recs = append(recs, chunk.Record{Event: rec.Event, Tick: rec.Tick})
	}
	if st := m.Status(false); st.Running || st.Full {
		t.Fatalf("%+v", st)
	}
	m.Start(c, Event{})
	if m.State()&Running == 0 {
		t.Fatal("not started")
	}
	w.Record(0, &Event{ID: event.FirstUser}, nil)
	want(t, append(recs, readAll(t, r)...), "SeP1OSRe")
}

func TestMarksNoRestart(t *testing.T) {
	m := newMem(t, 16<<10, UntilFull)
	c, w := newWriter(t, m, 1), newWriter(t, m, 1)
	m.Start(c, Event{})
	fill(t, m, w)
	m.Stop(c, Event{})
	lost := m.Lost()
	fill(t, m, w)
	if m.Lost() != lost {
		t.Error("events after an explicit stop count as lost")
	}
	r := m.NewReader()
	want(t, readAll(t, r), "SeP1O")
	if m.Restart(c); m.State()&Running != 0 {
		t.Error("restarted after an explicit stop")
	}
	m.Start(c, Event{})
	if !m.Status(false).Running {
		t.Error("not started")
	}
	want(t, readAll(t, r), "S")
	fill(t, m, w)
	m.Clear()
	if st := m.Status(false); st.Running || st.Full || st.Overrun {
		t.Errorf("%+v", st)
	}
	if m.Restart(c); m.State()&Running != 0 {
		t.Error("restarted after clear")
	}
	want(t, readAll(t, r), "")
	m.Start(c, Event{})
	w.Record(0, &Event{ID: event.FirstUser}, nil)
	want(t, readAll(t, r), "Se")
}

func TestClearTakesFromReader(t *testing.T) {
	m := newMem(t, 16<<10, Loop)
	c, w := newWriter(t, m, 1), newWriter(t, m, 1)
	m.Start(c, Event{})
	e := Event{ID: event.FirstUser}
	for range 1000 {
		w.Record(0, &e, make([]byte, 100))
	}
	r := m.NewReader()
	var rec chunk.Record
	for range 3 {
		if !r.Next(&rec) {
			t.Fatal("nothing to read")
		}
	}
	m.Clear() // the reader has copied a chunk already
	want(t, readAll(t, r), "")
	if st := m.Status(false); !st.Running || st.Full || st.Overrun {
		t.Errorf("%+v", st)
	}
	w.Record(0, &e, nil)
	want(t, readAll(t, r), "e")
}

func TestMarksLoop(t *testing.T) {
	m := newMem(t, 16<<10, Loop)
	c, w := newWriter(t, m, 1), newWriter(t, m, 1)
	e := Event{ID: event.FirstUser}
	m.Start(c, Event{})
	first := m.now()
	for range 1000 {
		w.Record(0, &e, make([]byte, 100))
	}
	if st := m.Status(false); !st.Running || !st.Full || !st.Overrun {
		t.Fatalf("%+v", st)
	}
	r := m.NewReader()
	recs := readAll(t, r)
	want(t, recs, "SORe")
	if recs[1].Tick < first || recs[2].Tick != recs[3].Tick {
		t.Error("times of the marks")
	}
	if m.Status(false).Full {
		t.Error("full after everything was read")
	}
	if uint64(len(recs)-2)+m.Lost() != 1001 {
		t.Errorf("%d recorded, %d lost", len(recs)-2, m.Lost())
	}
	for range 1000 {
		w.Record(0, &e, make([]byte, 100))
	}
	m.Stop(c, Event{})
	want(t, readAll(t, r), "ORe") // no STOP in a full stream, STA-06
	m.Start(c, Event{})
	m.Stop(c, Event{})
	want(t, readAll(t, r), "SP0")
}

func TestFlushReportsMarks(t *testing.T) {
	m := newMem(t, 16<<10, Flush)
	c, w := newWriter(t, m, 1), newWriter(t, m, 1)
	var recs []chunk.Record
	put := func(b *Block) error {
		return eachEvent(b, func(rec *chunk.Record) {
			d := *rec
			d.Data = slices.Clone(rec.Data)
			recs = append(recs, d)
		})
	}
	flush := func() []chunk.Record {
		recs = nil
		mark := m.now()
		if wm, err := flushTo(m, c.Slot(), put); err != nil || wm < mark {
			t.Fatal(wm, mark, err)
		}
		slices.SortStableFunc(recs, func(a, b chunk.Record) int { return int(int64(a.Tick - b.Tick)) })
		return recs
	}
	m.Start(c, Event{})
	fill(t, m, w)
	want(t, flush(), "SeP1O<")
	if !m.Restartable() {
		t.Fatal("not restartable")
	}
	fill(t, m, w)
	m.Restart(c)
	w.Record(0, &Event{ID: event.FirstUser}, nil)
	want(t, flush(), ">SRe<")
	fill(t, m, w)
	fail := fmt.Errorf("no space")
	calls := 0
	if _, err := flushTo(m, c.Slot(), func(b *Block) error {
		if calls++; calls > 3 {
			return fail
		}
		return put(b)
	}); err != fail {
		t.Fatal(err)
	}
}

// TestFilterTakesEffectAtOneInstant checks that events judged by the old filter stand before the FILTER
// event, events judged by the new filter behind it, and none between STOP and START.
func TestFilterTakesEffectAtOneInstant(t *testing.T) {
	setPatience(t, 10*time.Second) // late events would end the check
	m := newMem(t, 1<<20, Loop)
	c := newWriter(t, m, 1)
	a, b := event.FirstUser, event.FirstUser+1
	var not [2]event.Set
	not[0].Add(b) // a passes
	not[1].Add(a)
	m.SetFilter(c, Event{}, &not[0])
	m.Start(c, Event{})
	var quit atomic.Bool
	var wg sync.WaitGroup
	for range 3 {
		w := newWriter(t, m, 2)
		wg.Go(func() {
			ea, eb := Event{ID: a}, Event{ID: b}
			for n := 0; !quit.Load(); n++ {
				w.Record(n>>4, &ea, nil)
				w.Record(n>>4, &eb, nil)
				if n%200 == 0 {
					time.Sleep(20 * time.Microsecond)
				}
			}
		})
	}
	r := m.NewReader()
	running, pass, known, lossy, turned := false, a, true, false, uint64(0)
	counts := make(map[event.ID]int)
	check := func(rec *chunk.Record) {
		counts[rec.Event]++
		switch rec.Event {
		case event.Overflow:
			lossy = true // a FILTER or a STOP may be among the lost events
		case event.Resume:
			lossy, known, running = false, false, true
		case event.Start:
			running = true
		case event.Stop:
			running = false
		case event.Filter:
			old, rest, err := event.DecodeSet(rec.Data)
			if err != nil {
				t.Fatal(err)
			}
			s, _, _ := event.DecodeSet(rest)
			if known && !lossy && !old.Has(a+b-pass) {
				t.Error("FILTER of another set")
			}
			known, turned = true, rec.Tick
			if pass = a; s.Has(a) {
				pass = b
			}
		case a, b:
			if !running && !lossy {
				t.Fatal("event while the stream was stopped")
			}
			if rec.Event != pass && known && !lossy {
				t.Fatalf("type %d at %d, rejected by the filter in force since %d", rec.Event, rec.Tick, turned)
			}
		}
	}
	var rec chunk.Record
	enough := func() bool { return counts[event.Filter] >= 5 && counts[a] > 0 && counts[b] > 0 }
	for n, more := 1, lasting(400*time.Millisecond, enough); more(); n++ {
		m.SetFilter(c, Event{}, &not[n&1])
		if n%5 == 0 {
			m.Stop(c, Event{})
			m.Start(c, Event{})
		}
		time.Sleep(100 * time.Microsecond)
		for range 20000 {
			if !r.Next(&rec) {
				break
			}
			if m.h.late.Load() == 0 {
				check(&rec)
			}
		}
	}
	quit.Store(true)
	wg.Wait()
	if !enough() {
		t.Error(counts)
	}
	t.Logf("%v, %d late, %d lost", counts, m.h.late.Load(), m.Lost())
}
