package conformance

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Section FUL: what happens when a stream has no room left.

func init() {
	// burst: passes args[0] trace points, numbered, after a line of input. It has one processor, and
	// so is one writer: a second writer's events in its open chunk, which is not overwritten
	// while open, would survive in the middle of a loss.
	tracetest.Helpers["burst"] = func(args []string) {
		n, _ := strconv.Atoi(args[0])
		runtime.GOMAXPROCS(1)
		id, err := posixtrace.OpenEventID("burst")
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("ready")
		os.Stdin.Read(make([]byte, 1))
		for i := range n {
			posixtrace.Event(id, []byte(strconv.Itoa(i)))
		}
		fmt.Println("done")
		os.Stdin.Read(make([]byte, 1))
	}
}

// overwrite records until a LOOP stream has lost something since it was called.
func (w *numberWriter) overwrite(t *testing.T, s *posixtrace.Stream) {
	t.Helper()
	for lost := statusOf(t, s).Lost; statusOf(t, s).Lost == lost; {
		if !w.put() {
			t.Fatal("a LOOP stream refuses an event")
		}
	}
}

// missingEvents goes through the events of one numbering writer: where numbers are missing there
// is an OVERFLOW, and a RESUME with the time of the event right before the next one;
// elsewhere there is neither. Loss at the very end has an OVERFLOW only. It
// returns how many are missing of those up to n.
func missingEvents(t *testing.T, list []readEvent, n int) (missing int) {
	t.Helper()
	next, over, reported := 0, false, false
	for i, e := range list {
		switch {
		case e.ID == posixtrace.EventOverflow:
			if over {
				t.Fatalf("event %d: a second OVERFLOW without RESUME", i)
			}
			over, reported = true, true
		case e.ID == posixtrace.EventResume:
			if !over || i+1 == len(list) || !list[i+1].ID.User() && list[i+1].ID != posixtrace.EventStop || list[i+1].UnixNano != e.UnixNano {
				t.Fatalf("event %d: RESUME at %d, overflown %v, then %v", i, e.UnixNano, over, list[i+1:min(i+2, len(list))])
			}
			if list[i+1].ID.User() && numberOf(t, list[i+1]) == next {
				t.Fatalf("event %d: RESUME before %d where nothing is missing", i, next)
			}
			over = false
		case e.ID.User():
			k := numberOf(t, e)
			if k < next {
				t.Fatalf("event %d: %d comes after %d", i, k, next-1)
			}
			if k > next && list[i-1].ID != posixtrace.EventResume {
				t.Fatalf("event %d: from %d to %d without RESUME: %v", i, next-1, k, list[max(0, i-4):i+1])
			}
			if over {
				t.Fatalf("event %d: %v between OVERFLOW and RESUME", i, e)
			}
			missing += k - next
			next, reported = k+1, false
		}
	}
	if reported != (next < n) {
		t.Fatalf("the last event is %d of %d, overflown: %v", next-1, n, reported)
	}
	return missing + n - next
}

// withoutFlushMarks leaves out the marks of flushes, and the errors of those that failed.
func withoutFlushMarks(list []readEvent) []readEvent {
	return slices.DeleteFunc(slices.Clone(list), func(e readEvent) bool {
		return e.ID == posixtrace.EventFlushStart || e.ID == posixtrace.EventFlushStop || e.ID == posixtrace.EventError
	})
}

var _ = conform("FUL-01", func(t *testing.T) {
	t.Run("newest", func(t *testing.T) {
		s := newStream(t, smallAttr(posixtrace.PolicyLoop))
		startStream(t, s)
		w := newNumberWriter(t, s)
		for range 5 {
			w.overwrite(t, s)
		}
		wantState(t, s, posixtrace.StatusRunning, posixtrace.StatusFull)
		first, last := wantConsecutive(t, readAll(t, s))
		if last != w.n-1 || first == 0 || uint64(first) != statusOf(t, s).Lost {
			t.Errorf("events %d to %d survive of %d, %d are lost", first, last, w.n, statusOf(t, s).Lost)
		}
	})
	t.Run("order", func(t *testing.T) {
		// a starts first and closes its chunk last: the newest event of b's chunk is the older one.
		s := newStream(t, smallAttr(posixtrace.PolicyLoop))
		startStream(t, s)
		a, b, c := newNumberWriter(t, s), newNumberWriter(t, s), newNumberWriter(t, s)
		b.id, c.id = eventID(t, "flow.b"), eventID(t, "flow.c")
		a.put()
		for range 400 { // more than a chunk holds
			b.put()
		}
		for range 400 {
			a.put()
		}
		c.overwrite(t, s)
		all := readAll(t, s)
		count := func(id posixtrace.EventID) (n int) { return len(eventsOf(all, id)) }
		if count(a.id) != a.n || count(b.id) == b.n || count(c.id) != c.n {
			t.Errorf("%d of %d events survive of the first writer, %d of %d of the second, %d of %d of the third",
				count(a.id), a.n, count(b.id), b.n, count(c.id), c.n)
		}
	})
	t.Run("writers", func(t *testing.T) {
		// Of one writer, no event is lost while an older one survives.
		s := newStream(t, smallAttr(posixtrace.PolicyLoop))
		startStream(t, s)
		var ws []*numberWriter
		for i := range 3 {
			w := newNumberWriter(t, s)
			w.id = eventID(t, fmt.Sprint("flow.", i))
			ws = append(ws, w)
		}
		for range 3000 {
			w := ws[rand.N(len(ws))]
			for range 1 + rand.N(20) {
				w.put()
			}
		}
		all := readAll(t, s)
		total := 0
		for i, w := range ws {
			total += w.n
			if own := eventsOf(all, w.id); len(own) > 0 {
				if _, last := wantConsecutive(t, own); last != w.n-1 {
					t.Errorf("the last event of writer %d is %d, want %d", i, last, w.n-1)
				}
			}
		}
		wantEqual(t, "recorded and lost", len(userEvents(all))+len(eventsOf(all, posixtrace.EventStart))+int(statusOf(t, s).Lost), total+1)
	})
	t.Run("speeds", func(t *testing.T) {
		// One event of the slow writer for hundreds of the fast one: the stream keeps the newest events
		// of each, without a gap.
		for _, ratio := range []int{100, 700, 5000} {
			s := newStream(t, smallAttr(posixtrace.PolicyLoop))
			startStream(t, s)
			slow, fast := newNumberWriter(t, s), newNumberWriter(t, s)
			fast.id = eventID(t, "flow.fast")
			for range 400_000 / ratio {
				slow.put()
				for range ratio {
					fast.put()
				}
			}
			lost := statusOf(t, s).Lost
			for _, all := range [][]readEvent{peekAll(t, s), readAll(t, s)} {
				kept := len(eventsOf(all, posixtrace.EventStart))
				for what, w := range map[string]*numberWriter{"slow": slow, "fast": fast} {
					first, last := wantConsecutive(t, eventsOf(all, w.id))
					if last != w.n-1 || first == 0 && w == fast {
						t.Errorf("1:%d: events %d to %d survive of %d of the %s writer", ratio, first, last, w.n, what)
					}
					kept += last - first + 1
				}
				wantEqual(t, "recorded and lost", kept+int(lost), 1+slow.n+fast.n)
			}
		}
	})
	t.Run("speeds, with logs", func(t *testing.T) {
		// The same for a LOOP log of a stream that loses nothing, and of one that does: there
		// each flush leaves its own gap.
		for _, sp := range []posixtrace.FullPolicy{posixtrace.PolicyUntilFull, posixtrace.PolicyLoop} {
			a := smallAttr(sp)
			a.LogFullPolicy, a.LogSize, a.StreamSize = posixtrace.PolicyLoop, 64<<10, 64<<10
			s, path := newLogged(t, a)
			startStream(t, s)
			slow, fast := newOtherNumberWriter(t, s), newOtherNumberWriter(t, s)
			fast.id = eventID(t, "flow.fast")
			burst := 300
			if sp == posixtrace.PolicyLoop {
				burst = 20000 // more than the stream has room for
			}
			for range 100 {
				slow.put()
				for range burst {
					fast.put()
				}
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			shutdownStream(t, s)
			all, st := readLog(t, path)
			kept := uint64(0)
			for what, w := range map[string]*numberWriter{"slow": slow, "fast": fast} {
				next := -1
				for _, e := range all {
					if e.ID == w.id {
						n, err := strconv.Atoi(e.data)
						if err != nil || n <= next || sp == posixtrace.PolicyUntilFull && next >= 0 && n != next+1 {
							t.Fatalf("%v: event %q of the %s writer follows %d", sp, e.data, what, next)
						}
						next = n
						kept++
					}
				}
				if next != w.n-1 {
					t.Errorf("%v: the last event of the %s writer is %d, want %d", sp, what, next, w.n-1)
				}
			}
			kept += uint64(countOf(all, posixtrace.EventStart) + countOf(all, posixtrace.EventStop))
			if all := uint64(2 + slow.n + fast.n); kept+st.Lost+st.LogLost != all || st.LogLost == 0 || (st.Lost == 0) != (sp == posixtrace.PolicyUntilFull) {
				t.Errorf("%v: %d are kept of %d, %+v", sp, kept, all, st)
			}
		}
	})
	t.Run("counts", func(t *testing.T) {
		c := tracetest.Start(t, "burst", "100000")
		s := running(t, c.PID, *smallAttr(posixtrace.PolicyLoop))
		c.Line()
		c.In.WriteString("\n")
		go c.Out.ReadString('\n')
		var all []readEvent
		tracetest.Wait(t, "the burst is over", func() bool {
			all = append(all, readAll(t, s)...)
			return allCounted(t, s, all, 100001)
		})
		wantEqual(t, "recorded and lost", len(eventsOf(all, posixtrace.EventStart))+len(userEvents(all))+int(statusOf(t, s).Lost), 100001)
	})
})

func allCounted(t *testing.T, s *posixtrace.Stream, all []readEvent, n int) bool {
	return len(eventsOf(all, posixtrace.EventStart))+len(userEvents(all))+int(statusOf(t, s).Lost) >= n
}

var _ = conform("FUL-02", func(t *testing.T) {
	s := newStream(t, smallAttr(posixtrace.PolicyLoop))
	startStream(t, s)
	w := newNumberWriter(t, s)
	for range 3 {
		w.overwrite(t, s)
		st, err := s.Status()
		if err != nil || st.StreamOverrunStatus != posixtrace.StatusOverrun {
			t.Fatalf("after overwriting the status is %+v, %v", st, err)
		}
		if st, err = s.Status(); err != nil || st.StreamOverrunStatus != posixtrace.StatusNoOverrun {
			t.Fatalf("without overwriting the status is %+v, %v", st, err)
		}
	}
})

var _ = conform("FUL-03", func(t *testing.T) {
	// Events of all sizes, whose data shows whether it is whole, read while writers overwrite
	// them.
	s := newStream(t, &posixtrace.Attr{StreamSize: 1, MaxDataSize: new(1000)})
	startStream(t, s)
	const writers, each = 2, 20000
	var wg sync.WaitGroup
	for i := range writers {
		id := eventID(t, fmt.Sprint("ful.", i))
		wg.Go(func() {
			var buf [1000]byte
			for k := range each {
				b := buf[:1+k*7919%1000]
				for i := range b {
					b[i] = byte(len(b))
				}
				b[len(b)-1] = byte(len(b) >> 3)
				posixtrace.Event(id, b)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	n := 0
	check := func() {
		for _, e := range readAll(t, s) {
			if e.ID == posixtrace.EventStart {
				n++
			}
			if !e.ID.User() {
				continue
			}
			n++
			l := len(e.data)
			want := append(bytes.Repeat([]byte{byte(l)}, l-1), byte(l>>3))
			if e.data != string(want) || e.Truncation != posixtrace.TruncationNone {
				t.Fatalf("a torn event of %d bytes: %q", l, e.data)
			}
		}
	}
	for {
		check()
		select {
		case <-done:
			check()
			wantEqual(t, "recorded and lost", n+int(statusOf(t, s).Lost), writers*each+1)
			return
		default:
		}
	}
})

var _ = conform("FUL-04", func(t *testing.T) {
	s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
	startStream(t, s)
	w := newNumberWriter(t, s)
	wantState(t, s, posixtrace.StatusRunning, posixtrace.StatusNotFull)
	w.fill(t)
	wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusFull)
	if w.put() {
		t.Error("a full stream records")
	}
})

var _ = conform("FUL-05", func(t *testing.T) {
	for writers := 1; writers <= 4; writers++ {
		s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
		startStream(t, s)
		var ws []*numberWriter
		for range writers {
			ws = append(ws, newNumberWriter(t, s))
		}
		total := 0
		for i := 0; ws[i%writers].put(); i++ {
			total++
		}
		all := readAll(t, s)
		if len(all) < total+3 {
			t.Fatalf("%d events of %d", len(all), total)
		}
		wantEvents(t, []readEvent{all[0], all[total+1], all[total+2]}, "START", "STOP1", "OVERFLOW")
		wantEqual(t, "number of events", len(userEvents(all[:total+1])), total)
		wantOrdered(t, all)
	}
	t.Run("concurrent", func(t *testing.T) {
		for range 30 {
			s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
			startStream(t, s)
			id := eventID(t, "flow")
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					for statusOf(t, s).Lost == 0 {
						posixtrace.Event(id, []byte("0"))
					}
				})
			}
			wg.Wait()
			all := readAll(t, s)
			wantOrdered(t, all)
			i := slices.IndexFunc(all, func(e readEvent) bool { return e.ID == posixtrace.EventStop })
			if i < 0 || len(userEvents(all[i:])) > 0 || i+1 >= len(all) || all[i+1].ID != posixtrace.EventOverflow {
				t.Fatalf("event %d of %d is the STOP: %v", i, len(all), all[max(0, i-2):])
			}
			shutdownStream(t, s)
		}
	})
})

// fillExactly fills a stream so that nothing more fits and nothing is lost.
func fillExactly(t *testing.T, s *posixtrace.Stream, w *numberWriter) {
	t.Helper()
	for statusOf(t, s).StreamFullStatus != posixtrace.StatusFull {
		if w.r.Record(posixtrace.EventInfo{ID: w.id}, nil) {
			w.n++
		}
	}
}

var _ = conform("FUL-06", func(t *testing.T) {
	t.Run("exactly full", func(t *testing.T) {
		s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
		startStream(t, s)
		w := newNumberWriter(t, s)
		fillExactly(t, s, w)
		st := statusOf(t, s)
		if st.Lost != 0 || st.StreamOverrunStatus != posixtrace.StatusNoOverrun || st.StreamStatus != posixtrace.StatusSuspended {
			t.Fatalf("a stream that has lost nothing: %+v", st)
		}
		if w.put() {
			t.Error("it takes one more")
		}
		if st = statusOf(t, s); st.Lost != 1 || st.StreamOverrunStatus != posixtrace.StatusOverrun {
			t.Errorf("after one more: %+v", st)
		}
	})
	t.Run("counts", func(t *testing.T) {
		s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
		startStream(t, s)
		id := eventID(t, "flow")
		const writers, each = 4, 20000
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for i := range each {
					posixtrace.Event(id, []byte(strconv.Itoa(i)))
				}
			})
		}
		done := make(chan struct{})
		go func() { wg.Wait(); close(done) }()
		var all []readEvent
		for over := false; !over; {
			select {
			case <-done:
				over = true
			default:
			}
			all = append(all, readAll(t, s)...)
		}
		st := statusOf(t, s)
		wantEqual(t, "recorded and lost", len(userEvents(all))+int(st.Lost), writers*each)
		if (st.Lost > 0) != (st.StreamOverrunStatus == posixtrace.StatusOverrun) {
			t.Errorf("status is %+v", st)
		}
	})
	t.Run("process", func(t *testing.T) {
		c := tracetest.Start(t, "burst", "50000")
		s := running(t, c.PID, *smallAttr(posixtrace.PolicyUntilFull))
		c.Line()
		c.In.WriteString("\n")
		if l := c.Line(); l != "done" {
			t.Fatal(l)
		}
		all := readAll(t, s)
		wantEqual(t, "recorded and lost", len(userEvents(all))+int(statusOf(t, s).Lost), 50000)
	})
})

var _ = conform("FUL-07", func(t *testing.T) {
	s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
	startStream(t, s)
	w := newNumberWriter(t, s)
	w.fill(t)
	st, err := s.Status()
	if err != nil || st.Lost != 1 {
		t.Fatalf("status is %+v, %v", st, err)
	}
	none := func(what string) {
		t.Helper()
		for range 3 {
			w.put()
			posixtrace.Event(w.id, nil)
		}
		if now := statusOf(t, s); now.Lost != st.Lost || now.StreamOverrunStatus != posixtrace.StatusNoOverrun {
			t.Errorf("%s count as lost: %+v", what, now)
		}
	}
	// A FILTER event follows the full policy, and so counts.
	var set posixtrace.EventSet
	set.Add(w.id)
	set.Add(posixtrace.EventFilter)
	if err := s.SetFilter(set, posixtrace.FilterSet); err != nil {
		t.Fatal(err)
	}
	st, _ = s.Status()
	none("excluded events")
	if err := s.SetFilter(set, posixtrace.FilterSet); err != nil { // without a FILTER event
		t.Fatal(err)
	}
	none("excluded events")
	stopStream(t, s)
	if err := s.SetFilter(posixtrace.EventSet{}, posixtrace.FilterSet); err != nil {
		t.Fatal(err)
	}
	st, _ = s.Status()
	none("events after an explicit stop")
})

var _ = conform("FUL-08", func(t *testing.T) {
	s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
	startStream(t, s)
	w := newNumberWriter(t, s)
	capacity := w.fill(t)
	readAll(t, s)
	for round := range 5 {
		if n := w.fill(t); n < capacity/2 {
			t.Fatalf("round %d: room for %d events, at first there was for %d", round, n, capacity)
		}
		readAll(t, s)
	}
	l, path := newLogged(t, &posixtrace.Attr{StreamSize: 1, MaxDataSize: new(64), StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyAppend})
	startStream(t, l)
	w = newOtherNumberWriter(t, l)
	total := 0
	for round := range 5 {
		n := w.fill(t)
		if total += n; n < capacity/2 {
			t.Fatalf("round %d: room for %d events, at first there was for %d", round, n, capacity)
		}
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	shutdownStream(t, l)
	wantEqual(t, "number of events in the log", len(userEvents(readFinishedLog(t, path))), total)
})

var _ = conform("FUL-09", func(t *testing.T) {
	s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
	startStream(t, s)
	w := newNumberWriter(t, s)
	n := w.fill(t)
	// START, the events, and then STOP: the stream does not restart before STOP is reported.
	for i := range n + 1 {
		if _, ok := readNext(t, s); !ok {
			t.Fatalf("event %d is missing", i)
		}
		if st := statusOf(t, s); st.StreamStatus != posixtrace.StatusSuspended {
			t.Fatalf("after %d events of %d it has restarted", i+1, n+1)
		}
	}
	if w.put() {
		t.Error("it records")
	}
	e, _ := readNext(t, s)
	wantEvents(t, []readEvent{e}, "STOP1")
	wantState(t, s, posixtrace.StatusRunning, posixtrace.StatusNotFull)
	if !w.put() {
		t.Error("it does not record")
	}
	wantEvents(t, readAll(t, s), "OVERFLOW", "START", "RESUME", strconv.Itoa(w.n-1))
})

var _ = conform("FUL-10", func(t *testing.T) {
	s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
	var set posixtrace.EventSet
	set.Add(eventID(t, "ful.rejected"))
	if err := s.SetFilter(set, posixtrace.FilterSet); err != nil {
		t.Fatal(err)
	}
	startStream(t, s)
	w := newNumberWriter(t, s)
	w.fill(t)
	starts := eventsOf(readAll(t, s), posixtrace.EventStart)
	wantEvents(t, starts, "START", "START")
	if have, err := posixtrace.DecodeSet([]byte(starts[1].data)); err != nil || have != set {
		t.Errorf("the automatic START has the filter %v, %v, want the one in force", have, err)
	}
	w.put()
	wantEvents(t, readAll(t, s), "RESUME", strconv.Itoa(w.n-1))
})

var _ = conform("FUL-11", func(t *testing.T) {
	t.Run("no room for the smallest", func(t *testing.T) {
		s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
		startStream(t, s)
		w := newNumberWriter(t, s)
		fillExactly(t, s, w)
		wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusFull)
		all := readAll(t, s)
		wantEqual(t, "number of events", len(userEvents(all)), w.n)
		wantEvents(t, eventsOf(all, posixtrace.EventStart, posixtrace.EventStop, posixtrace.EventOverflow, posixtrace.EventResume), "START", "STOP1", "START")
	})
	t.Run("did not fit", func(t *testing.T) {
		for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyUntilFull, posixtrace.PolicyFlush} {
			a := &posixtrace.Attr{StreamSize: 1, MaxDataSize: new(1000), StreamFullPolicy: p}
			var s *posixtrace.Stream
			if p == posixtrace.PolicyFlush {
				s, _ = newLogged(t, a)
				defer replaceLog(t, s, "/dev/full", syscall.O_RDWR)()
			} else {
				s = newStream(t, a)
			}
			startStream(t, s)
			w := newOtherNumberWriter(t, s)
			big := make([]byte, 1000)
			for w.r.Record(posixtrace.EventInfo{ID: w.id}, big) {
			}
			wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusFull)
			for n := len(big); n > 0; n /= 2 {
				if w.r.Record(posixtrace.EventInfo{ID: w.id}, big[:n/2]) {
					t.Errorf("%v: after one of 1000 bytes did not fit it takes one of %d", p, n/2)
				}
			}
		}
	})
})

var _ = conform("FUL-12", func(t *testing.T) {
	_, err := posixtrace.Create(0, &posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyFlush})
	wantErrno(t, err, syscall.EINVAL)
	// Many times what the stream holds gets to the log, without a call of Flush.
	s, path := newLogged(t, &posixtrace.Attr{StreamSize: 1, MaxDataSize: new(64), StreamFullPolicy: posixtrace.PolicyFlush, LogFullPolicy: posixtrace.PolicyAppend})
	startStream(t, s)
	id := eventID(t, "flow")
	const n = 10000
	var lost uint64
	for i := range n {
		// A writer that stops when the stream is full and goes on when it is not.
		tracetest.Wait(t, "the stream runs", func() bool { return statusOf(t, s).StreamStatus == posixtrace.StatusRunning })
		posixtrace.Event(id, []byte(strconv.Itoa(i)))
		lost = statusOf(t, s).Lost
	}
	shutdownStream(t, s)
	all := readFinishedLog(t, path)
	wantEqual(t, "recorded and lost", len(userEvents(all))+int(lost), n)
	if len(eventsOf(all, posixtrace.EventFlushStart)) < 3 {
		t.Errorf("flushed %d times", len(eventsOf(all, posixtrace.EventFlushStart)))
	}
})

var _ = conform("FUL-13", func(t *testing.T) {
	s, path := newLogged(t, &posixtrace.Attr{StreamSize: 1, MaxDataSize: new(64), StreamFullPolicy: posixtrace.PolicyFlush, LogFullPolicy: posixtrace.PolicyAppend})
	startStream(t, s)
	w := newOtherNumberWriter(t, s)
	back := replaceLog(t, s, "/dev/full", syscall.O_RDWR)
	n := w.fill(t)
	wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusFull)
	for range 5 {
		w.put()
	}
	if st := statusOf(t, s); st.Lost != 6 || st.StreamOverrunStatus != posixtrace.StatusOverrun {
		t.Errorf("6 events were lost: %+v", st)
	}
	back()
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	wantState(t, s, posixtrace.StatusRunning, posixtrace.StatusNotFull)
	w.put()
	shutdownStream(t, s)
	all := readFinishedLog(t, path)
	users := userEvents(all)
	if len(users) != n+1 || numberOf(t, users[n]) != w.n-1 {
		t.Errorf("the log has %d events, want %d", len(users), n+1)
	}
	t.Run("counts", func(t *testing.T) {
		s, path := newLogged(t, &posixtrace.Attr{StreamSize: 1, MaxDataSize: new(64), StreamFullPolicy: posixtrace.PolicyFlush, LogFullPolicy: posixtrace.PolicyAppend})
		startStream(t, s)
		id := eventID(t, "flow")
		const writers, each = 4, 20000
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for i := range each {
					posixtrace.Event(id, []byte(strconv.Itoa(i)))
					if st, err := s.PeekStatus(); err != nil || st.StreamStatus == posixtrace.StatusRunning && st.StreamFullStatus == posixtrace.StatusFull {
						t.Errorf("status is %+v, %v", st, err)
					}
				}
			})
		}
		wg.Wait()
		st := statusOf(t, s)
		shutdownStream(t, s)
		users := userEvents(readFinishedLog(t, path))
		wantEqual(t, "recorded and lost", len(users)+int(st.Lost), writers*each)
		if (st.Lost > 0) != (st.StreamOverrunStatus == posixtrace.StatusOverrun) {
			t.Errorf("status is %+v", st)
		}
	})
})

// oneWithin fails unless f takes no longer than limit in one of several tries. again prepares the
// next one.
func oneWithin(t *testing.T, limit time.Duration, again, f func()) {
	t.Helper()
	first := true
	tracetest.AtMost(t, limit.Seconds(), func() float64 {
		if !first {
			again()
		}
		first = false
		start := time.Now()
		f()
		return time.Since(start).Seconds()
	})
}

var _ = conform("FUL-14", func(t *testing.T) {
	s, path := newLogged(t, &posixtrace.Attr{StreamSize: 256 << 10, StreamFullPolicy: posixtrace.PolicyFlush, LogFullPolicy: posixtrace.PolicyAppend})
	size := func() int64 {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	startStream(t, s)
	m := memoryOf(t, s)
	id := eventID(t, "flow")
	isEmpty := func() { tracetest.Wait(t, "it is empty", func() bool { return !m.Pending() }) }
	// Half full: immediately, and not with the flush of every second. Each of many flushes comes when
	// the stream is half full; their times are compared below.
	for size() < 4<<20 {
		if used, all := m.Used(); 2*used < all {
			posixtrace.Event(id, make([]byte, 1000))
		} else {
			time.Sleep(time.Millisecond)
		}
	}
	// A single event: within a second or so.
	isEmpty()
	oneWithin(t, 1500*time.Millisecond, isEmpty, func() {
		full := size()
		posixtrace.Event(id, []byte("single"))
		tracetest.Wait(t, "a single event is flushed", func() bool { return size() > full })
	})
	// No event: never again.
	isEmpty()
	time.Sleep(1100 * time.Millisecond) // nothing to wait for: it must not happen
	shutdownStream(t, s)
	pending, last, apart := true, int64(0), time.Hour
	for _, e := range readFinishedLog(t, path) {
		switch {
		case e.ID == posixtrace.EventFlushStart:
			if !pending {
				t.Error("a flush for no event but the marks of the one before")
			}
			pending = false
			apart = min(apart, time.Duration(e.UnixNano-last))
			last = e.UnixNano
		case e.ID == posixtrace.EventStop:
			pending = true // of the shutdown
		case e.ID.User():
			pending = true
		}
	}
	if apart > 800*time.Millisecond {
		t.Errorf("no flush comes earlier than %v after the one before", apart)
	}
})

var _ = conform("FUL-15", func(t *testing.T) {
	s, path := newLogged(t, &posixtrace.Attr{StreamSize: 1, MaxDataSize: new(64), StreamFullPolicy: posixtrace.PolicyLoop, LogFullPolicy: posixtrace.PolicyAppend})
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	startStream(t, s)
	w := newNumberWriter(t, s)
	for range 10 {
		w.overwrite(t, s)
	}
	time.Sleep(50 * time.Millisecond) // nothing to wait for: it must not happen
	if now, _ := os.Stat(path); now.Size() != st.Size() {
		t.Errorf("the log grows without a flush")
	}
	lost := int(statusOf(t, s).Lost)
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	w.put()
	shutdownStream(t, s)
	all := readFinishedLog(t, path)
	first, last := wantConsecutive(t, all)
	if first != lost || last != w.n-1 {
		t.Errorf("the log has %d to %d, want %d to %d", first, last, lost, w.n-1)
	}
})

// loseFirst brings a stream to its first loss. It returns between which times that was.
func loseFirst(t *testing.T, w *numberWriter) (from, to int64) {
	t.Helper()
	clockPast()
	for range 1000000 {
		from = time.Now().UnixNano()
		ok := w.put()
		to = time.Now().UnixNano()
		if !ok {
			clockPast()
			return
		}
	}
	t.Fatal("the stream does not become full")
	return
}

// fulSlack is how far the stream's clock and the wall clock may be apart.
const fulSlack = int64(time.Millisecond)

var _ = conform("FUL-16", func(t *testing.T) {
	within := func(t *testing.T, all []readEvent, from, to int64) {
		t.Helper()
		over := eventsOf(all, posixtrace.EventOverflow)
		wantEvents(t, over, "OVERFLOW")
		if at := over[0].UnixNano; at < from-fulSlack || at > to+fulSlack {
			t.Errorf("OVERFLOW is at %d, the first lost event was between %d and %d", at, from, to)
		}
		wantOrdered(t, all)
	}
	t.Run("until-full", func(t *testing.T) {
		s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
		startStream(t, s)
		w := newNumberWriter(t, s)
		from, to := loseFirst(t, w)
		w.put()
		clockPast()
		within(t, readAll(t, s), from, to)
	})
	t.Run("until-full, not to be restarted", func(t *testing.T) {
		// The loss is reported while the stream is still stopped, to a consumer and to a
		// Reader.
		s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
		startStream(t, s)
		w := newNumberWriter(t, s)
		from, to := loseFirst(t, w)
		w.put()
		clockPast()
		within(t, peekAll(t, s), from, to)
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		all := readAll(t, s)
		wantEvents(t, all[len(all)-2:], "STOP1", "OVERFLOW")
		within(t, all, from, to)
	})
	t.Run("flush", func(t *testing.T) {
		s, path := newLogged(t, smallAttr(posixtrace.PolicyFlush))
		startStream(t, s)
		w := newOtherNumberWriter(t, s)
		back := replaceLog(t, s, "/dev/full", syscall.O_RDWR)
		from, to := loseFirst(t, w)
		w.put()
		clockPast()
		back()
		shutdownStream(t, s)
		within(t, readFinishedLog(t, path), from, to)
	})
	loop := func(t *testing.T, s *posixtrace.Stream) int64 {
		startStream(t, s)
		w := newNumberWriter(t, s)
		w.put()
		first := userEvents(peekAll(t, s))[0].UnixNano
		clockPast()
		for range 3 {
			w.overwrite(t, s)
			clockPast()
		}
		return first
	}
	t.Run("loop", func(t *testing.T) {
		s := newStream(t, smallAttr(posixtrace.PolicyLoop))
		first := loop(t, s)
		over := eventsOf(readAll(t, s), posixtrace.EventOverflow)
		wantEvents(t, over, "OVERFLOW")
		wantEqual(t, "time of OVERFLOW", over[0].UnixNano, first)
	})
	t.Run("loop with log", func(t *testing.T) {
		s, path := newLogged(t, smallAttr(posixtrace.PolicyLoop))
		first := loop(t, s)
		shutdownStream(t, s)
		over := eventsOf(readFinishedLog(t, path), posixtrace.EventOverflow)
		wantEvents(t, over, "OVERFLOW")
		wantEqual(t, "time of OVERFLOW", over[0].UnixNano, first)
	})
})

// readWhileWritten reads the stream while one writer records n numbers as fast as it can.
func readWhileWritten(t *testing.T, s *posixtrace.Stream, n int) (all []readEvent) {
	t.Helper()
	whileWritten(newNumberWriter(t, s), n, func() { all = append(all, readAll(t, s)...) })
	return all
}

// whileWritten calls f again and again while a writer records n numbers as fast as it can, and once after.
func whileWritten(w *numberWriter, n int, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range n {
			w.put()
		}
	}()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		f()
	}
}

var _ = conform("FUL-17", func(t *testing.T) {
	// One writer as fast as it can be, one reader: every gap is between the two marks.
	t.Run("loop", func(t *testing.T) {
		s := newStream(t, smallAttr(posixtrace.PolicyLoop))
		startStream(t, s)
		const n = 60000
		all := readWhileWritten(t, s, n)
		lost := int(statusOf(t, s).Lost) - 1 + len(eventsOf(all, posixtrace.EventStart))
		wantEqual(t, "number of missing events", missingEvents(t, all, n), lost)
	})
	t.Run("until-full", func(t *testing.T) {
		s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
		startStream(t, s)
		const n = 60000
		all := readWhileWritten(t, s, n)
		wantEqual(t, "number of missing events", missingEvents(t, all, n), int(statusOf(t, s).Lost))
	})
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyLoop} {
		t.Run(p.String()+" with log", func(t *testing.T) {
			s, path := newLogged(t, &posixtrace.Attr{StreamSize: 1, MaxDataSize: new(64), StreamFullPolicy: p, LogFullPolicy: posixtrace.PolicyAppend})
			startStream(t, s)
			if err := s.Flush(); err != nil { // the START is not to be lost
				t.Fatal(err)
			}
			w := newOtherNumberWriter(t, s)
			const n = 60000
			whileWritten(w, n, func() {
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
				runtime.Gosched()
			})
			st := statusOf(t, s)
			shutdownStream(t, s)
			all := withoutFlushMarks(readFinishedLog(t, path))
			wantOrdered(t, all)
			lost := int(st.Lost)
			if p == posixtrace.PolicyLoop {
				lost += len(eventsOf(all, posixtrace.EventStart)) - 1
			}
			wantEqual(t, "number of missing events", missingEvents(t, all, n), lost)
		})
	}
})

var _ = conform("FUL-18", func(t *testing.T) {
	read := map[string]func(t *testing.T, s *posixtrace.Stream, path string) []readEvent{
		"stream": func(t *testing.T, s *posixtrace.Stream, path string) []readEvent { return readAll(t, s) },
		"log": func(t *testing.T, s *posixtrace.Stream, path string) []readEvent {
			shutdownStream(t, s)
			all := withoutFlushMarks(readFinishedLog(t, path))
			return slices.DeleteFunc(all, func(e readEvent) bool { return e.ID == posixtrace.EventStop })
		},
	}
	for name, read := range read {
		t.Run(name, func(t *testing.T) {
			var s *posixtrace.Stream
			path := ""
			if name == "log" {
				s, path = newLogged(t, smallAttr(posixtrace.PolicyLoop))
			} else {
				s = newStream(t, smallAttr(posixtrace.PolicyLoop))
			}
			startStream(t, s)
			w := newNumberWriter(t, s)
			w.put()
			first := userEvents(peekAll(t, s))[0].UnixNano
			// Several losses before any is read are one.
			for range 3 {
				w.overwrite(t, s)
			}
			lost := int(statusOf(t, s).Lost)
			all := read(t, s, path)
			if len(all) < 4 {
				t.Fatalf("%d events", len(all))
			}
			wantEvents(t, all[:4], "START", "OVERFLOW", "RESUME", strconv.Itoa(lost))
			wantEvents(t, eventsOf(all, posixtrace.EventOverflow, posixtrace.EventResume), "OVERFLOW", "RESUME")
			wantEqual(t, "time of OVERFLOW", all[1].UnixNano, first)
			wantEqual(t, "time of RESUME", all[2].UnixNano, all[3].UnixNano)
			wantConsecutive(t, all)
			wantOrdered(t, all)
		})
	}
	t.Run("loss within the pair", func(t *testing.T) {
		s := newStream(t, smallAttr(posixtrace.PolicyLoop))
		startStream(t, s)
		w := newNumberWriter(t, s)
		w.overwrite(t, s)
		a, _ := readNext(t, s)
		b, _ := readNext(t, s)
		wantEvents(t, []readEvent{a, b}, "START", "OVERFLOW")
		w.overwrite(t, s)
		all := readAll(t, s)
		wantEvents(t, all[:2], "RESUME", strconv.Itoa(int(statusOf(t, s).Lost)))
		wantEvents(t, eventsOf(all, posixtrace.EventOverflow, posixtrace.EventResume), "RESUME")
		wantEqual(t, "time of RESUME", all[0].UnixNano, all[1].UnixNano)
		// And a loss after it has a pair of its own.
		_, last := wantConsecutive(t, all)
		lost := int(statusOf(t, s).Lost)
		w.put()
		w.overwrite(t, s)
		lost = int(statusOf(t, s).Lost) - lost
		all = readAll(t, s)
		wantEvents(t, all[:3], "OVERFLOW", "RESUME", strconv.Itoa(last+1+lost))
	})
	t.Run("flushed twice", func(t *testing.T) {
		s, path := newLogged(t, &posixtrace.Attr{StreamSize: 1, MaxDataSize: new(64), StreamFullPolicy: posixtrace.PolicyLoop, LogFullPolicy: posixtrace.PolicyAppend})
		startStream(t, s)
		w := newNumberWriter(t, s)
		for range 3 {
			w.overwrite(t, s)
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		lost := int(statusOf(t, s).Lost)
		shutdownStream(t, s)
		all := withoutFlushMarks(readFinishedLog(t, path))
		wantEqual(t, "number of missing events", missingEvents(t, all, w.n), lost)
		wantEvents(t, eventsOf(all, posixtrace.EventOverflow, posixtrace.EventResume), strings.Fields(strings.Repeat("OVERFLOW RESUME ", 3))...)
	})
	t.Run("two writers", func(t *testing.T) {
		// RESUME stands before the first event after the loss, of either writer.
		for _, logged := range []bool{false, true} {
			var s *posixtrace.Stream
			path := ""
			if logged {
				s, path = newLogged(t, smallAttr(posixtrace.PolicyLoop))
			} else {
				s = newStream(t, smallAttr(posixtrace.PolicyLoop))
			}
			startStream(t, s)
			a, b := newNumberWriter(t, s), newNumberWriter(t, s)
			b.id = eventID(t, "flow.b")
			for statusOf(t, s).Lost == 0 {
				a.put()
				a.put()
				b.put()
			}
			st := statusOf(t, s)
			var all []readEvent
			if logged {
				shutdownStream(t, s)
				all = withoutFlushMarks(readFinishedLog(t, path))
			} else {
				all = readAll(t, s)
			}
			wantOrdered(t, all)
			// The events of the writer that lost nothing may stand between the marks.
			over := slices.IndexFunc(all, func(e readEvent) bool { return e.ID == posixtrace.EventOverflow })
			resume := slices.IndexFunc(all, func(e readEvent) bool { return e.ID == posixtrace.EventResume })
			if over < 0 || resume < over || resume+1 >= len(all) {
				t.Fatalf("logged %v: OVERFLOW is event %d, RESUME %d of %d", logged, over, resume, len(all))
			}
			wantEqual(t, "time of RESUME", all[resume].UnixNano, all[resume+1].UnixNano)
			na, nb := eventsOf(all, a.id), eventsOf(all, b.id)
			wantEqual(t, "recorded and lost", len(na)+len(nb)+int(st.Lost), a.n+b.n)
			// A writer that lost events continues after RESUME; before it no event is missing.
			for _, w := range []struct {
				w    *numberWriter
				list []readEvent
			}{{a, na}, {b, nb}} {
				if first := numberOf(t, w.list[0]); first > 0 {
					if at := slices.Index(all, w.list[0]); at < resume {
						t.Errorf("logged %v: %d, after a loss, is event %d, RESUME %d", logged, first, at, resume)
					}
				}
			}
		}
	})
	t.Run("flushed at full speed", func(t *testing.T) { fillAtSpeed(t, posixtrace.PolicyLoop) })
})

var _ = conform("FUL-19", func(t *testing.T) {
	t.Run("until-full", func(t *testing.T) {
		s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
		startStream(t, s)
		w := newNumberWriter(t, s)
		for range 3 {
			n := w.fill(t)
			w.put()
			first, last := 0, 0
			all := readAll(t, s)
			first, last = wantConsecutive(t, all)
			wantEqual(t, "number of events", last-first+1, n)
			w.put()
			all = append(all, readAll(t, s)...)
			wantEvents(t, all[len(all)-6:], strconv.Itoa(last), "STOP1", "OVERFLOW", "START", "RESUME", strconv.Itoa(w.n-1))
			wantEqual(t, "time of RESUME", all[len(all)-2].UnixNano, all[len(all)-1].UnixNano)
			wantOrdered(t, all)
		}
	})
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyUntilFull, posixtrace.PolicyFlush} {
		t.Run(p.String()+" with log", func(t *testing.T) {
			s, path := newLogged(t, &posixtrace.Attr{StreamSize: 1, MaxDataSize: new(64), StreamFullPolicy: p, LogFullPolicy: posixtrace.PolicyAppend})
			startStream(t, s)
			w := newOtherNumberWriter(t, s)
			var want []string
			for range 3 {
				back := replaceLog(t, s, "/dev/full", syscall.O_RDWR)
				w.fill(t)
				last := w.n - 2
				w.put()
				back()
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
				wantState(t, s, posixtrace.StatusRunning, posixtrace.StatusNotFull)
				w.put()
				want = append(want, fmt.Sprint(last), "STOP1", "OVERFLOW", "START", "RESUME", fmt.Sprint(w.n-1))
			}
			shutdownStream(t, s)
			logged := readFinishedLog(t, path)
			wantOrdered(t, logged)
			all := withoutFlushMarks(logged)
			wantEvents(t, all[len(all)-1:], "STOP0")
			var have []readEvent
			for i, e := range all {
				if e.ID == posixtrace.EventOverflow && i >= 2 && i+3 < len(all) {
					have = append(have, all[i-2:i+4]...)
				}
			}
			wantEvents(t, have, want...)
		})
	}
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyUntilFull, posixtrace.PolicyFlush} {
		t.Run(p.String()+" flushed at full speed", func(t *testing.T) { fillAtSpeed(t, p) })
	}
	t.Run("partly read", func(t *testing.T) {
		// An explicit start of a stream that is not yet empty: the same order.
		s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
		startStream(t, s)
		w := newNumberWriter(t, s)
		w.fill(t)
		last := w.n - 2
		for statusOf(t, s).StreamFullStatus == posixtrace.StatusFull {
			readNext(t, s)
		}
		startStream(t, s)
		w.put()
		all := readAll(t, s)
		wantEvents(t, all[len(all)-6:], strconv.Itoa(last), "STOP1", "OVERFLOW", "START", "RESUME", strconv.Itoa(w.n-1))
		wantOrdered(t, all)
	})
})

// fillAtSpeed checks the log of a stream that is flushed all the time while another
// process records as fast as it can.
func fillAtSpeed(t *testing.T, p posixtrace.FullPolicy) {
	const total = 300000
	c := tracetest.Start(t, "burst", strconv.Itoa(total))
	c.Line()
	path := filepath.Join(t.TempDir(), "speed.trace")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := posixtrace.CreateWithLog(c.PID, &posixtrace.Attr{StreamSize: 1, MaxDataSize: new(64), StreamFullPolicy: p, LogFullPolicy: posixtrace.PolicyAppend}, f)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	startStream(t, s)
	c.In.WriteString("\n")
	done := make(chan string)
	go func() {
		l, _ := c.Out.ReadString('\n')
		done <- l
	}()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	st := statusOf(t, s)
	shutdownStream(t, s)
	logged := withoutFlushMarks(readFinishedLog(t, path))
	wantOrdered(t, logged)
	starts := len(eventsOf(logged, posixtrace.EventStart))
	wantEqual(t, "recorded and lost", len(userEvents(logged))+starts+int(st.Lost), total+max(starts, 1))
	lost := int(st.Lost)
	if starts == 0 {
		lost-- // LOOP has overwritten it
	}
	wantEqual(t, "missing", missingEvents(t, logged, total), lost)
	if p == posixtrace.PolicyLoop {
		return
	}
	var story strings.Builder
	for _, e := range logged {
		switch {
		case e.ID == posixtrace.EventStart:
			story.WriteByte('S')
		case e.ID == posixtrace.EventStop:
			story.WriteByte('P')
		case e.ID == posixtrace.EventOverflow:
			story.WriteByte('O')
		case e.ID == posixtrace.EventResume:
			story.WriteByte('R')
		case !strings.HasSuffix(story.String(), "e"):
			story.WriteByte('e')
		}
	}
	if !regexp.MustCompile(`^S(e(P(OSR|S))?)*P?$`).MatchString(story.String()) {
		t.Errorf("the events of the log are %s", story.String())
	}
	t.Logf("%d of %d lost", st.Lost, total)
}

var _ = conform("FUL-20", func(t *testing.T) {
	s, path := newLogged(t, &posixtrace.Attr{StreamSize: 1, MaxDataSize: new(64), StreamFullPolicy: posixtrace.PolicyLoop, LogFullPolicy: posixtrace.PolicyAppend})
	startStream(t, s)
	w := newNumberWriter(t, s)
	for range 2 {
		w.overwrite(t, s)
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	shutdownStream(t, s)
	seen := map[posixtrace.EventID]int{}
	for _, e := range eventsOf(readFinishedLog(t, path), posixtrace.EventOverflow, posixtrace.EventResume, posixtrace.EventFlushStart, posixtrace.EventFlushStop) {
		seen[e.ID]++
		if len(e.data) != 0 || e.Truncation != posixtrace.TruncationNone {
			t.Errorf("%v has the data %q, truncation %v", e, e.data, e.Truncation)
		}
	}
	wantEqual(t, "number of kinds", len(seen), 4)
})

var _ = conform("FUL-21", func(t *testing.T) {
	s := newStream(t, smallAttr(posixtrace.PolicyLoop))
	startStream(t, s)
	w := newNumberWriter(t, s)
	for range 300 {
		w.put()
	}
	// Part of the first chunk is read; then all of it is overwritten.
	const read = 50
	for range read + 1 {
		readNext(t, s)
	}
	w.overwrite(t, s)
	all := readAll(t, s)
	lost := int(statusOf(t, s).Lost)
	first, last := wantConsecutive(t, all)
	if first != read+lost || last != w.n-1 || lost == 0 {
		t.Errorf("%d were read, %d lost, then came %d to %d", read, lost, first, last)
	}
	wantEvents(t, all[:2], "OVERFLOW", "RESUME")
	// A chunk read to its end is never lost.
	before := statusOf(t, s).Lost
	for i := range 5000 {
		w.put()
		if i%20 == 0 {
			readAll(t, s)
		}
	}
	wantEqual(t, "lost of a stream that is read", statusOf(t, s).Lost, before)
})
