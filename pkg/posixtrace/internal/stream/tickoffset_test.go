package stream

import (
	"fmt"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// setBack changes a stream as if the counter had been set back by some hours, or, as on most
// machines that wake, to nearly zero.
func setBack(m *Mem, by uint64) { m.h.tickOffset.Add(-by) }

// After the counter was set back, events keep their order, are read without delay and have the right
// time, whichever call notices first.
func TestCounterSetBack(t *testing.T) {
	if sys.Ticks() < 1<<36 {
		t.Log("the counter is young") // the arithmetic wraps, which is as good
	}
	for _, anchors := range []bool{false, true} {
		for _, first := range []string{"same writer", "new writer", "short writer", "old time", "reader", "peek", "flush", "clock"} {
			for _, by := range []uint64{3 << 32, 1 << 44} {
				t.Run(fmt.Sprintf("%s/anchors=%v/%d", first, anchors, by>>32), func(t *testing.T) {
					counterSetBack(t, first, anchors, by)
				})
			}
		}
	}
}

func counterSetBack(t *testing.T, first string, anchors bool, by uint64) {
	m := newMem(t, 64<<10, Loop)
	// A stream whose counter has run long enough to be set back.
	m.Clock = ClockTicks
	m.h.tickOffset.Store(1 << 50)
	m.h.nanchors.Store(0)
	tick, mono := m.pair()
	m.h.mono = mono
	m.addAnchor(chunk.ClockAnchor{Tick: tick, Nanos: m.Created().UnixNano()})
	w, short := newWriter(t, m, 1), newWriter(t, m, 1)
	short.Short()
	m.Start(w, Event{})
	n := byte(0)
	record := func(w *Writer, tick uint64) {
		t.Helper()
		n++
		if !w.Record(0, &Event{ID: event.FirstUser, TID: 1, Tick: tick}, []byte{n}) {
			t.Fatal("an event is refused")
		}
	}
	record(w, 0)
	record(short, 0)
	time.Sleep(2 * time.Millisecond)
	if anchors {
		m.FreshClock()
	}
	record(w, 0)
	record(short, 0)

	time.Sleep(2 * time.Millisecond) // more than the error of the counter's rate
	before := time.Now()
	old := m.now()
	setBack(m, by)
	r := m.NewReader()
	var rec chunk.Record
	var got []chunk.Record
	read := func() {
		time.Sleep(100 * time.Microsecond)
		for r.Next(&rec) {
			rec.Data = append([]byte(nil), rec.Data...)
			got = append(got, rec)
		}
	}
	switch first {
	case "same writer":
		record(w, 0)
	case "new writer":
		record(newWriter(t, m, 1), 0)
	case "short writer":
		record(short, 0)
	case "old time":
		record(w, old)
	case "reader":
		read()
	case "peek":
		p := m.Snapshot()
		k := 0
		for p.Next(&rec) {
			k++
		}
		if k < int(n) {
			t.Errorf("a snapshot has %d of %d events", k, n)
		}
	case "flush":
		events := 0
		if _, err := flushTo(m, w.Slot(), func(b *Block) error {
			if b.Index >= 0 {
				events += b.Count
			}
			return nil
		}); err != nil || events < int(n) {
			t.Errorf("a flush has %d of %d events, %v", events, n, err)
		}
		n = 0
	case "clock":
		m.FreshClock()
	}
	record(w, 0)
	time.Sleep(3 * time.Millisecond)
	record(short, 0)
	record(newWriter(t, m, 1), 0)
	record(w, 0)
	read()
	elapsed := time.Since(before)

	want := byte(0)
	var ticks []uint64
	for _, rec := range got {
		if rec.Event != event.FirstUser {
			continue
		}
		if want++; rec.Data[0] != want {
			t.Fatalf("event %d where %d should be", rec.Data[0], want)
		}
		ticks = append(ticks, rec.Tick)
	}
	if want != n {
		t.Fatalf("%d of %d events are read", want, n)
	}
	c := m.FreshClock()
	last := time.Duration(c.Nanos(ticks[len(ticks)-1]) - c.Nanos(old))
	if last < 2*time.Millisecond || last > 2*elapsed+50*time.Millisecond {
		t.Errorf("the last event is %v after the counter was set back, which was %v ago", last, elapsed)
	}
}
