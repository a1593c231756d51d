package tracelog

import (
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// partedLog makes a log whose index has several parts. The first times of blocks are out of order
// within mixed blocks.
func partedLog(t testing.TB, mixed int) (log []byte, blocks []block) {
	t.Helper()
	var m memory
	w, err := create(&m, superFor(Append))
	must(t, err)
	rnd := rand.New(rand.NewPCG(1, uint64(mixed)))
	for i := range 6*indexEntries + 100 {
		blocks = append(blocks, makeBlock(uint32(i), uint64(i*10+rnd.IntN(1+mixed*10)), 2, 2, false))
	}
	writeLog(t, w, blocks)
	return m.b, blocks
}

// The reader reads parts of an index when the order of times comes to them. The order of events is
// the same as with all parts in memory.
func TestIndexPartsReadInTimeOrder(t *testing.T) {
	for _, mixed := range []int{0, 3, 5 * indexEntries} {
		log, blocks := partedLog(t, mixed)
		all := ordered(blocks)
		r := openFile(t, log)
		x := r.src.(*indexSource)
		if len(x.parts) < 6 {
			t.Fatalf("%d parts", len(x.parts))
		}
		var got []ev
		var rec chunk.Record
		most := 0
		for ok := true; ok; {
			var err error
			if ok, err = r.Next(&rec); ok {
				got = append(got, evOf(&rec))
			}
			must(t, err)
			most = max(most, len(x.refs))
		}
		wantEvents(t, got, all)
		if mixed < indexEntries && most > 2*indexEntries {
			t.Errorf("mixed among %d: %d blocks were known at once", mixed, most)
		}
		var some event.Set
		some.Add(41)
		agree(t, "parts", log, &some)
		for _, from := range []uint64{0, 1, 5000, 12345, all[len(all)-1].Tick} {
			must(t, r.Select(from, from+700, nil))
			want := slices.DeleteFunc(slices.Clone(all), func(e ev) bool { return e.Tick < from || e.Tick > from+700 })
			wantEvents(t, readAll(t, r), want)
			wantState(t, r, Finished)
		}
	}
}

// countingReader counts the bytes that are read.
type countingReader struct {
	io.ReaderAt
	n int64
}

func (c *countingReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n += int64(n)
	return n, err
}

// OpenFile reads the index once; a selection reads no more of it than necessary.
func TestIndexReadOnce(t *testing.T) {
	log, _ := partedLog(t, 3)
	index := int64(0) // bytes
	f := &countingReader{ReaderAt: readerAt(log)}
	r, err := OpenFile(f, int64(len(log)))
	must(t, err)
	x := r.src.(*indexSource)
	for _, p := range x.parts {
		h, err := x.b.header(p.at)
		must(t, err)
		index += h.size()
	}
	if f.n > index+index/8 {
		t.Errorf("opening a log with an index of %d bytes reads %d", index, f.n)
	}
	for _, from := range []uint64{0, 17000, 29000} {
		before := f.n
		must(t, r.Select(from, from+100, nil))
		if n := len(readAll(t, r)); n < 10 {
			t.Fatalf("%d events", n)
		}
		if n := f.n - before; n > index/3 {
			t.Errorf("a selection of some blocks reads %d bytes, the index has %d", n, index)
		}
	}
}

// A change of the index after the log was opened is damage.
func TestChangedIndexIsDamage(t *testing.T) {
	whole, blocks := partedLog(t, 3)
	all := ordered(blocks)
	for _, change := range []func(p []byte){
		func(p []byte) { clear(p) },
		func(p []byte) { p[headerSize+indexFixed+3*entrySize]++ },
		func(p []byte) { // with a checksum that is right: a block that is named twice
			e := p[headerSize+indexFixed:]
			copy(e[5*entrySize:6*entrySize], e[4*entrySize:])
			raw := (*[headerSize]byte)(p)
			le.PutUint32(p[60:], checksum(raw, p[headerSize:headerSize+le.Uint32(p[4:])]))
		},
	} {
		log := slices.Clone(whole)
		r := openFile(t, log)
		at := slices.MaxFunc(r.src.(*indexSource).parts, func(a, b indexPart) int { return compare(a.min, b.min) }).at
		change(log[at:])
		got := readAll(t, r)
		if !subset(got, all) || len(got) < len(all)-indexEntries*2 || len(got) == len(all) {
			t.Errorf("%d events of %d", len(got), len(all))
		}
		wantState(t, r, Damaged)
	}
}
