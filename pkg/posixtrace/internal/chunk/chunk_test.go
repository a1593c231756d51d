package chunk

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// example returns a chunk with one record of each kind, and the events in it.
func example() (b []byte, want []Record) {
	r := Record{Tick: 105, Addr: 0x1000, Event: event.FirstUser, PID: 7, TID: 8, Data: []byte("hello")}
	b = AppendSite(b, 0, &r)
	b = AppendEvent(b, 5, 0, false, r.Data)
	want = append(want, r)

	r = Record{Tick: 1 << 40, Addr: 0x1000, Event: event.FirstUser, PID: 7, TID: 8, Truncated: true, Span: 3, Parent: 4}
	b = AppendBase(b, 1<<40)
	b = AppendNote(b, &r)
	b = AppendEvent(b, 0, 0, true, nil)
	want = append(want, r)

	r = Record{Tick: 1<<40 + 1, Event: event.Start, PID: 9, TID: 10, Data: []byte("12345678"), Span: 5}
	b = AppendNote(b, &r)
	b = AppendMap(b, 11, []byte("map"))
	b = AppendFull(b, &r)
	return b, append(want, r)
}

func show(r *Record) string {
	return fmt.Sprint(r.Tick, r.Addr, r.Event, r.PID, r.TID, r.Truncated, string(r.Data), r.Span, r.Parent)
}

// read returns what a cursor finds in a chunk.
func read(b []byte) (list []string, err error) {
	var c Cursor
	c.Reset(b, 100)
	for {
		var r Record
		ok, err := c.Next(&r)
		if !ok {
			return list, err
		}
		list = append(list, show(&r))
	}
}

func TestCursorReadsBack(t *testing.T) {
	b, want := example()
	got, err := read(b)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d events, %v", len(got), err)
	}
	for i := range want {
		if got[i] != show(&want[i]) {
			t.Errorf("event %d is %s, want %s", i, got[i], show(&want[i]))
		}
	}
}

func TestCursorReadsMappings(t *testing.T) {
	b, _ := example()
	c := Cursor{Maps: true}
	c.Reset(b, 0)
	var r Record
	for range 3 {
		if c.HasMaps() {
			t.Error("HasMaps before the note")
		}
		if ok, err := c.Next(&r); !ok {
			t.Fatal(err)
		}
	}
	if !c.HasMaps() || r.Maps == nil || r.Maps.PID != 11 || string(r.Maps.Data) != "map" || r.Maps.Next != nil {
		t.Errorf("the mappings are %+v", r.Maps)
	}
}

// A cut chunk has the events before the cut, and ends with an error unless it is cut between records.
func TestCursorOfCutChunk(t *testing.T) {
	b, _ := example()
	whole, _ := read(b)
	for n := range b {
		got, err := read(b[:n:n])
		if len(got) >= len(whole) {
			t.Errorf("%d of %d bytes have %d events", n, len(b), len(got))
		}
		for i := range got {
			if got[i] != whole[i] {
				t.Errorf("%d bytes: event %d is %s", n, i, got[i])
			}
		}
		if n%8 != 0 && !errors.Is(err, ErrMalformed) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// pass counts the events of a chunk that are passed by skim, with Next where that is needed.
func pass(b []byte, skim func(c *Cursor, last uint64) (int, uint64)) (total int) {
	var c Cursor
	c.Reset(b, 100)
	var last uint64
	for {
		var n int
		n, _ = skim(&c, last)
		total += n
		var r Record
		if ok, _ := c.Next(&r); !ok {
			return total
		}
		total++
		last = r.Tick
	}
}

// fill is read with Fill as far as that leads.
func fill(b []byte) (list []string) {
	var c Cursor
	c.Reset(b, 100)
	recs := make([]Record, 2)
	for {
		n, _, _ := c.Fill(recs, true, ^uint64(0))
		for i := range recs[:n] {
			list = append(list, show(&recs[i]))
		}
		var r Record
		if n > 0 {
			continue
		} else if ok, _ := c.Next(&r); !ok {
			return list
		}
		list = append(list, show(&r))
	}
}

// Whatever the bytes are, the ways through a chunk find the same events.
func TestWaysThroughDamagedChunk(t *testing.T) {
	whole, want := example()
	for i := range uint32(20) {
		whole = AppendEvent(whole, 10+i/5*i, 0, false, want[0].Data)
	}
	for bit := range 8 * len(whole) {
		b := bytes.Clone(whole)
		b[bit/8] ^= 1 << (bit % 8)
		list, _ := read(b)
		if got := fill(b); !slices.Equal(got, list) {
			t.Errorf("bit %d: Fill finds\n%v\nNext\n%v", bit, got, list)
		}
		if n := pass(b, (*Cursor).Skim); n != len(list) {
			t.Errorf("bit %d: Skim finds %d events, Next %d", bit, n, len(list))
		}
		if n := pass(b, (*Cursor).Count); n != len(list) {
			t.Errorf("bit %d: Count finds %d events, Next %d", bit, n, len(list))
		}
	}
}

func TestClock(t *testing.T) {
	var c Clock
	if got := c.Nanos(5); got != 5 {
		t.Errorf("without an anchor tick 5 is at %d", got)
	}
	for _, k := range []struct {
		ClockAnchor
		taken bool
	}{
		{ClockAnchor{100, 1000}, true},
		{ClockAnchor{200, 3000}, true},
		{ClockAnchor{200, 4000}, false},
		{ClockAnchor{300, 2999}, false},
		{ClockAnchor{400, 3100}, true},
	} {
		if got := c.Add(k.ClockAnchor); got != k.taken {
			t.Errorf("Add(%v) = %v", k.ClockAnchor, got)
		}
	}
	for tick, want := range map[uint64]int64{50: 0, 100: 1000, 150: 2000, 200: 3000, 300: 3050, 400: 3100, 600: 3200} {
		if got := c.Nanos(tick); got < want-1 || got > want {
			t.Errorf("tick %d is at %d, want %d", tick, got, want)
		}
	}
}
