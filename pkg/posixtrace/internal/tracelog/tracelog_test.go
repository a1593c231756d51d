package tracelog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/attr"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// ev is an event in the form in which tests compare it.
type ev struct {
	Tick uint64
	ID   event.ID
	PID  uint32
	Data string
}

func evOf(r *chunk.Record) ev { return ev{r.Tick, r.Event, r.PID, string(r.Data)} }

// block is a block of events with the events in it.
type block struct {
	EventsBlock
	want []ev
}

// makeBlock makes a chunk of n events from tick on. A stray event in it has an earlier time of its
// own.
func makeBlock(num uint32, tick uint64, n, data int, stray bool) block {
	b := block{EventsBlock: EventsBlock{Base: tick, Chunk: num, Gen: 1}}
	for s := range 2 {
		rec := chunk.Record{Event: event.ID(33 + (int(num)+s)%40*8), PID: 100 + num, TID: 7, Addr: 0x4000}
		b.Payload = chunk.AppendSite(b.Payload, s, &rec)
	}
	for i := range n {
		s := i % 2
		d := []byte(fmt.Sprintf("%0*d", data, i))[:data]
		e := ev{tick + uint64(i), event.ID(33 + (int(num)+s)%40*8), 100 + num, string(d)}
		if stray && i == n/2 {
			e.Tick = tick - min(tick, 3)
			b.Payload = chunk.AppendFull(b.Payload, &chunk.Record{Tick: e.Tick, Event: e.ID, PID: e.PID, Data: d})
		} else {
			b.Payload = chunk.AppendEvent(b.Payload, uint32(i), s, false, d)
		}
		b.want = append(b.want, e)
	}
	return b
}

// ordered returns the events of blocks in the order a reader must report them.
func ordered(blocks []block) (all []ev) {
	for _, b := range blocks {
		all = append(all, b.want...)
	}
	slices.SortStableFunc(all, func(a, b ev) int { return compare(a.Tick, b.Tick) })
	return
}

func readAll(t testing.TB, r *Reader) (all []ev) {
	t.Helper()
	var rec chunk.Record
	for {
		ok, err := r.Next(&rec)
		if err != nil {
			t.Fatalf("Next: %v", err)
		}
		if !ok {
			return
		}
		all = append(all, evOf(&rec))
	}
}

func openFile(t testing.TB, b []byte) *Reader {
	t.Helper()
	r, err := OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatalf("OpenFile: %v", err)
	}
	return r
}

func openStream(t testing.TB, b []byte) *Reader {
	t.Helper()
	r, err := OpenStream(bytes.NewReader(b))
	if err != nil {
		t.Fatalf("OpenStream: %v", err)
	}
	return r
}

func wantState(t testing.TB, r *Reader, want State) {
	t.Helper()
	if s, err := r.State(); s != want {
		t.Errorf("State() = %v (%v), want %v", s, err, want)
	}
}

func wantEvents(t testing.TB, got, want []ev) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%d events, want %d; first difference at %d: %v", len(got), len(want), i, got[min(i, len(got)):min(i+1, len(got))])
		}
	}
}

func superFor(p Policy) *Super {
	return &Super{
		Attributes: attr.Attributes{
			Name: "test", CreateTime: attr.Time{Sec: 1700000000, Nsec: 5}, GenerationVersion: "posixtrace 1", ClockResolution: 1,
			StreamFullPolicy: Flush, StreamSize: 1 << 16, MaxDataSize: 1024, LogFullPolicy: p, LogSize: 1 << 20,
		},
		ID: 0x1122334455667788, ChunkSize: 4096, PID: 42, Owner: 41, OwnerStart: 99,
		Host: "host", BootID: "boot", StreamPath: "/dev/shm/x", Command: []string{"sh", "-c", "true"},
	}
}

var testStatus = Status{Full: true, Overrun: true, FlushError: 28, LogOverrun: true, Lost: 3, LogLost: 4}

var testTypes = []TypeDef{{33, "a"}, {41, "b.begin"}, {event.Unnamed, "posix_trace_unnamed_userevent"}}

// writeLog writes blocks, an end of group behind each fourth, and seals the log.
func writeLog(t testing.TB, w *Writer, blocks []block) {
	t.Helper()
	must(t, w.Types(testTypes))
	must(t, w.Anchors([]chunk.ClockAnchor{{Tick: 0, Nanos: 1e9}, {Tick: 1000, Nanos: 1e9 + 2000}}))
	for i, b := range blocks {
		must(t, w.Events(b.EventsBlock))
		if i%4 == 3 {
			watermark := ^uint64(0)
			for _, l := range blocks[i+1:] {
				for _, e := range l.want {
					watermark = min(watermark, e.Tick-1)
				}
			}
			must(t, w.GroupEnd(watermark))
		}
	}
	must(t, w.Seal(testStatus, true))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// overlapping makes n blocks that overlap in time.
func overlapping(n int) (blocks []block) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		blocks = append(blocks, makeBlock(uint32(i), uint64(100+i/4*40+rnd.IntN(60)), 1+rnd.IntN(60), 2+rnd.IntN(20), i%5 == 4))
	}
	return
}

// equalSupers reports whether two superblocks have the same bytes.
func equalSupers(s, t *Super) bool {
	x, y := *s, *t
	a, err := x.encode()
	b, err2 := y.encode()
	return err == nil && err2 == nil && bytes.Equal(a, b)
}

func TestRoundTrip(t *testing.T) {
	blocks := overlapping(40)
	for _, p := range []Policy{Append, UntilFull, Loop} {
		t.Run(p.String(), func(t *testing.T) {
			path := filepath.Join(tracetest.Dir(t), "log")
			// The rest of an older, longer log must not count as part of this one.
			old := superFor(p)
			old.ID = 7
			var m memory
			ow, err := create(&m, old)
			must(t, err)
			writeLog(t, ow, overlapping(80))
			must(t, os.WriteFile(path, m.b, 0o600))
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			must(t, err)
			defer f.Close()
			w, err := Create(f, superFor(p))
			must(t, err)
			writeLog(t, w, blocks)
			b, err := os.ReadFile(path)
			must(t, err)
			for name, open := range map[string]func(testing.TB, []byte) *Reader{"file": openFile, "stream": openStream} {
				r := open(t, b)
				if !equalSupers(r.Super(), w.Super()) {
					t.Errorf("%s: Super() = %+v, want %+v", name, r.Super(), w.Super())
				}
				wantEvents(t, readAll(t, r), ordered(blocks))
				wantState(t, r, Finished)
				if s, ok := r.Status(); !ok || s != testStatus {
					t.Errorf("%s: Status() = %+v, %v", name, s, ok)
				}
				if !slices.Equal(r.Types(), testTypes) {
					t.Errorf("%s: Types() = %v", name, r.Types())
				}
				if r.TypeName(41) != "b.begin" || r.TypeName(event.Start) != "posix_trace_start" || r.TypeName(99) != "" {
					t.Errorf("%s: wrong names", name)
				}
				if n := r.Clock().Nanos(500); n != 1e9+1000 {
					t.Errorf("%s: Nanos(500) = %d", name, n)
				}
			}
			r := openFile(t, b)
			readAll(t, r)
			must(t, r.Rewind())
			wantEvents(t, readAll(t, r), ordered(blocks))
			if n, ok := r.Totals(); !ok || n != w.Totals() || (n.Blocks == 40) != (p != Loop) {
				t.Errorf("Totals() = %+v, %v", n, ok)
			}
		})
	}
}

func TestLoopReplacesOldest(t *testing.T) {
	s := superFor(Loop)
	s.ChunkSize, s.LogSize = 2048, 3*2048-100
	var m memory
	w, err := create(&m, s)
	must(t, err)
	blocks := overlapping(23)
	writeLog(t, w, blocks)
	// What is left is what was recorded last: whole chunks, and perhaps the second part of one.
	left := len(readAll(t, openFile(t, m.b)))
	kept, lost := []block(nil), uint64(0)
	for i := len(blocks) - 1; i >= 0; i-- {
		b := blocks[i]
		n := min(left, len(b.want))
		lost += uint64(len(b.want) - n)
		b.want = b.want[len(b.want)-n:]
		kept, left = append([]block{b}, kept...), left-n
	}
	want := ordered(kept)
	if len(want) == 0 || lost == 0 {
		t.Fatalf("%d events are left, %d are replaced", len(want), lost)
	}
	wantEvents(t, readAll(t, openFile(t, m.b)), want)
	wantEvents(t, readAll(t, openStream(t, m.b)), want)
	if !w.Full() || w.Replaced() != lost || w.Totals().Events != uint64(len(want)) {
		t.Errorf("Full %v, Replaced %d, Totals %+v; want %d replaced, %d left", w.Full(), w.Replaced(), w.Totals(), lost, len(want))
	}
}

// The writer's memory for a Loop log is a small part of the log's size. It was 31 MiB for each GiB.
func TestLoopWriterMemoryIsBounded(t *testing.T) {
	for _, size := range []uint64{1 << 20, 64 << 20, 1 << 30, 64 << 30} {
		for _, chunkSize := range []uint32{4096, 16 << 10, 64 << 10, chunk.MaxSize} {
			s := superFor(Loop)
			s.LogSize, s.ChunkSize = size, chunkSize
			w, err := create(nowhere{}, s)
			must(t, err)
			kept := uint64(w.super.Slots) * uint64(unsafe.Sizeof(entry{}))
			if kept > 1<<20+size/1024 {
				t.Errorf("%d bytes for a log of %d in chunks of %d", kept, size, chunkSize)
			}
			if room := uint64(w.super.Slots) * uint64(w.super.ChunkSize); room < size || room > size+2*chunk.MaxSize {
				t.Errorf("slots for %d bytes in a log of %d", room, size)
			}
		}
	}
	// A log of that size wraps, and has the newest events.
	usual := manySlots
	manySlots = 64
	defer func() { manySlots = usual }()
	s := superFor(Loop)
	s.LogSize = 2 * manySlots * 4096
	var m memory
	w, err := create(&m, s)
	must(t, err)
	if w.super.ChunkSize != 8192 {
		t.Fatalf("slots for chunks of %d bytes", w.super.ChunkSize)
	}
	must(t, w.Types(testTypes))
	var data [4000]byte
	const blocks = 300
	for i := range uint32(blocks) {
		b := EventsBlock{Base: uint64(i), Chunk: i % 8, Gen: i << 12}
		b.Payload = chunk.AppendFull(b.Payload, &chunk.Record{Tick: uint64(i), Event: 33, Data: data[:]})
		must(t, w.Events(b))
	}
	must(t, w.Seal(testStatus, true))
	r := openFile(t, m.b)
	first, last, n := uint64(0), uint64(0), uint64(0)
	var rec chunk.Record
	for {
		ok, err := r.Next(&rec)
		must(t, err)
		if !ok {
			break
		}
		if n++; n == 1 {
			first = rec.Tick
		}
		last = rec.Tick
	}
	if last != blocks-1 || n != last-first+1 || n*4096 < s.LogSize-2*8192 {
		t.Errorf("%d events, from %d to %d", n, first, last)
	}
}

// nowhere is a sink that discards everything.
type nowhere struct{}

func (nowhere) put(int64, []byte, []byte) error { return nil }
func (nowhere) truncate(int64) error            { return nil }
func (nowhere) reserve(int64) error             { return nil }
func (nowhere) preallocate(int64) error         { return nil }
func (nowhere) sync() error                     { return nil }
func (nowhere) seekable() bool                  { return true }

func TestUntilFullRefusesEvents(t *testing.T) {
	blocks := overlapping(10)
	s := superFor(UntilFull)
	s.LogSize = 0
	for _, b := range blocks[:6] {
		s.LogSize += uint64(len(b.Payload))
	}
	var m memory
	w, err := create(&m, s)
	must(t, err)
	for _, b := range blocks[:6] {
		must(t, w.Events(b.EventsBlock))
	}
	for range 2 {
		if err := w.Events(blocks[6].EventsBlock); err != ErrFull {
			t.Fatalf("Events on a full log = %v, want ErrFull", err)
		}
	}
	stop := makeBlock(0, 1e6, 1, 4, false)
	stop.Final = true
	must(t, w.Events(stop.EventsBlock))
	if err := w.Events(stop.EventsBlock); err != ErrFull || !w.Full() {
		t.Fatalf("second final block = %v, want ErrFull", err)
	}
	full := slices.Clone(m.b)
	wantEvents(t, readAll(t, openFile(t, full)), ordered(append(blocks[:6:6], stop)))

	must(t, w.Types(testTypes))
	must(t, w.Clear())
	if w.Full() {
		t.Error("full after Clear")
	}
	must(t, w.Events(blocks[7].EventsBlock))
	r := openFile(t, m.b)
	wantEvents(t, readAll(t, r), ordered(blocks[7:8]))
	wantState(t, r, Unfinished)
	if !slices.Equal(r.Types(), testTypes) {
		t.Errorf("types after Clear: %v", r.Types())
	}
	must(t, w.Seal(testStatus, false))
	wantState(t, openFile(t, m.b), Finished)
}

func TestClearKeepsTypesAndClock(t *testing.T) {
	s := superFor(Loop)
	s.LogSize = 5 * 4096
	var m memory
	w, err := create(&m, s)
	must(t, err)
	blocks := overlapping(12)
	must(t, w.Types(testTypes))
	for _, b := range blocks[:8] {
		must(t, w.Events(b.EventsBlock))
	}
	must(t, w.Clear())
	for _, b := range blocks[8:] {
		must(t, w.Events(b.EventsBlock))
	}
	check := func() {
		t.Helper()
		r := openFile(t, m.b)
		wantEvents(t, readAll(t, r), ordered(blocks[8:]))
		if !slices.Equal(r.Types(), testTypes) {
			t.Errorf("types: %v", r.Types())
		}
	}
	check()
	must(t, w.Seal(testStatus, false))
	check()
}

func TestLoopAnchorsBounded(t *testing.T) {
	for _, held := range []bool{false, true} {
		testLoopAnchors(t, held)
	}
}

// testLoopAnchors writes more clock anchors than fit; if held is set, an event as old as the first
// is still in the log.
func testLoopAnchors(t *testing.T, held bool) {
	var m memory
	w, err := create(&m, superFor(Loop))
	must(t, err)
	must(t, w.Types(testTypes))
	if held {
		must(t, w.Events(makeBlock(0, 5, 1, 4, false).EventsBlock))
	}
	size := 0
	for i := range 5000 {
		must(t, w.Anchors([]chunk.ClockAnchor{{Tick: uint64(i) * 1000, Nanos: int64(i) * 3000}}))
		if i == 300 {
			size = len(m.b)
		}
	}
	if len(m.b) != size {
		t.Errorf("log grew from %d to %d bytes by clock anchors", size, len(m.b))
	}
	r := openFile(t, m.b)
	if k := r.Clock().Anchors(); held != (k[0].Tick == 0) {
		t.Errorf("held %v, but the first clock anchor is at %d", held, k[0].Tick)
	}
	if n := len(r.Clock().Anchors()); n < 100 || n > areaAnchors {
		t.Errorf("%d clock anchors", n)
	}
	for _, tick := range []uint64{0, 1500, 2_500_000, 4_999_000} {
		if got := r.Clock().Nanos(tick); got != int64(tick*3) {
			t.Errorf("Nanos(%d) = %d", tick, got)
		}
	}
}

func TestSelectByTimeAndType(t *testing.T) {
	blocks := overlapping(60)
	var m memory
	w, err := create(&m, superFor(Append))
	must(t, err)
	writeLog(t, w, blocks)
	var set event.Set
	set.Add(blocks[7].want[0].ID)
	for _, sel := range []struct {
		min, max uint64
		set      *event.Set
	}{{0, ^uint64(0), nil}, {200, 400, nil}, {300, 300, nil}, {0, ^uint64(0), &set}, {150, 500, &set}, {5, 1, nil}, {0, 0, &event.Set{}}} {
		var want []ev
		for _, e := range ordered(blocks) {
			if e.Tick >= sel.min && e.Tick <= sel.max && (sel.set == nil || sel.set.Has(e.ID)) {
				want = append(want, e)
			}
		}
		r := openFile(t, m.b)
		readAll(t, r)
		must(t, r.Select(sel.min, sel.max, sel.set))
		wantEvents(t, readAll(t, r), want)
		if n := len(r.src.(*indexSource).refs); sel.set != nil && n > 30 {
			t.Errorf("the index skipped only %d of 60 blocks", 60-n)
		}
		r = openFile(t, m.b[:len(m.b)-1]) // no index
		must(t, r.Select(sel.min, sel.max, sel.set))
		wantEvents(t, readAll(t, r), want)
		r = openStream(t, m.b)
		must(t, r.Select(sel.min, sel.max, sel.set))
		wantEvents(t, readAll(t, r), want)
	}
}

func TestIndexOfSeveralParts(t *testing.T) {
	var m memory
	w, err := create(&m, superFor(Append))
	must(t, err)
	var blocks []block
	for i := range 3*indexEntries + 100 {
		blocks = append(blocks, makeBlock(uint32(i), uint64(i*10), 2, 2, false))
	}
	writeLog(t, w, blocks)
	r := openFile(t, m.b)
	if _, ok := r.src.(*indexSource); !ok {
		t.Fatal("index was not used")
	}
	wantEvents(t, readAll(t, r), ordered(blocks))
	wantState(t, r, Finished)
	// Without its index the log is as readable, but damaged.
	at := binary.LittleEndian.Uint64(m.b[len(m.b)-sealPayload:])
	m.b[at+100] ^= 1
	for _, r := range []*Reader{openFile(t, m.b), openStream(t, m.b)} {
		wantEvents(t, readAll(t, r), ordered(blocks))
		wantState(t, r, Damaged)
	}
}
