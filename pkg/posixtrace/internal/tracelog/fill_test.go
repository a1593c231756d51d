package tracelog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// marks makes the marks that a flush writes before its chunks.
func marks(tick uint64) block {
	b := block{EventsBlock: EventsBlock{Base: tick, Chunk: MarkChunk}}
	for i, id := range []event.ID{event.FlushStop, event.FlushStart} {
		b.Payload = chunk.AppendFull(b.Payload, &chunk.Record{Tick: tick + uint64(i), Event: id})
		b.want = append(b.want, ev{tick + uint64(i), id, 0, ""})
	}
	return b
}

// newest checks that the log has exactly the newest of the recorded events, and that the writer's
// counts agree.
func newest(t *testing.T, w *Writer, r *Reader, recorded []ev) []ev {
	t.Helper()
	return newestAfter(t, w, r, recorded, false)
}

// newestAfter is newest; if a write has failed, the old contents of its slot may still be there.
func newestAfter(t *testing.T, w *Writer, r *Reader, recorded []ev, failed bool) []ev {
	t.Helper()
	got := readAll(t, r)
	if len(got) > len(recorded) {
		t.Fatalf("%d events of %d", len(got), len(recorded))
	}
	wantEvents(t, got, recorded[len(recorded)-len(got):])
	spare := uint64(0)
	if n := w.Totals().Events; failed && uint64(len(got)) > n {
		spare = uint64(len(got)) - n
	}
	if n := w.Totals().Events; n+spare != uint64(len(got)) || n+w.Replaced() != uint64(len(recorded)) {
		t.Fatalf("%d events in the log and %d replaced of %d, but %d are there", n, w.Replaced(), len(recorded), len(got))
	}
	return got
}

// LOG-08: a Loop log fills up before it drops events, however few events a flush brings.
func TestSparseFlushesFillLoop(t *testing.T) {
	const size = 256 << 10
	for _, chunkSize := range []uint32{4096, 16384} {
		s := superFor(Loop)
		s.ChunkSize, s.LogSize = chunkSize, size
		d := new(disk)
		w, err := create(&positionalSink{f: d}, s)
		must(t, err)
		var recorded []ev
		gone := uint64(0)
		for i := range 10_000 {
			tick := uint64(i) * 1000
			for _, b := range []block{marks(tick), makeBlock(uint32(i%16), tick+10, 1, 16, false)} {
				b.Gen = uint32(i)
				must(t, w.Events(b.EventsBlock))
				recorded = append(recorded, b.want...)
				if b.Chunk == MarkChunk {
					gone += 2
				}
			}
			must(t, w.Anchors([]chunk.ClockAnchor{{Tick: tick, Nanos: int64(tick)}}))
			d.writes = d.writes[:0]
			if w.Replaced() == 0 && i > 0 && w.Full() {
				t.Fatalf("full after %d flushes without replacing anything", i)
			}
			if b := w.Totals().Bytes; w.Replaced() > 0 && b < size*8/10 || b > size+uint64(chunkSize) {
				t.Fatalf("chunks of %d: %d bytes of a log of %d after %d flushes, %d events replaced", chunkSize, b, size, i, w.Replaced())
			}
		}
		if w.ReplacedMarks()*3 < w.Replaced()*2-3 || w.ReplacedMarks()*3 > w.Replaced()*2+3 {
			t.Errorf("%d of %d replaced events are marks", w.ReplacedMarks(), w.Replaced())
		}
		got := newest(t, w, openFile(t, d.b), recorded)
		var bytes, events int
		b, err := openBlocks(d, int64(len(d.b)))
		must(t, err)
		must(t, b.slots(func(_ int, _ int64, h *header, p []byte, err error) error {
			events += int(h.Count)
			return errors.Join(err, parts(p, func(q part) { bytes += len(q.payload) }))
		}))
		if events != len(got) {
			t.Errorf("%d events in the slots, %d reported", events, len(got))
		}
		t.Logf("chunks of %d: %d bytes of records of %d, log of %d bytes", chunkSize, bytes, size, len(d.b))
		if bytes < size*8/10 {
			t.Errorf("chunks of %d: %d bytes of records in a log of %d", chunkSize, bytes, size)
		}
		if n := len(d.b); n > size+size/16+2*anchorAreaSize+1024 {
			t.Errorf("a log of %d bytes takes %d", size, n)
		}
		must(t, w.Seal(testStatus, false))
		r := openFile(t, d.b)
		newest(t, w, r, recorded)
		wantState(t, r, Finished)
		if n, ok := r.Totals(); !ok || n != w.Totals() {
			t.Errorf("Totals() = %+v, want %+v", n, w.Totals())
		}
		r = openStream(t, d.b)
		newest(t, w, r, recorded)
		wantState(t, r, Finished)
	}
}

// The room is used whatever the sizes of chunks.
func TestLoopFillsWithAnyChunks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, most := range []int{1, 10, 50, 95} {
		s := superFor(Loop)
		s.LogSize = 16 * 4096
		var m memory
		w, err := create(&m, s)
		must(t, err)
		var recorded []ev
		for i := range 400 {
			b := makeBlock(uint32(i), uint64(i*1000), most/2+1+rnd.IntN(most/2+1), 30, false)
			must(t, w.Events(b.EventsBlock))
			recorded = append(recorded, b.want...)
			if w.Replaced() > 0 && w.Totals().Bytes < s.LogSize*8/10 {
				t.Fatalf("up to %d events in a chunk: %d bytes of %d", most, w.Totals().Bytes, s.LogSize)
			}
		}
		newest(t, w, openFile(t, m.b), recorded)
		newest(t, w, openStream(t, m.b), recorded)
		must(t, w.Seal(testStatus, false))
		newest(t, w, openFile(t, m.b), recorded)
	}
}

// A reader of a log that is being filled reports the events that were there when it opened the log,
// or some of them, and no others.
func TestReaderOfLiveLogReportsOldState(t *testing.T) {
	s := superFor(Loop)
	s.LogSize = 4 * 4096
	d := new(disk)
	w, err := create(&positionalSink{f: d}, s)
	must(t, err)
	var recorded []ev
	add := func(n int) {
		for range n {
			b := makeBlock(uint32(len(recorded)), uint64(len(recorded)*100), 7, 20, false)
			must(t, w.Events(b.EventsBlock))
			recorded = append(recorded, b.want...)
		}
	}
	for _, later := range []int{0, 1, 2, 5, 30, 100} {
		add(45)
		held := int(w.Totals().Events)
		was := slices.Clone(recorded[len(recorded)-held:])
		r, err := OpenFile(d, int64(len(d.b)))
		must(t, err)
		replaced := w.Replaced()
		add(later)
		gone := int(w.Replaced() - replaced)
		got := readAll(t, r)
		wantEvents(t, got, was[min(gone, len(was)):])
		wantState(t, r, Unfinished)
	}
}

func (d *disk) ReadAt(p []byte, off int64) (int, error) { return readerAt(d.b).ReadAt(p, off) }

// LOG-11: whichever write fails, at any byte, the log has each event that Events accepted once, and
// accepts more when there is space again, even if the chunk that failed never comes again.
func TestFailedWritesLoseNothing(t *testing.T) {
	var blocks []block
	for i := range 14 {
		n := 4
		if i%5 == 3 {
			n = 100 // split, in a Loop log
		}
		blocks = append(blocks, marks(uint64(i*1000)), makeBlock(uint32(i), uint64(i*1000+10), n, 20, false))
	}
	for _, p := range []Policy{Append, UntilFull, Loop} {
		for _, again := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v/%v", p, again), func(t *testing.T) {
				failed := 0
				for failAt := 1; ; failAt++ {
					hit := false
				shorts:
					for _, short := range []int{0, 1, 63, 65, 127, 1000} {
						s := superFor(p)
						if p == Loop {
							s.LogSize = 3 * 4096
						}
						d := &disk{}
						w, err := create(&positionalSink{f: d}, s)
						must(t, err)
						must(t, w.Types(testTypes))
						d.failAt, d.short = d.count+failAt, short
						var taken []ev
						for i := 0; i < len(blocks); i++ {
							b := blocks[i]
							before := d.count
							err := w.Events(b.EventsBlock)
							if err == nil {
								taken = append(taken, b.want...)
								continue
							}
							if hit = true; !errors.Is(err, syscall.ENOSPC) {
								t.Fatal(err)
							}
							if w := d.writes[len(d.writes)-1]; short > 0 && d.count > before && len(w.data) < short {
								continue shorts // the whole of it was written, whatever was said
							}
							newestAfter(t, w, openFile(t, d.b), taken, p == Loop)
							if again {
								i--
							}
						}
						d.failAt = 0
						newestAfter(t, w, openFile(t, d.b), taken, p == Loop)
						c := &disk{b: slices.Clone(d.b)}
						b, err := openBlocks(c, int64(len(c.b)))
						must(t, err)
						w2, _, err := resume(b, &positionalSink{f: c})
						must(t, err)
						for _, w := range []*Writer{w, w2} {
							last := makeBlock(99, 1e6, 3, 20, false)
							must(t, w.Events(last.EventsBlock))
							must(t, w.Seal(testStatus, false))
							e := d
							if w == w2 {
								e = c
								w.replaced = uint64(len(taken)+3) - w.totals.Events
							}
							for _, r := range []*Reader{openFile(t, e.b), openStream(t, e.b)} {
								newest(t, w, r, append(slices.Clone(taken), last.want...))
								wantState(t, r, Finished)
							}
						}
					}
					if !hit {
						break
					}
					failed++
				}
				if failed < 2*14 {
					t.Errorf("only %d writes", failed)
				}
			})
		}
	}
}

// A log whose recorder died, even between the two parts of a chunk, is continued by a recorder that
// dies, too, or that continues with another chunk. The log keeps its contents, and half a chunk
// never counts.
func TestResumeAfterTwoCrashes(t *testing.T) {
	s := superFor(Loop)
	s.LogSize = 6 * 4096
	first := []block{makeBlock(0, 100, 60, 24, false), makeBlock(1, 1000, 70, 24, false), makeBlock(2, 2000, 3, 24, false)}
	huge := block{EventsBlock: EventsBlock{Chunk: 7, Gen: 1}, want: []ev{{5000, 33, 1, string(make([]byte, 3000))}}}
	huge.Payload = chunk.AppendFull(nil, &chunk.Record{Tick: 5000, Event: 33, PID: 1, Data: make([]byte, 3000)})
	d := new(disk)
	w, err := create(&positionalSink{f: d}, s)
	must(t, err)
	for _, b := range first {
		must(t, w.Events(b.EventsBlock))
	}
	if countSplit(d) != 1 {
		t.Fatal("the second chunk was not split")
	}
	all := ordered(append(first[:3:3], huge, makeBlock(8, 3000, 2, 24, false)))
	for n := int(w.super.size); n <= d.written(); n++ {
		if !d.edge(n, true) {
			continue
		}
		for _, next := range []block{huge, makeBlock(8, 3000, 2, 24, false)} {
			c := d.crash(n)
			was := readAll(t, openFile(t, c.b))
			b, err := openBlocks(c, int64(len(c.b)))
			must(t, err)
			w, _, err := resume(b, &positionalSink{f: c})
			must(t, err)
			base := c.written()
			must(t, w.Anchors([]chunk.ClockAnchor{{Tick: 1, Nanos: 1}}))
			must(t, w.Events(next.EventsBlock))
			for k := base; k <= c.written(); k++ {
				if k != c.written() && !c.edge(k, true) {
					continue
				}
				e := c.crash(k)
				for _, r := range []*Reader{openFile(t, e.b), openStream(t, e.b)} {
					got := readAll(t, r)
					if len(got) != len(was) && len(got) != len(was)+len(next.want) || k == c.written() && len(got) == len(was) || !subset(got, all) {
						t.Fatalf("crash at %d and at %d: %d events, %d before", n, k, len(got), len(was))
					}
				}
			}
		}
	}
}

// A chunk whose second part could not be written, and that never comes again, leaves no half of it.
func TestHalfAChunkNeverCounts(t *testing.T) {
	s := superFor(Loop)
	s.LogSize = 6 * 4096
	huge := block{EventsBlock: EventsBlock{Chunk: 7, Gen: 1}, want: []ev{{5000, 33, 1, string(make([]byte, 3000))}}}
	huge.Payload = chunk.AppendFull(nil, &chunk.Record{Tick: 5000, Event: 33, PID: 1, Data: make([]byte, 3000)})
	first, second := makeBlock(0, 100, 60, 24, false), makeBlock(1, 1000, 7, 500, false)
	for _, next := range []block{huge, marks(5000)} { // in another slot, in the same
		for fail := range 4 {
			d := new(disk)
			w, err := create(&positionalSink{f: d}, s)
			must(t, err)
			must(t, w.Events(first.EventsBlock))
			d.failAt = d.count + 1 + fail
			if err := w.Events(second.EventsBlock); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("Events = %v, want ENOSPC", err)
			}
			must(t, w.Events(next.EventsBlock))
			want := append(slices.Clone(first.want), next.want...)
			newest(t, w, openFile(t, d.b), want)
			newest(t, w, openStream(t, d.b), want)
			must(t, w.Seal(testStatus, false))
			newest(t, w, openFile(t, d.b), want)
		}
	}
}
