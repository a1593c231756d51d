package posixtrace

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
)

// A stream with the policy PolicyFlush that was suspended for lack of room goes on after the automatic
// flush (FUL-09, FUL-12, FUL-13), also when a process was killed, or is stopped, in the middle of an
// event. The events of all processes are in the log, or counted as lost.
func TestSuspendedStreamGoesOn(t *testing.T) {
	tracetest.OnlyWithoutRace(t) // which adds instructions
	for _, how := range middles {
		for _, inC := range []bool{false, true} {
			if how.c && !inC || inC != (how.name == "jumped") && !tracetest.Full() {
				continue
			}
			t.Run(fmt.Sprintf("%s/C=%v", how.name, inC), func(t *testing.T) { testSuspended(t, how, inC) })
		}
	}
}

func testSuspended(t *testing.T, how middle, inC bool) {
	runtime.LockOSThread() // ptrace(2) is bound to it
	defer runtime.UnlockOSThread()
	if inC {
		ctest.C(t, "testdata/midevent.c") // before the stream, whose first flush comes within a second
	}
	path := filepath.Join(t.TempDir(), "log.trace")
	attr := midwayAttr(PolicyFlush)
	attr.Inheritance = InheritChildren
	s := logOf(t, 0, attr, path)
	const first = 10
	w := startMidway(t, inC)
	w.record(first)
	w.hold(s.c.Mem, 0)
	how.enter(t, w)

	id, err := OpenEventID("suspended")
	tracetest.OK(t, "OpenEventID", err)
	data := make([]byte, midwayData)
	n := uint64(first + 1)
	record := func() {
		n++
		binary.LittleEndian.PutUint64(data, n)
		Event(id, data)
	}
	for suspended := 0; suspended < 3; suspended++ {
		lost := s.c.Mem.Lost()
		for end := within(time.Minute); s.c.Mem.Lost() == lost; record() {
			if end.over() {
				t.Fatal("the stream is never full")
			}
		}
		tracetest.Wait(t, "the stream, which is suspended, to go on", func() bool { return s.c.Mem.State()&stream.Running != 0 })
		record()
	}
	tracetest.OK(t, "Shutdown", s.Shutdown())
	seen, st := numbersIn(t, path)
	if sum := uint64(len(seen)) + st.Lost + st.LogLost; sum != n && sum != n-1 {
		t.Errorf("%d events and %d + %d lost, of %d", len(seen), st.Lost, st.LogLost, n)
	}
	if how.after != nil {
		how.after(t, w)
	}
}
