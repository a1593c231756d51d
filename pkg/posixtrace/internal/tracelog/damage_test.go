package tracelog

import (
	"errors"
	"io"
	"slices"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// smallLog makes a finished log of a few blocks and returns it, the blocks, and where each of them
// ends.
func smallLog(t testing.TB, p Policy) (log []byte, blocks []block, ends []int64) {
	t.Helper()
	var m memory
	s := superFor(p)
	s.ChunkSize, s.LogSize = 256, 5*256
	s.Command, s.StreamPath, s.GenerationVersion = nil, "", ""
	w, err := create(&m, s)
	must(t, err)
	for i := range 5 {
		blocks = append(blocks, makeBlock(uint32(i), uint64(100+20*(i/2)+i), 3, 5, i == 3))
	}
	must(t, w.Types(testTypes[:2]))
	must(t, w.Anchors([]chunk.ClockAnchor{{Tick: 0, Nanos: 1e9}}))
	for i, b := range blocks {
		must(t, w.Events(b.EventsBlock))
		ends = append(ends, w.pos)
		if i == 1 || i == 3 {
			must(t, w.GroupEnd(b.want[0].Tick+5))
		}
	}
	must(t, w.Seal(testStatus, false))
	return m.b, blocks, ends
}

// bothWays calls fn with a reader of the log as a file and one as a pipe, or the error of opening
// it.
func bothWays(b []byte, fn func(way string, r *Reader, err error)) {
	r, err := OpenFile(readerAt(b), int64(len(b)))
	fn("file", r, err)
	r, err = OpenStream(&sliceReader{b: b})
	fn("stream", r, err)
}

type readerAt []byte

func (r readerAt) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(r)) {
		return 0, io.EOF
	}
	n := copy(p, r[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// sliceReader reads in small, odd pieces, like a pipe.
type sliceReader struct{ b []byte }

func (r *sliceReader) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 333)], r.b)
	r.b = r.b[n:]
	return n, nil
}

// subset reports whether got is all with some events left out.
func subset(got, all []ev) bool {
	for _, e := range got {
		i := slices.Index(all, e)
		if i < 0 {
			return false
		}
		all = all[i+1:]
	}
	return true
}

func TestTruncatedLogKeepsWholeBlocks(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	for _, p := range []Policy{Append, UntilFull} {
		log, blocks, ends := smallLog(t, p)
		all := blocks
		super := openFile(t, log).Super().size
		for n := range len(log) {
			whole := 0
			for whole < len(ends) && ends[whole] <= int64(n) {
				whole++
			}
			bothWays(log[:n], func(way string, r *Reader, err error) {
				if (err == nil) != (int64(n) >= super) || err != nil && !errors.Is(err, ErrNotLog) {
					t.Fatalf("%s cut at %d: open: %v", way, n, err)
				}
				if err != nil {
					return
				}
				got := readAll(t, r)
				if !slices.Equal(got, ordered(all[:whole])) {
					t.Fatalf("%s cut at %d: %v, want %v", way, n, got, ordered(all[:whole]))
				}
				if s, err := r.State(); s != Unfinished || err == nil {
					t.Fatalf("%s cut at %d: state %v, %v", way, n, s, err)
				}
			})
		}
	}
	// A Loop log, too, loses no more than the part that is cut off.
	log, blocks, _ := smallLog(t, Loop)
	for n := range len(log) {
		bothWays(log[:n], func(way string, r *Reader, err error) {
			if err != nil {
				return
			}
			if got := readAll(t, r); !subset(got, ordered(blocks)) {
				t.Fatalf("%s cut at %d: %v", way, n, got)
			}
			if s, _ := r.State(); s == Finished {
				t.Fatalf("%s cut at %d is finished", way, n)
			}
		})
	}
}

func TestBitFlipNeverYieldsWrongEvent(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	for _, p := range []Policy{Append, Loop} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			log, blocks, _ := smallLog(t, p)
			all := ordered(blocks)
			super := openFile(t, log).Super().size
			for bit := 0; bit < 8*len(log); bit += tracetest.Stride() {
				log[bit/8] ^= 1 << (bit % 8)
				bothWays(log, func(way string, r *Reader, err error) {
					if int64(bit/8) < super {
						if !errors.Is(err, ErrNotLog) {
							t.Fatalf("%s bit %d of the superblock: %v", way, bit, err)
						}
						return
					}
					if err != nil {
						t.Fatalf("%s bit %d: %v", way, bit, err)
					}
					got := readAll(t, r)
					s, detail := r.State()
					if !subset(got, all) {
						t.Fatalf("%s bit %d: wrong events: %v", way, bit, got)
					}
					if !slices.Equal(r.Types(), testTypes[:min(len(r.Types()), 2)]) {
						t.Fatalf("%s bit %d: wrong types %v", way, bit, r.Types())
					}
					if st, ok := r.Status(); ok && st != testStatus {
						t.Fatalf("%s bit %d: wrong status %v", way, bit, st)
					}
					if s == Finished {
						if len(got) != len(all) || len(r.Types()) != 2 || len(r.Clock().Anchors()) != 1 && p != Loop {
							t.Fatalf("%s bit %d: finished, but %d of %d events", way, bit, len(got), len(all))
						}
					} else if detail == nil {
						t.Fatalf("%s bit %d: %v without detail", way, bit, s)
					}
				})
				log[bit/8] ^= 1 << (bit % 8)
			}
		})
	}
}

// disk is a file in memory that records the order of writes and fails on demand.
type disk struct {
	b      []byte
	writes []diskWrite
	failAt int  // fail the write of this number
	short  int  // after so many bytes
	stuck  bool // fail all that follow, too
	count  int
}

type diskWrite struct {
	off  int64
	data []byte // nil: truncate to off
}

func (d *disk) WriteAt(p []byte, off int64) (int, error) {
	d.count++
	var err error
	if d.count == d.failAt || d.stuck && d.failAt > 0 && d.count > d.failAt {
		p, err = p[:min(d.short, len(p))], syscall.ENOSPC
	}
	if len(p) > 0 {
		d.apply(diskWrite{off, slices.Clone(p)})
	}
	return len(p), err
}

func (d *disk) Write(p []byte) (int, error) { return d.WriteAt(p, int64(len(d.b))) }

func (d *disk) Truncate(size int64) error {
	d.apply(diskWrite{off: size})
	return nil
}

func (d *disk) Sync() error { return nil }

func (d *disk) apply(w diskWrite) {
	d.writes = append(d.writes, w)
	if w.data == nil {
		if n := int64(len(d.b)); w.off > n {
			d.b = append(d.b, make([]byte, w.off-n)...)
		}
		d.b = d.b[:w.off]
		return
	}
	if n := w.off + int64(len(w.data)) - int64(len(d.b)); n > 0 {
		d.b = append(d.b, make([]byte, n)...)
	}
	copy(d.b[w.off:], w.data)
}

// crash returns the disk after n bytes were written.
func (d *disk) crash(n int) *disk {
	c := new(disk)
	for _, w := range d.writes {
		if w.data == nil {
			c.apply(w)
			continue
		}
		k := min(n, len(w.data))
		if k > 0 {
			c.apply(diskWrite{w.off, w.data[:k]})
		}
		if n -= k; n == 0 && k < len(w.data) {
			break
		}
	}
	return c
}

func (d *disk) written() (n int) {
	for _, w := range d.writes {
		n += len(w.data)
	}
	return
}

// edge reports whether n is worth trying as the moment of a crash: near the start or the end of a
// write, or one of every 97.
func (d *disk) edge(n int, few bool) bool {
	if n%97 == 0 {
		return true
	}
	near := 66
	if few {
		near = 1
	}
	at := 0
	for _, w := range d.writes {
		end := at + len(w.data)
		if n >= at && n-at <= near || n <= end && end-n <= near {
			return true
		}
		at = end
	}
	return false
}

// record writes a log to d and seals it: the blocks that logged, if not nil, does not know.
func record(t testing.TB, w *Writer, blocks []block, logged *Recovered, done func()) {
	t.Helper()
	must(t, w.Types(testTypes))
	must(t, w.Anchors([]chunk.ClockAnchor{{Tick: 0, Nanos: 1e9}, {Tick: 1e6, Nanos: 2e9}}))
	for _, b := range blocks {
		if logged == nil || !logged.Logged(b.Chunk, b.Gen, b.Base) {
			must(t, w.Events(b.EventsBlock))
		}
		if done != nil {
			done()
		}
		must(t, w.GroupEnd(50))
	}
	must(t, w.Seal(testStatus, false))
}

func TestResumeAfterCrashAtEveryByte(t *testing.T) {
	for _, p := range []Policy{Append, UntilFull, Loop} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			s := superFor(p)
			s.ChunkSize, s.LogSize = 8192, 1<<20
			if p == Loop {
				// Two slots, filled twice, with chunks that are split.
				s.ChunkSize, s.LogSize = 5504, 2*5504
			}
			var blocks []block
			count := 6
			if p == Loop {
				count = 8
			}
			for i := range count {
				n := 3
				if i == 2 || i == 4 || i == 6 {
					n = 160 // large enough to be written in two pieces
				}
				blocks = append(blocks, makeBlock(uint32(i), uint64(100+200*i), n, 20, false))
			}
			d := new(disk)
			w, err := create(&positionalSink{f: d}, s)
			must(t, err)
			var done []int // bytes written when each block was in the log
			var then [][]ev
			record(t, w, blocks, nil, func() {
				done = append(done, d.written())
				then = append(then, readAll(t, openFile(t, d.b)))
			})
			want := readAll(t, openFile(t, d.b))
			if all := ordered(blocks); !slices.Equal(want, all[len(all)-len(want):]) || (p == Loop) == (len(want) == len(all)) || len(want) < 160 {
				t.Fatalf("%d of %d events, or not the newest", len(want), len(all))
			}
			if p == Loop && countSplit(d) == 0 {
				t.Fatal("no chunk was split")
			}
			for n := range d.written() {
				if !d.edge(n, tracetest.RaceEnabled) {
					continue
				}
				c := d.crash(n)
				r, err := OpenFile(readerAt(c.b), int64(len(c.b)))
				if int64(n) < w.Super().size {
					if err == nil {
						t.Fatalf("crash at %d: log without superblock opens", n)
					}
					continue
				}
				must(t, err)
				k := 0 // blocks that were in the log
				for k < len(done) && done[k] <= n {
					k++
				}
				got := readAll(t, r)
				if !subset(got, ordered(blocks[:min(k+1, len(blocks))])) {
					t.Fatalf("crash at %d: wrong events", n)
				}
				if k > 0 {
					for _, e := range then[k-1] {
						if k < len(then) && slices.Contains(then[k], e) && !slices.Contains(got, e) {
							t.Fatalf("crash at %d: the logged event at %d is lost", n, e.Tick)
						}
					}
				}
				if s, err := r.State(); s != Unfinished {
					t.Fatalf("crash at %d: %v, %v", n, s, err)
				}
				b, err := openBlocks(readerAt(c.b), int64(len(c.b)))
				must(t, err)
				w, rec, err := resume(b, &positionalSink{f: c})
				if err != nil {
					t.Fatalf("crash at %d: resume: %v", n, err)
				}
				// The stream still has the events that were not logged, and the
				// block before, which was logged but may not have been freed.
				rest := 0
				for rest < len(done)-1 && done[rest+1] <= n {
					rest++
				}
				record(t, w, blocks[rest:], rec, nil)
				r = openFile(t, c.b)
				if got := readAll(t, r); !slices.Equal(got, want) {
					t.Fatalf("crash at %d: after resume %d events, want %d", n, len(got), len(want))
				}
				if s, err := r.State(); s != Finished {
					t.Fatalf("crash at %d: after resume %v, %v", n, s, err)
				}
				if !slices.Equal(r.Types(), testTypes) || len(r.Clock().Anchors()) != 2 {
					t.Fatalf("crash at %d: after resume types %v, clock anchors %v", n, r.Types(), r.Clock().Anchors())
				}
				r = openStream(t, c.b)
				if got := readAll(t, r); len(got) != len(want) {
					t.Fatalf("crash at %d: stream after resume %d events", n, len(got))
				}
				wantState(t, r, Finished)
			}
			b, err := openBlocks(readerAt(d.b), int64(len(d.b)))
			must(t, err)
			if _, _, err := resume(b, &positionalSink{f: d}); err != ErrSealed {
				t.Errorf("Resume of a sealed log: %v", err)
			}
		})
	}
}

// countSplit counts the headers ever written that split a chunk.
func countSplit(d *disk) (n int) {
	for _, w := range d.writes {
		if len(w.data) == headerSize {
			var h header
			if h.decode((*[headerSize]byte)(w.data)); h.Kind == KindEvents && h.Gen&continues != 0 {
				n++
			}
		}
	}
	return
}

// retry calls fn until it succeeds, at most twice.
func retry(t testing.TB, fn func() error) {
	t.Helper()
	if err := fn(); err != nil {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%v does not wrap ENOSPC", err)
		}
		must(t, fn())
	}
}

func TestRetriedWriteMakesSameLog(t *testing.T) {
	blocks := []block{makeBlock(0, 10, 3, 4, false), makeBlock(1, 20, 150, 20, false), makeBlock(2, 30, 3, 4, false)}
	write := func(out sink, p Policy) {
		s := superFor(p)
		s.ChunkSize, s.LogSize = 8192, 4*8192
		var w *Writer
		retry(t, func() (err error) { w, err = create(out, s); return err })
		retry(t, func() error { return w.Types(testTypes) })
		retry(t, func() error { return w.Anchors([]chunk.ClockAnchor{{Tick: 1, Nanos: 2}}) })
		for _, b := range blocks {
			retry(t, func() error { return w.Events(b.EventsBlock) })
			retry(t, func() error { return w.GroupEnd(5) })
		}
		retry(t, func() error { return w.Seal(testStatus, true) })
	}
	for _, p := range []Policy{Append, UntilFull, Loop} {
		for _, appendMode := range []bool{false, true} {
			if appendMode && p != Append {
				continue
			}
			newSink := func(d *disk) sink {
				if appendMode {
					return &appendSink{f: d}
				}
				return &positionalSink{f: d}
			}
			good := new(disk)
			write(newSink(good), p)
			for failAt := range good.count {
				for _, short := range []int{0, 1, 63, 64, 65, 4000} {
					d := &disk{failAt: failAt + 1, short: short}
					write(newSink(d), p)
					if p == Loop { // in which numbers are left out
						r := openFile(t, d.b)
						wantEvents(t, readAll(t, r), ordered(blocks))
						wantState(t, r, Finished)
					} else if !slices.Equal(d.b, good.b) {
						t.Fatalf("%v: log differs after write %d failed short by %d", p, failAt+1, short)
					}
				}
			}
		}
	}
}

func TestPipeBreaksAfterPartialBlock(t *testing.T) {
	for _, short := range []int{0, 1} {
		d := &disk{failAt: 3, short: short}
		w, err := create(&pipeSink{f: d}, superFor(Append))
		must(t, err)
		must(t, w.Types(testTypes))
		b := makeBlock(0, 10, 3, 4, false)
		if err := w.Events(b.EventsBlock); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("Events = %v, want ENOSPC", err)
		}
		err = w.Events(b.EventsBlock)
		if (err == nil) != (short == 0) {
			t.Errorf("after %d bytes of a block went out, the next write: %v", short, err)
		}
	}
}
