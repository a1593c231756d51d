package stream

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/attr"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// cScript is a writer in C that records what it is asked to.
type cScript struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	pending []byte
	asked   int
}

func startCScript(t *testing.T, dir string) *cScript {
	t.Helper()
	cmd := exec.Command(cPeer(t))
	cmd.Env = append(os.Environ(), killEnv+"=script", "STREAM_TEST_DIR="+dir)
	in, err := cmd.StdinPipe()
	tracetest.OK(t, "stdin", err)
	out, err := cmd.StdoutPipe()
	tracetest.OK(t, "stdout", err)
	tracetest.OK(t, "start", cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	c := &cScript{t: t, cmd: cmd, in: in, out: bufio.NewReader(out)}
	if s, err := c.out.ReadString('\n'); s != "ready\n" {
		t.Fatalf("the writer says %q, %v", s, err)
	}
	return c
}

// ask adds an event to those that run records.
func (c *cScript) ask(hint int, e *Event, size int) {
	b := c.pending
	for _, v := range []uint32{uint32(hint), uint32(e.ID), e.TID, uint32(size)} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = binary.LittleEndian.AppendUint64(b, e.Addr)
	c.pending = binary.LittleEndian.AppendUint64(b, uint64(e.PID))
	c.asked++
}

// run records the events and returns an answer for each.
func (c *cScript) run() []byte {
	c.t.Helper()
	_, err := c.in.Write(c.pending)
	answers := make([]byte, c.asked)
	if err == nil {
		_, err = io.ReadFull(c.out, answers)
	}
	if err != nil {
		c.t.Fatalf("the writer in C has ended: %v, %v", err, c.cmd.Wait())
	}
	c.pending, c.asked = c.pending[:0], 0
	return answers
}

// end closes the writer.
func (c *cScript) end() {
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("the writer in C: %v", err)
	}
}

// withClock makes the stream's clock CLOCK_MONOTONIC, if so, for processes that attach from now on.
func withClock(t *testing.T, dir string, m *Mem, monotonic bool) *Mem {
	t.Helper()
	if !monotonic {
		return m
	}
	m.h.clock = ClockMonotonic
	b, err := mapFile(filepath.Join(dir, "stream"), len(m.Bytes()))
	tracetest.OK(t, "map", err)
	again, err := Attach(b, false)
	tracetest.OK(t, "attach", err)
	m.h.horizon.Store(0)
	again.h.anchors[0][0].Store(sys.Monotonic())
	return again
}

// TestCRecordsLikeGo records the same events in Go and in C, while the filter, the state, the clock and
// the room of the streams change and a reader or a flush takes events. Both writers have the same
// answers, fill their chunks alike, and leave the same events and losses.
func TestCRecordsLikeGo(t *testing.T) {
	cPeer(t)
	for _, policy := range []uint8{Loop, UntilFull, Flush} {
		for _, monotonic := range []bool{false, true} {
			for seed := range uint64(tracetest.Scale(2, 20, 100)) {
				t.Run(fmt.Sprintf("policy%d/monotonic=%v/%d", policy, monotonic, seed), func(t *testing.T) {
					(&alike{t: t, policy: policy, monotonic: monotonic}).test(seed)
				})
			}
		}
	}
}

// alike is two streams, the first of a writer in Go, the second of one in C.
type alike struct {
	t         *testing.T
	policy    uint8
	monotonic bool
	m         [2]*Mem
	ctl       [2]*Writer
	reader    [2]*Reader
	w         *Writer
	c         *cScript
	want      []byte // the answers of the writer in Go since the last change
}

func (a *alike) test(seed uint64) {
	t := a.t
	rng := rand.New(rand.NewPCG(seed, uint64(a.policy)))
	var dirs [2]string
	for i := range a.m {
		dir, m, _ := killStream(t, a.policy, 32<<10)
		dirs[i], a.m[i] = dir, withClock(t, dir, m, a.monotonic)
		a.ctl[i] = newWriter(t, a.m[i], 1)
		a.ctl[i].Short()
		a.reader[i] = a.m[i].NewReader()
	}
	a.w = newWriter(t, a.m[0], 2)
	a.c = startCScript(t, dirs[1])
	a.both(func(i int) { a.m[i].Start(a.ctl[i], Event{}) })
	data := make([]byte, 1<<16)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for n := range tracetest.Scale(8000, 20000, 20000) {
		if rng.IntN(100) == 0 {
			a.change(rng)
		}
		size := rng.IntN(100)
		if rng.IntN(50) == 0 {
			size = rng.IntN(3 * pageSize)
		}
		id := event.FirstUser + event.ID(rng.IntN(3))
		switch rng.IntN(1000) {
		case 0:
			id = event.ID(rng.Uint32())
		case 1:
			id = event.ID(rng.IntN(32)) // some of which are never cut
		}
		e := Event{ID: id, PID: a.w.PID(), TID: uint32(rng.IntN(5)), Addr: uint64(rng.IntN(200))}
		ok := a.w.Append(n/100, id, Who(e.PID, e.TID), e.Addr, sys.Ticks(), data[:size])
		a.want = append(a.want, '0'+b2u(ok))
		a.c.ask(n/100, &e, size)
		if a.c.asked == 500 {
			a.sync()
		}
	}
	a.sync()
	a.same("in the end")
	a.w.Close()
	a.m[0].FreeSlot(a.w.Slot())
	a.c.end()
	a.same("after the writers were closed")
	a.both(func(i int) { a.m[i].Recover(gone) })
	if x, y := len(a.m[0].writers()), len(a.m[1].writers()); x != 1 || y != 1 {
		t.Errorf("%d and %d writers are left", x, y)
	}
}

func (a *alike) both(f func(i int)) {
	for i := range a.m {
		f(i)
	}
}

// sync lets the writer in C catch up.
func (a *alike) sync() {
	a.t.Helper()
	if got := a.c.run(); !slices.Equal(got, a.want) {
		for i := range got {
			if got[i] != a.want[i] {
				a.t.Fatalf("event %d of %d: Go says %c, C %c", i, len(got), a.want[i], got[i])
			}
		}
	}
	a.want = a.want[:0]
}

// change does something to both streams.
func (a *alike) change(rng *rand.Rand) {
	a.t.Helper()
	a.sync()
	what, n := rng.IntN(9), rng.IntN(100)
	var f event.Set
	if n < 50 {
		f.Add(event.FirstUser + event.ID(n%3))
	}
	a.both(func(i int) {
		m, w := a.m[i], a.ctl[i]
		switch what {
		case 0:
			m.Stop(w, Event{})
		case 1, 2:
			m.Start(w, Event{})
		case 3:
			m.setFilter(&f)
		case 4:
			m.SetFilter(w, Event{}, &f)
		case 5:
			if n < 20 {
				m.Clear()
			}
		case 6: // the next event of each chunk needs a new base
			m.h.tickOffset.Add(1 << 32)
		default:
			m.Restart(w)
		}
	})
	switch {
	case what == 7 || what == 8 && a.policy != Flush:
		a.sameReads()
	case what == 8:
		a.both(func(i int) {
			_, err := flushTo(a.m[i], a.ctl[i].Slot(), func(*Block) error { return nil })
			tracetest.OK(a.t, "flush", err)
			a.m[i].Restart(a.ctl[i])
		})
	}
}

// untimed is an event without its time.
func untimed(rec *chunk.Record) string {
	r := *rec
	r.Tick = 0
	return fmt.Sprintf("%+v", r)
}

// sameReads has the readers take what there is.
func (a *alike) sameReads() {
	a.t.Helper()
	var got [2][]string
	a.both(func(i int) {
		var rec chunk.Record
		for a.reader[i].Next(&rec) {
			got[i] = append(got[i], untimed(&rec))
		}
		a.m[i].Restart(a.ctl[i])
	})
	a.compare("read", got)
}

func (a *alike) compare(what string, got [2][]string) {
	a.t.Helper()
	// Marks may stand elsewhere among events of the same time.
	for i := range got {
		slices.Sort(got[i])
	}
	if !slices.Equal(got[0], got[1]) {
		for i := range min(len(got[0]), len(got[1])) {
			if got[0][i] != got[1][i] {
				a.t.Fatalf("%s: %d and %d events; number %d is\n%.200s in Go, in C\n%.200s", what, len(got[0]), len(got[1]), i, got[0][i], got[1][i])
			}
		}
		a.t.Fatalf("%s: %d and %d events", what, len(got[0]), len(got[1]))
	}
}

// same compares the streams.
func (a *alike) same(when string) {
	a.t.Helper()
	var events, words [2][]string
	a.both(func(i int) {
		r := a.m[i].Snapshot()
		var rec chunk.Record
		for r.Next(&rec) {
			events[i] = append(events[i], untimed(&rec))
		}
		words[i] = append(filling(a.m[i]), fmt.Sprint("lost ", a.m[i].Lost(), " state ", a.m[i].State(), " damage ", a.m[i].h.damage.Load()))
	})
	a.compare(when, events)
	if x, y := strings.Join(words[0], "; "), strings.Join(words[1], "; "); x != y {
		a.t.Errorf("%s, Go:\n%s\nC:\n%s", when, x, y)
	}
}

// TestCAttachIsLikeGo offers C and Go the same damaged starts of a stream.
func TestCAttachIsLikeGo(t *testing.T) {
	h := startHostile(t)
	rng := rand.New(rand.NewPCG(1, 1))
	accepted := 0
	n := tracetest.Scale(200, 5000, 20000)
	for range n {
		b := victimStream(t, Loop)
		to := b[:int(unsafe.Offsetof(header{}.logPath))]
		switch rng.IntN(4) {
		case 0: // as it is
		case 1:
			to[rng.IntN(len(to))] ^= 1 << rng.IntN(8)
		default:
			at := int(unsafe.Offsetof(header{}.chunkSize)) + 4*rng.IntN(20)
			if rng.IntN(4) == 0 {
				at = int(unsafe.Offsetof(header{}.attributes)) + 8*rng.IntN(len(attr.Block{}))
			}
			binary.LittleEndian.PutUint32(to[at:], []uint32{0, 1, 2, 65, 4096, 1 << 17, 1 << 31}[rng.IntN(7)])
		}
		copy(b[unsafe.Offsetof(header{}.state):], make([]byte, 8)) // it does not run, so nothing else is in it
		m, err := Attach(b, false)
		want := err == nil && m.ID == 1
		if got := h.accepts(b); got != want {
			t.Fatalf("C accepts: %v, Go: %v\n%x", got, err, to[:200])
		}
		if want {
			accepted++
		}
	}
	if accepted < n/10 || accepted > n*9/10 {
		t.Errorf("%d of %d are accepted", accepted, n)
	}
}
