package stream

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// overwrite has w lose events of a LOOP stream, and ends the gap.
func overwrite(m *Mem, w *Writer) {
	for lost := m.Lost(); m.Lost() == lost; {
		w.Record(0, &Event{ID: event.FirstUser}, make([]byte, 100))
	}
}

// logOf is a sink that keeps what it gets.
type logOf []chunk.Record

func (l *logOf) put(b *Block) error {
	return eachEvent(b, func(rec *chunk.Record) {
		r := *rec
		r.Data = slices.Clone(rec.Data)
		*l = append(*l, r)
	})
}

// story is story of the events in the order of a log's readers.
func (l *logOf) story() string {
	slices.SortStableFunc(*l, func(a, b chunk.Record) int {
		return cmp.Or(cmp.Compare(a.Tick, b.Tick), cmp.Compare(a.Event/event.FirstUser, b.Event/event.FirstUser))
	})
	return story(*l)
}

// TestLossIsOwedUntilLogHasIt ends flushes of a LOOP stream at each place where they may stay: the flush
// fails, or its process is killed. A snapshot, a reader and the next flush then report the loss.
func TestLossIsOwedUntilLogHasIt(t *testing.T) {
	setPatience(t, 5*time.Millisecond)
	ends := map[string]func(t *testing.T, m *Mem, slot uint64){
		"put fails": func(t *testing.T, m *Mem, slot uint64) {
			fail := errors.New("no space")
			if _, err := flushTo(m, slot, func(*Block) error { return fail }); err != fail {
				t.Fatal(err)
			}
		},
		"killed in put": func(t *testing.T, m *Mem, slot uint64) {
			killFlush(t, func(kill func()) {
				flushTo(m, slot, func(*Block) error { kill(); return nil })
			})
		},
		"killed while it waits": func(t *testing.T, m *Mem, slot uint64) {
			stuck := newWriter(t, m, 1)
			stuck.Record(0, &Event{ID: event.FirstUser}, nil)
			i := int(stuck.shard(0).tag.Load() & idxMask)
			c := word(m, i)
			if !m.at(i).seize(c) {
				t.Fatal("the chunk is busy")
			}
			killFlush(t, func(kill func()) {
				put := func(*Block) (bool, error) { return false, nil }
				m.Flush(slot, &Sink{Put: put, Room: math.MaxInt64, Lost: func(int) {}, Recover: kill})
			})
			m.at(i).letGo(c)
		},
	}
	then := map[string]func(t *testing.T, m *Mem, slot uint64) string{
		"flush": func(t *testing.T, m *Mem, slot uint64) string {
			var l logOf
			if _, err := flushTo(m, slot, l.put); err != nil {
				t.Fatal(err)
			}
			return l.story()
		},
		"snapshot": func(t *testing.T, m *Mem, slot uint64) string { return story(readAll(t, m.Snapshot())) },
		"read":     func(t *testing.T, m *Mem, slot uint64) string { return story(readAll(t, m.NewReader())) },
	}
	for end, stay := range ends {
		for how, look := range then {
			t.Run(end+", then "+how, func(t *testing.T) {
				m := newMem(t, 16<<10, Loop)
				c, w, next := newWriter(t, m, 1), newWriter(t, m, 1), newWriter(t, m, 1)
				m.Start(c, Event{})
				overwrite(m, w)
				stay(t, m, c.Slot())
				m.RecoverSlots(func(slot uint64, _ sys.Proc) bool { return slot == c.Slot() })
				got := look(t, m, next.Slot())
				if got != "ORe" && got != "ORe<" && got != "SORe" && got != "SORe<" {
					t.Errorf("reported %q, want one OVERFLOW and one RESUME before the events", got)
				}
			})
		}
	}
}

// TestLossDuringFlushIsOwed has a source lose events while the log takes the marks of a flush. The next flush
// reports them.
func TestLossDuringFlushIsOwed(t *testing.T) {
	for _, policy := range []uint8{Loop, UntilFull, Flush} {
		m := newMem(t, 16<<10, policy)
		c, w := newWriter(t, m, 1), newWriter(t, m, 1)
		m.Start(c, Event{})
		var l logOf
		lost := false
		if _, err := flushTo(m, c.Slot(), func(b *Block) error {
			if !lost {
				lost = true
				m.AddLost(3)
			}
			return l.put(b)
		}); err != nil {
			t.Fatal(err)
		}
		w.Record(0, &Event{ID: event.FirstUser}, nil)
		if _, err := flushTo(m, c.Slot(), l.put); err != nil {
			t.Fatal(err)
		}
		if s := l.story(); strings.Count(s, "O") != 1 || strings.Count(s, "R") != 1 {
			t.Errorf("policy %d: the log has %q, want one OVERFLOW and one RESUME", policy, s)
		}
	}
}

// TestLogLacksMarksRejectedAtTheirTime has a flush report a loss, and another flush, under another filter,
// bring the first event behind the gap. The log has only the marks of types that were accepted at their time.
func TestLogLacksMarksRejectedAtTheirTime(t *testing.T) {
	for rejected, want := range map[event.ID]string{0: "SeP1O<>SRe<>Fe<", event.Resume: "SeP1O<>Se<>Fe<"} {
		m := newMem(t, 16<<10, Flush)
		c, w := newWriter(t, m, 1), newWriter(t, m, 1)
		m.Start(c, Event{})
		var l logOf
		flush := func() {
			if _, err := flushTo(m, c.Slot(), l.put); err != nil {
				t.Fatal(err)
			}
		}
		fill(t, m, w)
		flush()
		var s event.Set
		s.Add(event.Filter) // the log does not show what the filter was
		if rejected != 0 {
			s.Add(rejected)
		}
		m.SetFilter(c, Event{}, &s)
		m.Restart(c)
		w.Record(0, &Event{ID: event.FirstUser}, nil)
		flush()
		m.SetFilter(c, Event{}, new(event.Set))
		w.Record(0, &Event{ID: event.FirstUser}, nil)
		flush()
		if got := l.story(); got != want {
			t.Errorf("rejected %d: the log has %q, want %q", rejected, got, want)
		}
	}
}

// killFlush returns when flush calls kill, which does not return before the test ends.
func killFlush(t *testing.T, flush func(kill func())) {
	t.Helper()
	there, end := make(chan bool), make(chan bool)
	t.Cleanup(func() { close(end) })
	go flush(func() {
		close(there)
		<-end
		select {}
	})
	select {
	case <-there:
	case <-time.After(20 * time.Second):
		t.Fatal("the flush does not come to the place where it is killed")
	}
}
