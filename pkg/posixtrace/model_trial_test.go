package posixtrace

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"pgregory.net/rapid"
)

// trial is a real stream beside that of the model, with the processes that use it.
type trial struct {
	*mstream
	s      *Stream // of the owner, or of a connection if that is in C
	inC    bool
	path   string // of the log
	worker *worker
	cast   *cast
	hands  []hand // controllers and analyzers; the first is the owner
	names  map[EventID]string
	time   int64 // of the last event reported

	lost, logLost uint64 // as of the last checkLost
	// With the policy FLUSH the owner flushes automatically; the log is checked at the end only.
	auto  bool
	doubt bool // it may or may not be recording
	vague bool // and the log may have any part of its events
	// A filter has rejected START.
	hidden bool
}

// hand performs operations on a stream.
type hand struct {
	pid int
	do  func(op string) string
}

// worker is a traced process, with or without a child.
type worker struct {
	*tracetest.Child
	kid  int
	fork bool // it can go on in a child
	seq  int  // number of its next event
}

// newTrial makes a stream.
func newTrial(t *rapid.T, w *worker, c *cast) *trial {
	x := &trial{worker: w, cast: c, mstream: &mstream{ids: map[string]EventID{}}, names: map[EventID]string{}}
	attr := Attr{
		MaxDataSize:      new(64),
		StreamSize:       rapid.SampledFrom([]int64{1, 256 << 10}).Draw(t, "size"),
		StreamFullPolicy: rapid.SampledFrom([]FullPolicy{PolicyLoop, PolicyUntilFull, PolicyFlush}).Draw(t, "policy"),
		Inheritance:      rapid.SampledFrom([]Inheritance{InheritNone, InheritChildren}).Draw(t, "inheritance"),
	}
	x.auto = attr.StreamFullPolicy == PolicyFlush
	x.logged = x.auto || rapid.IntRange(0, 2).Draw(t, "log") == 1
	if x.logged {
		attr.LogFullPolicy = rapid.SampledFrom([]FullPolicy{PolicyAppend, PolicyUntilFull, PolicyLoop}).Draw(t, "log policy")
		attr.LogSize = rapid.SampledFrom([]int64{1 << 20, 16 << 10}).Draw(t, "log size")
	}
	owner := c.anyC(t, "owner")
	if err := x.create(t, owner, &attr); err != nil {
		t.Fatal(err)
	}
	types, err := x.s.EventTypes()
	if err != nil {
		t.Fatal(err)
	}
	for _, et := range types {
		x.ids[et.Name], x.names[et.ID] = et.ID, et.Name
	}
	x.helpers(t)
	return x
}

// create makes the stream, its log and the hands of the owner: the process in C, or the test's own, if
// that is nil.
func (x *trial) create(t *rapid.T, owner *cPeer, attr *Attr) (err error) {
	var f *os.File
	if x.logged {
		if f, err = os.CreateTemp(x.cast.dir, "*.trace"); err != nil {
			return err
		}
		defer f.Close()
		x.path = f.Name()
	}
	switch {
	case owner != nil:
		attr.Name = fmt.Sprint("model-", owner.PID, "-", owner.numbers)
		x.hands = owner.create(t, x.worker.PID, attr, x.path)
		x.s, err = Attach(attr.Name)
		x.inC = true
	case x.logged:
		x.s, err = CreateWithLog(x.worker.PID, attr, f)
	default:
		x.s, err = Create(x.worker.PID, attr)
	}
	if err == nil {
		x.attr, err = x.s.Attr()
	}
	return err
}

// peer is another process that performs operations on streams.
type peer struct {
	*tracetest.Child
	streams int
}

// helpers adds the users of the stream: its owner, a second connection of the same process,
// used by a goroutine, and other processes. They attach at their first operation.
func (x *trial) helpers(t *rapid.T) {
	info, err := x.s.Info()
	if err != nil {
		t.Fatal(err)
	}
	if !x.inC {
		x.hands = x.own(t, info.Path)
	}
	for _, a := range x.cast.peers {
		number := 0
		x.hands = append(x.hands, hand{a.PID, func(op string) string {
			if number == 0 {
				if op == "close" {
					return "done"
				}
				a.streams++
				number = a.streams
				if r := a.Ask("%d attach %s", number, info.Path); r != "done" {
					t.Fatalf("attach: %s", r)
				}
			}
			return a.Ask("%d %s", number, op)
		}})
	}
}

// own returns the hands of the test's own process.
func (x *trial) own(t *rapid.T, path string) []hand {
	me := os.Getpid()
	var second *Stream
	return []hand{{me, func(op string) string {
		if op == "close" {
			return "done"
		}
		return operate(x.s, op)
	}}, {me, func(op string) string {
		if second == nil {
			if op == "close" {
				return "done"
			}
			var err error
			if second, err = Attach(path); err != nil {
				t.Fatal(err)
			}
		}
		c := make(chan string)
		go func() { c <- operate(second, op) }()
		return <-c
	}}}
}

// end shuts the stream down however the schedule ended.
func (x *trial) end(t *rapid.T) {
	for _, h := range x.hands {
		h.do("close") // fails if the stream was shut down
	}
	x.ended(t)
	if x.path != "" {
		os.Remove(x.path)
	}
}

// any draws the hand that performs an operation. Hands other than the owner's ask the owner
// for a flush and wait for it, so they are seldom drawn.
func (x *trial) any(t *rapid.T, slow bool) hand {
	last := len(x.hands) - 1
	if slow && rapid.IntRange(0, 63).Draw(t, "slow") != 1 {
		return x.hands[0]
	}
	return x.hands[rapid.IntRange(0, last).Draw(t, "by")]
}

// must performs an operation that must succeed.
func (h hand) must(t *rapid.T, op string) {
	if r := h.do(op); r != "done" {
		t.Fatalf("%s: %s", op, r)
	}
}

func (x *trial) peek(t *rapid.T) Status {
	st, err := x.s.PeekStatus()
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// checkLost compares the count of lost events after generated events, the last in the queue.
func (x *trial) checkLost(t *rapid.T, generated int) {
	if x.auto {
		return
	}
	st := x.peek(t)
	lost := int(st.Lost - x.lost)
	x.lost = st.Lost
	switch {
	case x.attr.StreamFullPolicy == PolicyLoop && !x.logFull:
		if lost > 0 {
			x.overwritten(t, lost)
		}
		return
	case lost > generated || x.pending && lost != generated || !x.pending && !x.running && lost > 0:
		t.Fatalf("%d events lost, %d were generated; running %v, full %v", lost, generated, x.running, x.pending)
	case x.running && lost > 0:
		first := x.queue[len(x.queue)-lost].size
		if all := x.room() - sizes(x.queue[len(x.queue)-lost:]) + first; all <= int(x.attr.StreamSize) {
			t.Fatalf("an event was lost, although with it all take %d of %d bytes", all, x.attr.StreamSize)
		}
	}
	if lost > 0 || x.running && st.StreamStatus == StatusSuspended {
		x.refuse(lost)
	}
}

func sizes(list []mevent) (n int) {
	for _, e := range list {
		n += e.size
	}
	return
}

// overwritten finds the events that a LOOP stream has overwritten: the oldest of each writer
// (FUL-01), so the number left of each is enough.
func (x *trial) overwritten(t *rapid.T, lost int) {
	x.overrun = true
	if x.room() <= int(x.attr.StreamSize) {
		t.Fatalf("%d events lost, although all unread ones take %d of %d bytes", lost, x.room(), x.attr.StreamSize)
	}
	held := x.held(t)
	if e := x.queue[0]; e.safe {
		held[e.pid]--
	}
	n := 0
	for i := len(x.queue) - 1; i >= x.flushed; i-- {
		switch e := &x.queue[i]; {
		case e.gone, e.safe:
		case held[e.pid] > 0:
			held[e.pid]--
		default:
			e.gone = true
			n++
		}
	}
	if n != lost {
		t.Fatalf("%d events lost, but %d are not there any more", lost, n)
	}
	if n := len(x.queue); n > x.flushed && x.queue[n-1].gone {
		t.Fatalf("the newest event was lost")
	}
}

// held counts the events in the stream, by writer.
func (x *trial) held(t *rapid.T) map[int]int {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	unlock, err := s.c.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	r := s.c.Mem.Snapshot()
	held := map[int]int{}
	for r.Next(&s.read.rec) {
		held[int(s.read.rec.PID)]++
	}
	return held
}

// report is an event that the stream or log reported.
type report struct {
	name string
	pid  int
	data string
	cut  bool
	time int64
}

func (r report) is(e mevent) bool {
	return r.name == e.name && r.data == e.data && r.pid == e.pid && r.cut == e.cut
}

// parse reads one event of the answer to "read".
func (x *trial) parse(t *rapid.T, line string) (r report) {
	var id EventID
	var cut Truncation
	f := strings.SplitN(line, " ", 5)
	for i, to := range []any{&id, &r.pid, &cut, &r.time} {
		fmt.Sscan(f[i], to)
	}
	data, err := strconv.Unquote(f[4])
	if err != nil {
		t.Fatal(err)
	}
	r.name, r.cut, r.data = x.names[id], cut == TruncationRecord, data
	return r
}

// expect compares the event reported next.
func (x *trial) expect(t *rapid.T, have report) {
	want, ok := x.next(have.name)
	if !ok || !have.is(want) {
		t.Fatalf("reported %+v, want %+v, of which there is one: %v", have, want, ok)
	}
	x.clock(t, have)
}

func (x *trial) clock(t *rapid.T, have report) {
	if have.time < x.time {
		t.Fatalf("time runs backwards at %+v: %d before it", have, x.time)
	}
	x.time = have.time
}
