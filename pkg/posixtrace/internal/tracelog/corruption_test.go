package tracelog

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// specimen is a log with the events that a reader may report of it.
type specimen struct {
	name   string
	p      Policy
	log    []byte
	all    []ev        // in the order of their times, all of which differ
	at     map[int]int // index in all by time
	blocks []extent
}

// extent is a block in a specimen, or a slot of a loop log.
type extent struct {
	off, end int64
	events   map[uint64]bool // times of those that need it
}

// specimens returns logs of all policies of about size bytes, sealed, and as recorders
// that were killed left them.
func specimens(t testing.TB, size int) (list []*specimen) {
	for _, p := range []Policy{Append, UntilFull, Loop} {
		for _, sealed := range []bool{true, false} {
			list = append(list, newSpecimen(t, p, sealed, size))
		}
	}
	return list
}

func newSpecimen(t testing.TB, p Policy, sealed bool, size int) *specimen {
	s := &specimen{name: fmt.Sprintf("%v sealed=%v", p, sealed), p: p, at: map[int]int{}}
	super := superFor(p)
	super.ChunkSize, super.LogSize = 4096, uint64(size)
	if p == Loop {
		// The slots are filled more than once.
		super.LogSize = uint64(size - size/4)
	}
	var m memory
	w, err := create(&m, super)
	must(t, err)
	must(t, w.Types(testTypes))
	must(t, w.Anchors([]chunk.ClockAnchor{{Tick: 0, Nanos: 1e9}, {Tick: 1 << 30, Nanos: 3e9}}))
	var blocks []block
	// Small chunks and large ones, so that a loop log joins and splits them.
	for i, n := 0, 0; n < size-1500 || p == Loop && n < 2*size; i++ {
		b := makeBlock(uint32(i), uint64(100+20*i), []int{9, 2, 7, 8}[i%4], []int{380, 40, 430, 61}[i%4], i%4 == 3)
		before := w.pos
		must(t, w.Events(b.EventsBlock))
		if p != Loop {
			e := extent{off: before, end: w.pos, events: map[uint64]bool{}}
			for _, e1 := range b.want {
				e.events[e1.Tick] = true
			}
			s.blocks = append(s.blocks, e)
		}
		if i%4 == 3 {
			must(t, w.GroupEnd(b.want[0].Tick+10))
		}
		n += len(b.Payload) + headerSize
		blocks = append(blocks, b)
	}
	if sealed {
		must(t, w.Seal(testStatus, false))
	}
	s.log = m.b
	r := openFile(t, s.log)
	s.all = readAll(t, r)
	for i, e := range s.all {
		s.at[int(e.Tick)] = i
	}
	if len(s.at) != len(s.all) || len(s.all) < size/1000 || !subset(s.all, ordered(blocks)) {
		t.Fatalf("%s: %d events of %d bytes, %d different", s.name, len(s.all), len(s.log), len(s.at))
	}
	if p == Loop {
		s.findSlots(t)
	}
	return s
}

// findSlots finds out which events are lost with a slot: those in it, and those of a chunk that it
// shares with its neighbour.
func (s *specimen) findSlots(t testing.TB) {
	super := openFile(t, s.log).Super()
	for i := range int(super.Slots) {
		off := super.slotAt(i)
		e := extent{off: off, end: off + super.slotSize(), events: map[uint64]bool{}}
		if e.end > int64(len(s.log)) {
			e.end = int64(len(s.log))
		}
		spoilt := slices.Clone(s.log)
		clear(spoilt[off:e.end])
		left := map[uint64]bool{}
		for _, x := range readAll(t, openFile(t, spoilt)) {
			left[x.Tick] = true
		}
		for _, x := range s.all {
			if !left[x.Tick] {
				e.events[x.Tick] = true
			}
		}
		s.blocks = append(s.blocks, e)
	}
}

// check reads a log that was damaged at the bytes from lo to hi. whole says that there is no other
// damage, so that events that do not need those bytes must be there.
func (s *specimen) check(t testing.TB, what string, log []byte, way string, lo, hi int64, whole bool) {
	var r *Reader
	var err error
	if way == "file" {
		r, err = OpenFile(readerAt(log), int64(len(log)))
	} else {
		r, err = OpenStream(bytes.NewReader(log))
	}
	if err != nil {
		if !errors.Is(err, ErrNotLog) || whole && lo >= 4096 {
			t.Fatalf("%s: %s: %s: open: %v", s.name, what, way, err)
		}
		return
	}
	seen, last := make([]bool, len(s.all)), -1
	var rec chunk.Record
	n := 0
	for {
		ok, err := r.Next(&rec)
		if err != nil {
			t.Fatalf("%s: %s: %s: Next: %v", s.name, what, way, err)
		}
		if !ok {
			break
		}
		i, known := s.at[int(rec.Tick)]
		if !known || rec.Event != s.all[i].ID || rec.PID != s.all[i].PID || string(rec.Data) != s.all[i].Data {
			t.Fatalf("%s: %s: %s: wrong event %+v", s.name, what, way, rec)
		}
		if i <= last || seen[i] {
			t.Fatalf("%s: %s: %s: event %d after %d", s.name, what, way, i, last)
		}
		seen[i], last = true, i
		n++
	}
	state, detail := r.State()
	if state != Finished && detail == nil {
		t.Fatalf("%s: %s: %s: %v, without a reason", s.name, what, way, state)
	}
	if types := r.Types(); len(types) > len(testTypes) || !slices.Equal(types, testTypes[:len(types)]) {
		t.Fatalf("%s: %s: %s: wrong types %v", s.name, what, way, types)
	}
	if st, ok := r.Status(); ok && st != testStatus {
		t.Fatalf("%s: %s: %s: wrong status %v", s.name, what, way, st)
	}
	if state == Finished && (n != len(s.all) || len(r.Types()) != len(testTypes)) {
		t.Fatalf("%s: %s: %s: finished, but %d of %d events", s.name, what, way, n, len(s.all))
	}
	if !whole || n == len(s.all) {
		return
	}
	// Which events are missing?
	for i, e := range s.all {
		if !seen[i] && !s.needs(e.Tick, lo, hi, way) {
			t.Fatalf("%s: %s: %s: the event at %d is lost, which is elsewhere (%v, %v)", s.name, what, way, e.Tick, state, detail)
		}
	}
}

// needs reports whether an event may be missing from a log that is unsound from lo to hi: a log
// that was written forward ends there, a loop log continues behind it.
func (s *specimen) needs(tick uint64, lo, hi int64, way string) bool {
	area := false
	for _, b := range s.blocks {
		if s.p == Loop {
			area = area || lo < b.end && hi > b.off
			if b.events[tick] && lo < b.end && hi > b.off {
				return true
			}
			continue
		}
		if b.events[tick] {
			return b.end > lo
		}
	}
	// A pipe yields no event of a loop log that breaks off within its slots.
	return s.p == Loop && (way == "stream" || !area)
}

var ways = []string{"file", "stream"}

// A log that is cut at any byte is read up to the last whole block.
func TestCutAtAnyByte(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	for _, s := range specimens(t, 64<<10) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			tried := 0
			for n := 0; n < len(s.log); n++ {
				if !tracetest.Full() && n%211 != 0 && !s.edge(int64(n), 2) {
					continue
				}
				for _, way := range ways {
					s.check(t, fmt.Sprint("cut at ", n), s.log[:n], way, int64(n), int64(len(s.log)), true)
				}
				tried++
			}
			t.Logf("%d cuts of %d bytes, read both ways", tried, len(s.log))
		})
	}
}

// edge reports whether an offset is near the boundary of a block.
func (s *specimen) edge(at int64, near int64) bool {
	for _, b := range s.blocks {
		for _, e := range []int64{b.off, b.off + headerSize, b.off + 2*headerSize, b.end} {
			if at >= e-near && at <= e+near {
				return true
			}
		}
	}
	return at > int64(len(s.log))-300
}

// A changed bit is detected wherever it is, and the block with it is left out.
func TestFlipAnyBit(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	for _, s := range specimens(t, 64<<10) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			log := slices.Clone(s.log)
			tried := 0
			step := 1
			if !tracetest.Full() {
				step = 997
			}
			for bit := 0; bit < 8*len(log); bit++ {
				if bit%step != 0 && !(bit%11 == 0 && s.edge(int64(bit/8), 0)) {
					continue
				}
				log[bit/8] ^= 1 << (bit % 8)
				at := int64(bit / 8)
				for _, way := range ways {
					s.check(t, fmt.Sprint("bit ", bit), log, way, at, at+1, at >= int64(s.superSize(t)))
				}
				log[bit/8] ^= 1 << (bit % 8)
				tried++
			}
			t.Logf("%d bits of %d bytes, read both ways", tried, len(s.log))
		})
	}
}

func (s *specimen) superSize(t testing.TB) int64 {
	n, err := superLen(s.log)
	must(t, err)
	return int64(n)
}

// Larger logs survive any damage, too: the reader reports only recorded events, and reports that
// some are missing.
func TestRandomDamageYieldsNoWrongEvent(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	rounds := 64
	if tracetest.Full() {
		rounds = 10_000
	}
	for _, s := range specimens(t, 1<<20) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(7, uint64(len(s.log))))
			from := int(s.superSize(t))
			for round := range rounds {
				log := slices.Clone(s.log)
				what := "?"
				block := func() extent { return s.blocks[rnd.IntN(len(s.blocks))] }
				at := from + rnd.IntN(len(log)-from)
				n := min(1+rnd.IntN(1<<(1+rnd.IntN(13))), len(log)-at)
				whole := true
				switch round % 8 {
				case 0:
					what, log, n = "cut", log[:at], len(log)-at
				case 1:
					what = "burst"
					for i := range n {
						log[at+i] ^= byte(1 + rnd.IntN(255))
					}
				case 2: // as a file system leaves what it had no time for
					what, at = "zeroed pages", at&^4095
					if at < from {
						at += 4096
					}
					n = min(4096*(1+rnd.IntN(4)), len(log)-at)
					clear(log[at : at+n])
				case 3:
					what, n = "bits", 1
					whole = false
					for range 1 + rnd.IntN(20) {
						log[from+rnd.IntN(len(log)-from)] ^= 1 << rnd.IntN(8)
					}
				case 4:
					what, whole = "swapped", false
					a, b := block(), block()
					k := min(a.end-a.off, b.end-b.off)
					x := slices.Clone(log[a.off : a.off+k])
					copy(log[a.off:], log[b.off:b.off+k])
					copy(log[b.off:], x)
				case 5:
					what, whole = "written over by another", false
					a, b := block(), block()
					copy(log[a.off:], s.log[b.off:b.end])
				case 6:
					what, whole = "repeated", false
					a := block()
					log = slices.Insert(log, int(a.end), s.log[a.off:a.end]...)
				case 7:
					what, whole = "taken out", false
					a := block()
					log = slices.Delete(log, int(a.off), int(a.end))
				}
				for _, way := range ways {
					s.check(t, fmt.Sprintf("round %d: %s at %d, %d bytes", round, what, at, n), log, way, int64(at), int64(at+n), whole)
				}
				s.checkResume(t, what, log)
			}
		})
	}
}

// checkResume resumes a damaged log, finishes it, and reads it. Resuming it twice has the effect of
// resuming it once.
func (s *specimen) checkResume(t testing.TB, what string, log []byte) {
	b, err := openBlocks(readerAt(log), int64(len(log)))
	if err != nil {
		return
	}
	d := &disk{b: slices.Clone(log)}
	if _, _, err = resume(b, &positionalSink{f: d}); errors.Is(err, ErrSealed) {
		return
	}
	must(t, err)
	once := slices.Clone(d.b)
	b, err = openBlocks(readerAt(d.b), int64(len(d.b)))
	must(t, err)
	w, _, err := resume(b, &positionalSink{f: d})
	must(t, err)
	if !bytes.Equal(once, d.b) {
		t.Fatalf("%s: %s: a second Resume changes it", s.name, what)
	}
	must(t, w.Types(testTypes))
	must(t, w.Seal(testStatus, false))
	for _, way := range ways {
		s.checkFinished(t, what+", resumed", d.b, way)
	}
}

// checkFinished checks a log that is finished and lacks something.
func (s *specimen) checkFinished(t testing.TB, what string, log []byte, way string) {
	rest := *s
	rest.all = readAll(t, openFile(t, log))
	if !subset(rest.all, s.all) {
		t.Fatalf("%s: %s: wrong events", s.name, what)
	}
	rest.at = map[int]int{}
	for i, e := range rest.all {
		rest.at[int(e.Tick)] = i
	}
	rest.check(t, what, log, way, 0, 0, false)
}
