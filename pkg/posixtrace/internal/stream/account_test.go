package stream

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// The data of an event of these tests has its writer, its number, and bytes that follow from both,
// so that the tests recognize a torn event.

const stampSize = 12

func stamp(b []byte, who uint32, n uint64, size int) []byte {
	b = binary.LittleEndian.AppendUint32(b[:0], who)
	b = binary.LittleEndian.AppendUint64(b, n)
	for len(b) < size {
		b = append(b, byte(n)+byte(who)+byte(len(b)))
	}
	return b
}

func unstamp(b []byte) (who uint32, n uint64, err error) {
	if len(b) < stampSize {
		return 0, 0, fmt.Errorf("%d bytes", len(b))
	}
	who, n = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint64(b[4:])
	for i := stampSize; i < len(b); i++ {
		if b[i] != byte(n)+byte(who)+byte(i) {
			return who, n, fmt.Errorf("event %d of %d is torn at byte %d", n, who, i)
		}
	}
	return who, n, nil
}

// tally checks the events that a test reads.
type tally struct {
	t      *testing.T
	next   []uint64 // of each writer, the smallest number that may follow
	got    []uint64
	order  bool
	marks  []event.ID
	starts uint64
	rec    chunk.Record
	seen   map[[2]uint64]bool
}

func newTally(t *testing.T, writers int) *tally {
	return &tally{t: t, next: make([]uint64, writers), got: make([]uint64, writers), order: true, seen: make(map[[2]uint64]bool)}
}

func (y *tally) add(rec *chunk.Record) {
	y.t.Helper()
	if rec.Event != event.FirstUser {
		y.marks = append(y.marks, rec.Event)
		if rec.Event == event.Start {
			y.starts++
		}
		return
	}
	who, n, err := unstamp(rec.Data)
	if err != nil || int(who) >= len(y.next) {
		y.t.Fatalf("event of %d: %v", who, err)
	}
	if y.order && n < y.next[who] {
		y.t.Fatalf("event %d of writer %d after %d", n, who, y.next[who]-1)
	}
	if k := [2]uint64{uint64(who), n}; y.seen[k] {
		y.t.Fatalf("event %d of writer %d twice", n, who)
	} else {
		y.seen[k] = true
	}
	y.next[who] = n + 1
	y.got[who]++
}

func (y *tally) total() (n uint64) {
	for _, g := range y.got {
		n += g
	}
	return
}

func readInto(r *Reader, y *tally) {
	var rec chunk.Record
	for r.Next(&rec) {
		y.add(&rec)
	}
}

// block decodes blocks as a log's reader would.
func (y *tally) block(b *Block) error {
	var cur chunk.Cursor
	var rec chunk.Record
	cur.Reset(b.Payload, b.Base)
	n := 0
	for {
		ok, err := cur.Next(&rec)
		if err != nil {
			y.t.Errorf("chunk %d: %v", b.Index, err)
		}
		if !ok {
			break
		}
		n++
		if rec.Tick < b.Min || rec.Tick > b.Max {
			y.t.Errorf("tick %d outside of %d to %d", rec.Tick, b.Min, b.Max)
		}
		y.add(&rec)
	}
	if n != b.Count {
		y.t.Errorf("chunk %d holds %d events, not %d", b.Index, n, b.Count)
	}
	return nil
}

func TestEveryEventIsReadOrLost(t *testing.T) {
	const events = 4000
	for _, policy := range []uint8{Loop, UntilFull, Flush} {
		for _, writers := range []int{1, 2, 4, 8} {
			for _, reading := range []string{"after", "beside"} {
				for _, shared := range []bool{false, true} {
					name := fmt.Sprintf("policy%d/%dwriters/%s/shared=%v", policy, writers, reading, shared)
					t.Run(name, func(t *testing.T) { testAccounting(t, policy, writers, events, reading, shared) })
				}
			}
		}
	}
}

// testAccounting has goroutines write and read. If shared, one Writer and its shards serve all
// goroutines; else each goroutine has its own.
func testAccounting(t *testing.T, policy uint8, writers, events int, reading string, shared bool) {
	m := newMem(t, 64<<10, policy)
	ctl := newWriter(t, m, 1)
	m.Start(ctl, Event{}) // one event
	var ws []*Writer
	for i := range writers {
		if shared && i > 0 {
			ws = append(ws, ws[0])
			continue
		}
		ws = append(ws, newWriter(t, m, 2))
	}
	var refused, generated atomic.Uint64
	generated.Store(1)
	var wg sync.WaitGroup
	for i, w := range ws {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 7))
			var buf []byte
			e := Event{ID: event.FirstUser, TID: uint32(i), Addr: uint64(i)}
			for n := range uint64(events) {
				size := rng.IntN(60)
				if rng.IntN(20) == 0 {
					size = rng.IntN(m.MaxData + 1)
				}
				e.Addr = uint64(rng.IntN(3)) * 8
				buf = stamp(buf, uint32(i), n, min(max(size, stampSize), m.MaxData))
				generated.Add(1)
				if !w.Record(int(n>>4), &e, buf) {
					refused.Add(1)
				}
				if n%64 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	y := newTally(t, writers)
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	r := m.NewReader()
	take := func() {
		if policy == Flush {
			// Blocks come one after the other; their events are not merged.
			y.order = false
			if _, err := flushTo(m, ctl.Slot(), y.block); err != nil {
				t.Error(err)
			}
		} else {
			readInto(r, y)
		}
		if m.Restartable() {
			generated.Add(1) // a START
			m.Restart(ctl)
		}
	}
	if reading == "beside" {
		for running := true; running; {
			select {
			case <-done:
				running = false
			case <-time.After(50 * time.Microsecond):
			}
			take()
		}
	}
	<-done
	for range 3 {
		take()
	}
	if late := m.h.late.Load(); late != 0 {
		t.Logf("%d late", late)
	}
	lost := m.Lost()
	if policy == Loop {
		if n := refused.Load(); n > m.h.lossTotal() {
			t.Errorf("%d refused, %d of them counted", n, m.h.lossTotal())
		}
	} else if refused.Load() != lost {
		t.Errorf("%d refused, %d counted as lost", refused.Load(), lost)
	}
	if got := y.total() + y.starts; got+lost != generated.Load() {
		t.Errorf("%d recorded + %d lost, not %d", got, lost, generated.Load())
	}
	if m.h.damage.Load() != 0 {
		t.Errorf("%d damaged", m.h.damage.Load())
	}
	for _, w := range ws {
		if !shared || w == ws[0] {
			w.Close()
		}
		if shared {
			break
		}
	}
	ctl.Close()
	take()
	// No chunk may be held back: all but open chunks are free again.
	if used, _ := m.Used(); used > m.OpenChunks {
		t.Errorf("%d chunks in use after everything was read", used)
	}
}

// TestDamagedEventsCountAsLost overwrites unread events: those that cannot be read any more
// count as lost.
func TestDamagedEventsCountAsLost(t *testing.T) {
	for _, policy := range []uint8{Loop, UntilFull, Flush} {
		for _, flush := range []bool{false, true} {
			m := newMem(t, 64<<10, policy)
			w := newWriter(t, m, 1)
			m.Start(w, Event{})
			const n = 500
			for i := range n {
				if !w.Record(0, &Event{ID: event.FirstUser}, stamp(nil, 0, uint64(i), 40)) {
					t.Fatal("no room")
				}
			}
			ruined := 0
			for i := range m.Chunks {
				if c := word(m, i); c.count() > 10 && ruined < 2 {
					for k := range 16 { // one of them is the head of a record, and no record is so long
						store64(unsafe.Add(m.data, i*m.ChunkSize+c.off()/2&^7+8*k), ^uint64(0)>>1)
					}
					ruined++
				}
			}
			if ruined == 0 {
				t.Fatal("no chunk to damage")
			}
			read := 0
			count := func(rec *chunk.Record) {
				if rec.Event == event.FirstUser || rec.Event == event.Start {
					read++
				}
			}
			if flush {
				var cur chunk.Cursor
				var rec chunk.Record
				_, err := flushTo(m, w.Slot(), func(b *Block) error {
					cur.Reset(b.Payload, b.Base)
					for {
						ok, err := cur.Next(&rec)
						if err != nil {
							m.Damaged(b)
						}
						if !ok || err != nil {
							return nil
						}
						count(&rec)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
			} else {
				r := m.NewReader()
				for rec := (chunk.Record{}); r.Next(&rec); {
					count(&rec)
				}
				for range 3 {
					r.Next(&chunk.Record{})
				}
			}
			st := m.Status(false)
			if lost := int(st.Lost + st.LogLost); read+lost != n+1 || lost == 0 {
				t.Errorf("policy %d, flush %v: %d read + %d lost of %d", policy, flush, read, lost, n+1)
			}
		}
	}
}

// flushTo flushes the stream to put, as to a log without limit.
func flushTo(m *Mem, slot uint64, put func(*Block) error) (watermark uint64, err error) {
	now := func(b *Block) (bool, error) { return false, put(b) }
	return m.Flush(slot, &Sink{Put: now, Room: math.MaxInt64, Lost: func(int) {}})
}

// writers returns the processes that have a slot.
func (m *Mem) writers() (ps []sys.Proc) {
	for i := range m.h.slots {
		if v := m.h.slots[i].Load(); v != 0 {
			ps = append(ps, sys.Unpack(v))
		}
	}
	return ps
}

// source is a Reader or a Snapshot.
type source interface{ Next(*chunk.Record) bool }
