package stream

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// guarded returns size bytes of memory between two pages that the process must not access.
func guarded(t testing.TB, size int) []byte {
	t.Helper()
	const page = 4096
	size = (size + page - 1) &^ (page - 1)
	b, err := sys.MapAnon(size + 2*page)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sys.Unmap(b) })
	for _, g := range [][]byte{b[:page], b[page+size:]} {
		if err := syscall.Mprotect(g, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return b[page : page+size : page+size]
}

// victimStream makes a stream in which every state of a chunk occurs.
func victimStream(t testing.TB, policy uint8) []byte {
	t.Helper()
	g, _ := Measure(8<<10, 256, 2)
	b := guarded(t, int(g.Size))[:g.Size]
	m, err := Format(b, &Config{Geometry: g, ID: 1, Attributes: attributes(256, policy), Creator: sys.SelfProc(), HasLog: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	c, w, l := newWriter(t, m, 1), newWriter(t, m, 2), newWriter(t, m, 1)
	m.Start(c, Event{})
	m.SetPatterns([]Pattern{{true, "a*"}, {false, "b"}})
	e := Event{ID: event.FirstUser}
	for n := range 150 {
		e.Addr = uint64(n % 7)
		w.Record(n>>3, &e, stamp(nil, 0, uint64(n), 12+n%50))
	}
	l.Record(0, &e, nil)
	l.Close()
	for i := range m.Chunks {
		if c := word(m, i); c.state() == full {
			m.at(i).ctl.Store(uint64(c.with(c.slot(), leaving)))
			break
		}
	}
	m.claim(w.Slot(), owned, 1<<20) // and dies
	return b
}

// exercise performs all operations on a stream that hostile processes can write to.
func exercise(t testing.TB, b []byte) {
	effort := tracetest.NewEffort()
	step := func(what string) {
		if took, over := effort.Over(2 * time.Second); over {
			t.Fatalf("%s took %s", what, took)
		}
		effort = tracetest.NewEffort()
	}
	m, err := Attach(b, false)
	if err != nil {
		return
	}
	const most = 1 << 19 // more than there is room for in the file
	var rec chunk.Record
	read := func(r source) {
		for n := 0; r.Next(&rec); n++ {
			if n > most {
				t.Fatal("the reader never ends")
			}
		}
	}
	m.Status(true)
	m.Lost()
	m.Patterns()
	m.Decide(event.FirstUser+3, "abc")
	m.writers()
	m.Pending()
	m.Unflushed(nil)
	m.FreshClock().Nanos(m.Now())
	m.TickAt(time.Now().UnixNano())
	m.NanosNow()
	for range 2 {
		m.addAnchor(chunk.ClockAnchor{Tick: m.Now(), Nanos: 5})
	}
	step("looking")
	p := m.Snapshot()
	read(p)
	p.Rewind()
	read(p)
	step("peeking")
	slot, ok := m.TakeSlot(sys.SelfProc(), func(p sys.Proc) bool { return p != sys.SelfProc() })
	if !ok {
		slot = 5
	}
	w, err := m.NewWriter(slot, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	m.Start(w, Event{})
	e := Event{ID: event.FirstUser}
	data := make([]byte, 300)
	for n := range 300 {
		w.Record(n>>2, &e, data[:n])
	}
	step("recording")
	m.SetFilter(w, Event{}, &event.Set{})
	m.Stop(w, Event{})
	m.Restart(w)
	step("control")
	read(m.NewReader())
	step("reading")
	m.Start(w, Event{})
	for n := range 100 {
		w.Record(n>>2, &e, data[:n])
	}
	flushTo(m, slot, func(b *Block) error {
		if len(b.Payload) > m.ChunkSize {
			t.Fatal("block larger than a chunk")
		}
		return nil
	})
	m.Recover(func(sys.Proc) bool { return true })
	step("flush")
	m.Clear()
	m.Start(w, Event{})
	w.Record(0, &e, nil)
	w.Close()
	m.LockReader(1, func(uint64) bool { return true })
	m.UnlockReader()
	step("the end")
}

// spoil overwrites parts of a stream as edits, twelve bytes each, say.
func spoil(b, edits []byte) {
	m := (*header)(unsafe.Pointer(&b[0]))
	chunks := int(m.chunks)
	for ; len(edits) >= 12; edits = edits[12:] {
		off := int(binary.LittleEndian.Uint32(edits))
		var from, n int
		switch off & 7 {
		case 0:
			from, n = 0, int(unsafe.Offsetof(m.logPath))
		case 1, 2:
			from, n = int(unsafe.Offsetof(m.state)), headerSize-int(unsafe.Offsetof(m.state))
		case 3, 4, 5:
			from, n = agesOffset(), dataOffset(chunks)-agesOffset()
		default:
			from, n = dataOffset(chunks), len(b)-dataOffset(chunks)
		}
		at := from + off>>3%(n/8)*8
		old := binary.LittleEndian.Uint64(b[at:])
		v := binary.LittleEndian.Uint64(edits[4:])
		switch v & 3 {
		case 0:
			old = v >> 2
		case 1:
			old ^= 1 << (v >> 2 & 63) // a single bit
		case 2:
			old += v >> 2
		case 3:
			old = ^uint64(0) >> (v >> 2 & 63)
		}
		binary.LittleEndian.PutUint64(b[at:], old)
	}
}

func FuzzStream(f *testing.F) {
	setPatience(f, forLongStops)
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 9))
		edits := make([]byte, 12*(1+rng.IntN(30)))
		for i := range edits {
			edits[i] = byte(rng.Uint32())
		}
		f.Add(byte(seed), edits)
	}
	f.Fuzz(func(t *testing.T, policy byte, edits []byte) {
		if len(edits) > 12*100 {
			return
		}
		b := victimStream(t, policy%3+1)
		m := (*header)(unsafe.Pointer(&b[0]))
		if at := int(m.chunks); at == 0 {
			t.Fatal("no chunks")
		}
		spoil(b, edits)
		exercise(t, b)
	})
}

// FuzzAttach changes only the start of the file, which has the sizes of the rest.
func FuzzAttach(f *testing.F) {
	setPatience(f, forLongStops)
	b := victimStream(f, Loop)
	f.Add(b[:unsafe.Offsetof(header{}.logPath)])
	f.Fuzz(func(t *testing.T, start []byte) {
		b := victimStream(t, UntilFull)
		copy(b[:unsafe.Offsetof(header{}.logPath)], start)
		exercise(t, b)
	})
}

// TestRandomEditsAreHarmless runs the body of FuzzStream on random edits.
func TestRandomEditsAreHarmless(t *testing.T) {
	setPatience(t, forLongStops)
	n := 1500
	if testing.Short() {
		n = 30
	}
	end := time.Now().Add(5 * time.Second)
	base := uint64(time.Now().UnixNano())
	for i := range n {
		seed := base + uint64(i)
		rng := rand.New(rand.NewPCG(seed, 9))
		edits := make([]byte, 12*(1+rng.IntN(60)))
		for i := range edits {
			edits[i] = byte(rng.Uint32())
		}
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			b := victimStream(t, uint8(seed%3)+1)
			spoil(b, edits)
			exercise(t, b)
		})
		if time.Now().After(end) {
			break
		}
	}
}
