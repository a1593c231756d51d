package tracelog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// headLog makes a Loop log whose types and clock anchors came one by one, and returns what its
// names and its clock are. many adds more types than fit into its head.
func headLog(t testing.TB, out sink, many int) (w *Writer, defs []TypeDef, anchors []chunk.ClockAnchor) {
	t.Helper()
	s := superFor(Loop)
	s.ChunkSize, s.LogSize, s.Clock = 1024, 6*1024, ClockAnchors
	w, err := create(out, s)
	must(t, err)
	for i := range 24 {
		// The rate changes at each, so that a line without one of them gives other times.
		k := chunk.ClockAnchor{Tick: uint64(100 * i), Nanos: 1e18 + int64(i*i)*1000}
		anchors = append(anchors, k)
		must(t, w.Anchors([]chunk.ClockAnchor{k}))
		if i%4 == 0 {
			d := TypeDef{event.ID(33 + i/4), fmt.Sprintf("name.%d", i)}
			defs = append(defs, d)
			must(t, w.Types([]TypeDef{d}))
		}
		must(t, w.Events(makeBlock(uint32(i), uint64(100*i+10), 3, 40, false).EventsBlock))
	}
	var more []TypeDef
	for i := range many {
		more = append(more, TypeDef{event.ID(1000 + i), fmt.Sprintf("more.%d", i)})
	}
	must(t, w.Types(more))
	return w, append(defs, more...), anchors
}

// wantHead checks that a reader knows all names, or the first most of them, and has the right times.
func wantHead(t testing.TB, what string, r *Reader, defs []TypeDef, anchors []chunk.ClockAnchor, most int) {
	t.Helper()
	if got := r.Types(); len(got) < min(most, len(defs)) || !slices.Equal(got, defs[:len(got)]) {
		t.Fatalf("%s: %d types %v, want %d", what, len(got), got, len(defs))
	}
	if !slices.Equal(r.Clock().Anchors(), anchors) {
		t.Fatalf("%s: %d clock anchors, want %d", what, len(r.Clock().Anchors()), len(anchors))
	}
}

// A Loop log that is cut anywhere behind its first slots has the names and the right times of the
// remaining events. Both used to be behind the slots only: dates of 1970, and numbers for names.
func TestCutTailKeepsNamesAndClock(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		var m memory
		w, defs, anchors := headLog(t, &m, 0)
		if sealed {
			must(t, w.Seal(testStatus, false))
		}
		all := readAll(t, openFile(t, m.b))
		tried, had := 0, 0
		first := int(w.super.slotAt(0))
		step := 41
		if tracetest.Full() {
			step = 1
		}
		for n := first; n < len(m.b); n++ {
			if (n-first)%step != 0 && n != int(w.super.tailAt()) && n != int(w.super.anchorsAt()) && n != len(m.b)-1 {
				continue
			}
			bothWays(m.b[:n], func(way string, r *Reader, err error) {
				must(t, err)
				got := readAll(t, r)
				if !subset(got, all) {
					t.Fatalf("%s cut at %d: wrong events", way, n)
				}
				had += len(got)
				wantHead(t, fmt.Sprintf("%s cut at %d", way, n), r, defs, anchors, len(defs))
				if s, err := r.State(); s == Finished || err == nil {
					t.Fatalf("%s cut at %d: %v", way, n, s)
				}
			})
			tried++
			if sealed && n%7 != 0 {
				continue
			}
			// It can be resumed, and finished whole.
			d := &disk{b: slices.Clone(m.b[:n])}
			b, err := openBlocks(d, int64(n))
			must(t, err)
			w, rec, err := resume(b, &positionalSink{f: d})
			must(t, err)
			if !slices.Equal(rec.Types, defs) {
				t.Fatalf("cut at %d, resumed: types %v", n, rec.Types)
			}
			must(t, w.Seal(testStatus, false))
			bothWays(d.b, func(way string, r *Reader, err error) {
				must(t, err)
				readAll(t, r)
				wantState(t, r, Finished)
				wantHead(t, fmt.Sprintf("%s cut at %d, resumed", way, n), r, defs, anchors, len(defs))
			})
			if text, err := Text(m.b[:n]); err != nil || strings.Count(text, `"name.`) != len(defs) {
				t.Fatalf("cut at %d: %v: %s", n, err, text)
			}
		}
		if tried < 100 || had < 1000 {
			t.Errorf("%d cuts, %d events", tried, had)
		}
	}
}

// If one of two copies is destroyed, the reader uses the other, and reports a finished log as
// damaged.
func TestEitherCopySuffices(t *testing.T) {
	var m memory
	w, defs, anchors := headLog(t, &m, 0)
	s := &w.super
	var tail []extent // of types
	b, err := openBlocks(readerAt(m.b), int64(len(m.b)))
	must(t, err)
	b.walk(s.tailAt(), 0, true, func(off int64, h *header) error {
		tail = append(tail, extent{off: off, end: off + h.size()})
		return nil
	})
	if len(tail) < 6 {
		t.Fatalf("%d blocks of types behind the slots", len(tail))
	}
	must(t, w.Seal(testStatus, false))
	all := readAll(t, openFile(t, m.b))
	places := append(tail,
		extent{off: s.anchorAreaAt(0), end: s.anchorAreaAt(0) + anchorAreaSize},
		extent{off: s.anchorAreaAt(1), end: s.anchorAreaAt(1) + anchorAreaSize},
		extent{off: s.namesAt(), end: s.namesAt() + s.namesSize()},
		extent{off: s.size, end: s.slotAt(0)})
	spoil := map[string]func(p []byte){
		"zeroed":     func(p []byte) { clear(p) },
		"bit":        func(p []byte) { p[70] ^= 4 },
		"length":     func(p []byte) { p[4] ^= 8 },
		"length 2":   func(p []byte) { p[6] ^= 1 },
		"kind":       func(p []byte) { p[0] ^= 1 },
		"id":         func(p []byte) { p[8] ^= 1 },
		"half of it": func(p []byte) { clear(p[len(p)/2:]); p[20] ^= 1 },
	}
	for _, e := range places {
		for how, fn := range spoil {
			log := slices.Clone(m.b)
			fn(log[e.off:e.end])
			bothWays(log, func(way string, r *Reader, err error) {
				must(t, err)
				what := fmt.Sprintf("%s: %s from %d to %d", way, how, e.off, e.end)
				wantEvents(t, readAll(t, r), all)
				wantHead(t, what, r, defs, anchors, len(defs))
				if s, _ := r.State(); s == Finished {
					t.Fatalf("%s: finished", what)
				}
			})
		}
	}
}

// A recorder that dies at any byte leaves the names of all events and the clock in one of the two
// copies, even if the end of its log is then cut off.
func TestCrashLeavesOneCopyWhole(t *testing.T) {
	d := new(disk)
	w, defs, anchors := headLog(t, &positionalSink{f: d}, 0)
	begin := d.written()
	must(t, w.Types([]TypeDef{{900, "last"}}))
	must(t, w.Anchors([]chunk.ClockAnchor{{Tick: 9000, Nanos: 2e18}}))
	tried := 0
	for n := begin; n <= d.written(); n++ {
		if !tracetest.Full() && !d.edge(n, true) {
			continue
		}
		c := d.crash(n)
		bothWays(c.b, func(way string, r *Reader, err error) {
			must(t, err)
			readAll(t, r)
			what := fmt.Sprintf("%s, dead at %d", way, n)
			if got := r.Types(); !slices.Equal(got[:min(len(defs), len(got))], defs) {
				t.Fatalf("%s: types %v", what, got)
			}
			if got := r.Clock().Anchors(); !slices.Equal(got[:min(len(anchors), len(got))], anchors) {
				t.Fatalf("%s: clock anchors %v", what, got)
			}
			wantState(t, r, Unfinished)
		})
		b, err := openBlocks(c, int64(len(c.b)))
		must(t, err)
		w, _, err := resume(b, &positionalSink{f: c})
		must(t, err)
		must(t, w.Seal(testStatus, false))
		bothWays(c.b, func(way string, r *Reader, err error) {
			must(t, err)
			readAll(t, r)
			wantState(t, r, Finished)
		})
		tried++
	}
	if tried < 20 {
		t.Errorf("%d crashes tried", tried)
	}
}

// There are more types than fit into the head: the first of them are in the log twice. Clear keeps
// them.
func TestHeadKeepsFirstOfManyTypes(t *testing.T) {
	d := new(disk)
	w, defs, anchors := headLog(t, &positionalSink{f: d}, 500)
	fit := w.headHas
	if fit < 100 || fit >= len(defs) {
		t.Fatalf("%d of %d types in the head", fit, len(defs))
	}
	must(t, w.Types([]TypeDef{{900, "later"}}))
	check := func(what string, anchors []chunk.ClockAnchor) {
		t.Helper()
		bothWays(d.b, func(way string, r *Reader, err error) {
			must(t, err)
			readAll(t, r)
			wantHead(t, what+", "+way, r, append(defs, TypeDef{900, "later"}), anchors, len(defs)+1)
		})
		bothWays(d.b[:w.super.anchorsAt()], func(way string, r *Reader, err error) {
			must(t, err)
			readAll(t, r)
			wantHead(t, what+", cut, "+way, r, defs, anchors, fit)
		})
	}
	check("written", anchors)
	must(t, w.Clear())
	last := makeBlock(99, 1e6, 3, 20, false)
	for i := range 7 { // up to the last slot, so that the cut is behind it
		last.Chunk = uint32(i)
		must(t, w.Events(last.EventsBlock))
	}
	check("cleared", anchors[len(anchors)-2:])
	must(t, w.Seal(testStatus, false))
	bothWays(d.b, func(way string, r *Reader, err error) {
		must(t, err)
		readAll(t, r)
		wantState(t, r, Finished)
	})
}
