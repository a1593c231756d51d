package stream

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// TestWriterKilledAtEachInstruction stops a writer after each instruction of one call of Record
// and checks the stream as if the writer had been killed there: a killed process leaves only the
// shared memory behind. At some instructions the test kills it.
func TestWriterKilledAtEachInstruction(t *testing.T) {
	setPatience(t, forLongStops)
	tracetest.OnlyWithoutRace(t) // which adds instructions
	for _, v := range stepVariants {
		t.Run(v.name, func(t *testing.T) { testKillSteps(t, v) })
	}
}

// stepVariant is a path through Record. prepare brings the writer to its start and returns how many
// events it has recorded.
type stepVariant struct {
	name    string
	policy  uint8
	size    int // of the data
	short   bool
	prepare func(m *Mem, w *Writer, record func(size int) bool)
	call    func(w *Writer, e Event, data []byte) bool // nil: Record
	prog    string                                     // another program that does this, "" for this one
}

var stepVariants = []stepVariant{
	{"first", Loop, 16, false, func(m *Mem, w *Writer, record func(int) bool) {}, nil, ""},
	{"next", Loop, 16, false, func(m *Mem, w *Writer, record func(int) bool) { record(16) }, nil, ""},
	{"own time", Loop, 16, false, func(m *Mem, w *Writer, record func(int) bool) { record(16) }, func(w *Writer, e Event, data []byte) bool {
		e.Tick = w.m.now()
		return w.AppendEvent(0, &e, data, false)
	}, ""},
	{"span", Loop, 16, false, func(m *Mem, w *Writer, record func(int) bool) { record(16) }, func(w *Writer, e Event, data []byte) bool {
		e.Ticks, e.Span.Parent = sys.Ticks(), 1
		return appendSpan(w, 0, &e, data)
	}, ""},
	{"largest", Loop, 1024, false, func(m *Mem, w *Writer, record func(int) bool) { record(1024) }, nil, ""},
	{"open", Loop, 16, true, func(m *Mem, w *Writer, record func(int) bool) { record(16) }, nil, ""},
	{"new open chunk", UntilFull, 1024, true, func(m *Mem, w *Writer, record func(int) bool) {
		for record(1024); openRoom(m, 1024); {
			record(1024)
		}
	}, nil, ""},
	{"new chunk", UntilFull, 1024, false, func(m *Mem, w *Writer, record func(int) bool) {
		for record(1024); roomy(w); {
			record(1024)
		}
	}, nil, ""},
	{"overwrite", Loop, 1024, false, func(m *Mem, w *Writer, record func(int) bool) {
		for m.Lost() == 0 || roomy(w) {
			record(1024)
		}
	}, nil, ""},
	{"full", UntilFull, 1024, false, func(m *Mem, w *Writer, record func(int) bool) {
		for !m.spentFor(1024) {
			record(1024)
		}
	}, nil, ""},
	{"lost", UntilFull, 1024, false, func(m *Mem, w *Writer, record func(int) bool) {
		for record(1024) {
		}
	}, nil, ""},
	{"take over", Loop, 16, false, takeOverVictim, nil, ""},
	{"rejected", Loop, 16, false, func(m *Mem, w *Writer, record func(int) bool) {
		var s event.Set
		s.Add(event.FirstUser)
		m.setFilter(&s)
	}, nil, ""},
}

// roomy reports whether the chunk that the writer owns takes another of the largest events.
func roomy(w *Writer) bool {
	tag := w.shard(0).tag.Load()
	if tag == noChunk {
		return false
	}
	c := ctl(w.m.at(int(tag & idxMask)).ctl.Load())
	return c.off()+chunk.Overhead+chunk.Align(1024) <= w.chunk
}

// openRoom reports whether an open chunk has room for an event with that much data.
func openRoom(m *Mem, size int) bool {
	for o := range m.OpenChunks {
		if v := m.h.openTable[o].Load(); m.isOpenRef(v) && word(m, int(v-1)).off()+chunk.FullSize+chunk.Align(size) <= m.ChunkSize {
			return true
		}
	}
	return false
}

// spentFor reports whether an event with so much data finds no room any more.
func (m *Mem) spentFor(size int) bool {
	for i := range m.Chunks {
		c := ctl(m.at(i).ctl.Load())
		if c.state() == free || !c.state().closed() && c.off()+size+100 <= m.ChunkSize || c.state() == partial && c.off()+size+100 <= m.ChunkSize {
			return false
		}
	}
	return true
}

// The words by which the tracing and the traced process communicate, in the oracle's page.
const (
	stepReady = 1 + iota
	stepBegun
	stepDone
)

// stepVictim is the writer.
func stepVictim(m *Mem, w *Writer, o *oracle, phase *atomic.Uint64, v stepVariant) {
	if v.short {
		w.Short()
	}
	e := Event{ID: event.FirstUser, TID: 7, Addr: 5}
	call := v.call
	if call == nil {
		call = func(w *Writer, e Event, data []byte) bool { return w.Record(0, &e, data) }
	}
	var buf []byte
	record := func(size int) bool {
		buf = stamp(buf, 0, o.before.Load(), size)
		o.before.Add(1)
		return call(w, e, buf)
	}
	v.prepare(m, w, record)
	buf = stamp(buf, 0, o.before.Load(), v.size)
	phase.Store(stepReady)
	runtime.Breakpoint()
	phase.Store(stepBegun)
	call(w, e, buf)
	phase.Store(stepDone)
	runtime.Breakpoint()
	os.Exit(0)
}

func testKillSteps(t *testing.T, v stepVariant) {
	runtime.LockOSThread() // ptrace(2) is bound to it
	defer runtime.UnlockOSThread()
	steps, looks := stepOnce(t, v, -1)
	killed := 0
	for kill := 1; kill < steps && !t.Failed(); kill += max(1, steps/20) {
		stepOnce(t, v, kill)
		killed++
	}
	t.Logf("%d instructions, which leave the stream in %d states; %d killed", steps, looks, killed)
}

// stepOnce runs the victim up to instruction kill, where it is killed, or, if that is -1, to the end,
// and looks at the stream after each instruction that has changed it.
func stepOnce(t *testing.T, v stepVariant, kill int) (steps, looks int) {
	x := startStepped(t, v)
	defer x.end()
	m, victim := x.m, x.proc
	prepared := x.all[0].before.Load()
	var seen []byte // the stream at the last check
	for x.phase.Load() != stepDone {
		x.step()
		if kill == x.steps {
			x.cmd.Process.Kill()
			x.cmd.Wait()
			lookAtDead(t, m, func(p sys.Proc) bool { return p == victim && !p.Alive() }, prepared, v)
			return x.steps, looks
		}
		if kill < 0 && x.phase.Load() >= stepBegun && !bytes.Equal(seen, m.Bytes()) {
			seen = append(seen[:0], m.Bytes()...)
			looks++
			words := make([]atomic.Uint64, len(m.Bytes())/8+1)
			b := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(m.Bytes()))
			copy(b, m.Bytes())
			dead, err := Attach(b, false)
			if err != nil {
				t.Fatalf("after instruction %d: %v", x.steps, err)
			}
			lookAtDead(t, dead, func(p sys.Proc) bool { return p == victim }, prepared, v)
			if t.Failed() {
				t.Fatalf("after instruction %d", x.steps)
			}
		}
	}
	return x.steps, looks
}

// lookAtDead checks the stream of a writer that died in the middle of event number prepared, counted
// from 0.
func lookAtDead(t *testing.T, m *Mem, dead func(sys.Proc) bool, prepared uint64, v stepVariant) {
	t.Helper()
	m.Recover(dead)
	checkWritable(t, m)
	y := newTally(t, 3)
	r := m.NewReader()
	readInto(r, y)
	generated := prepared + 1 // the START is counted with them
	if got := y.got[0] + y.starts + m.Lost(); got != generated && got != generated+1 || y.next[0] > prepared+1 {
		t.Errorf("%d read, %d lost, %d generated before; the last one read is %d", y.got[0], m.Lost(), prepared, y.next[0])
	}
	if v.policy == Loop && v.name != "rejected" && prepared > 0 && y.next[0] < prepared {
		t.Errorf("the newest of %d events is %d", prepared, y.next[0])
	}
	if n := m.h.damage.Load(); n != 0 {
		t.Errorf("%d damaged", n)
	}
	// The stream continues to work, and no room is lost.
	slot, ok := m.TakeSlot(sys.SelfProc(), dead)
	if !ok {
		t.Fatal("no slot")
	}
	w, err := m.NewWriter(slot, sys.SelfProc().PID, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	m.setFilter(&event.Set{})
	for range 2 {
		readInto(r, y) // reports the stop
	}
	m.Restart(w)
	lost := m.Lost()
	e := Event{ID: event.FirstUser}
	var sum int64
	for n := uint64(0); sum+1200 < m.MinSize; n++ {
		if !w.Record(0, &e, stamp(nil, 2, n, 1000)) {
			t.Fatalf("after %d bytes of %d there is no room", sum, m.MinSize)
		}
		sum += 1100
	}
	if m.Lost() != lost {
		t.Errorf("%d lost within the promise", m.Lost()-lost)
	}
	readInto(r, y)
	if used, _ := m.Used(); used > m.OpenChunks+1 {
		t.Errorf("%d chunks in use after everything was read", used)
	}
}

func stepMode(mode string) (v stepVariant, ok bool) {
	name, ok := strings.CutPrefix(mode, "step ")
	for _, v := range append(closerVariants, stepVariants...) {
		if ok && v.name == name {
			return v, true
		}
	}
	return v, false
}
