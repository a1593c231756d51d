package stream

import (
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/attr"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

func newMem(t testing.TB, size int64, policy uint8) *Mem {
	t.Helper()
	g, ok := Measure(size, 1024, 2)
	if !ok {
		t.Fatal("Measure")
	}
	clock := uint32(ClockMonotonic)
	if sys.TrustTicks() {
		clock = ClockTicks
	}
	// On the heap, so that the race detector sees it.
	words := make([]atomic.Uint64, g.Size/8+8)
	p := unsafe.Pointer(&words[0])
	b := unsafe.Slice((*byte)(p), g.Size)
	m, err := Format(b, &Config{Geometry: g, ID: 1, Attributes: attributes(1024, policy), Clock: clock, Creator: sys.SelfProc()}, true)
	if err != nil {
		t.Fatal(err)
	}
	if aged != nil {
		aged(m)
	}
	return m
}

func newWriter(t testing.TB, m *Mem, n int) *Writer {
	t.Helper()
	slot, ok := m.TakeSlot(sys.SelfProc(), nil)
	if !ok {
		t.Fatal("no slot")
	}
	w, err := m.NewWriter(slot, sys.SelfProc().PID, n)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// eachEvent calls f for the events of a block, whose data is valid until f returns. It returns the error of
// a malformed block.
func eachEvent(b *Block, f func(rec *chunk.Record)) error {
	var cur chunk.Cursor
	var rec chunk.Record
	cur.Reset(b.Payload, b.Base)
	for {
		ok, err := cur.Next(&rec)
		if err != nil || !ok {
			return err
		}
		f(&rec)
	}
}

func BenchmarkRecord(b *testing.B) {
	m := newMem(b, 1<<20, Loop)
	w := newWriter(b, m, 2)
	m.Start(w, Event{})
	data := []byte("0123456789abcdef")
	e := Event{ID: event.FirstUser, TID: 1, Addr: 0x1000}
	b.ReportAllocs()
	for b.Loop() {
		w.Record(0, &e, data)
	}
}

func BenchmarkRead(b *testing.B) {
	m := newMem(b, 1<<24, Loop)
	w := newWriter(b, m, 2)
	m.Start(w, Event{})
	data := []byte("0123456789abcdef")
	e := Event{ID: event.FirstUser, TID: 1, Addr: 0x1000}
	for range 1 << 20 {
		w.Record(0, &e, data)
	}
	r := m.Snapshot()
	var rec chunk.Record
	for b.Loop() {
		if !r.Next(&rec) {
			r = m.Snapshot()
		}
	}
}

// attributes returns those of a stream that keeps so much data of an event.
func attributes(maxData int, policy uint8) attr.Attributes {
	return attr.Attributes{Name: "x", MaxDataSize: uint64(maxData), StreamFullPolicy: attr.Policy(policy)}
}
