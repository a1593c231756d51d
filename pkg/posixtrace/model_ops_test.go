package posixtrace

import (
	"fmt"
	"strings"
	"syscall"

	"pgregory.net/rapid"
)

var modelNames = []string{"a", "b", "c"}

// ops are the operations of a schedule: each performs one on the stream and on the model, and
// compares the results that are visible at once.
func (x *trial) ops(all *[]*trial) map[string]func(*rapid.T) {
	ops := map[string]func(*rapid.T){
		"start": x.opStart, "stop": x.opStop, "filter": x.opFilter, "read": x.opRead, "clear": x.opClear, "status": x.opStatus,
		"event": func(t *rapid.T) { x.opEvent(t, *all) },
	}
	if x.logged {
		ops["flush"] = x.opFlush
	}
	return ops
}

func (x *trial) opStart(t *rapid.T) {
	h := x.any(t, false)
	h.must(t, "start")
	st := x.peek(t)
	switch {
	case x.auto:
		if !x.running && st.LogFullStatus == StatusFull && x.attr.LogFullPolicy == PolicyUntilFull {
			x.doubt = true
		}
		x.running = true
		x.control(mStart, set(x.filter), h.pid)
		x.mayBe(1)
	case x.running || x.logFull:
	case st.StreamStatus == StatusSuspended:
		// No room yet. Start has no effect (STA-03) except that reads restart the stream (STA-11).
		x.reported = x.reported || !x.full
		x.full, x.pending = true, true
	default:
		x.start(h.pid)
		x.checkLost(t, 1)
	}
}

// mayBe notes that the last events may or may not have been generated.
func (x *trial) mayBe(n int) {
	for i := max(len(x.queue)-n, 0); i < len(x.queue); i++ {
		x.queue[i].may = true
	}
}

func (x *trial) opStop(t *rapid.T) {
	h := x.any(t, false)
	full := x.attr.StreamFullPolicy == PolicyLoop && x.peek(t).StreamFullStatus == StatusFull
	h.must(t, "stop")
	before := len(x.queue)
	x.stop(h.pid, full)
	if x.doubt = false; x.auto {
		x.mayBe(len(x.queue) - before)
	}
	x.checkLost(t, len(x.queue)-before)
}

func (x *trial) opFilter(t *rapid.T) {
	var f EventSet
	var ids strings.Builder
	for _, n := range append([]string{mStart, mFilter}, modelNames...) {
		if rapid.IntRange(0, 3).Draw(t, n) == 0 {
			f.Add(x.ids[n])
			fmt.Fprint(&ids, " ", x.ids[n])
		}
	}
	how := FilterHow(rapid.IntRange(0, 2).Draw(t, "how"))
	h := x.any(t, false)
	h.must(t, fmt.Sprint("filter ", how, ids.String()))
	before := len(x.queue)
	x.setFilter(f, how, h.pid)
	x.hidden = x.hidden || x.filter.Has(EventStart)
	if x.doubt || x.attr.LogFullPolicy == PolicyUntilFull && x.auto {
		x.mayBe(len(x.queue) - before)
	}
	x.checkLost(t, len(x.queue)-before)
	if have, err := x.s.Filter(); err != nil || have != x.filter {
		t.Fatalf("Filter = %s, %v, want %s", set(have), err, set(x.filter))
	}
}

// opEvent lets the traced process, one of its threads, or its child pass trace points.
func (x *trial) opEvent(t *rapid.T, all []*trial) {
	name := rapid.SampledFrom(modelNames).Draw(t, "name")
	size := rapid.IntRange(0, x.attr.MaxDataSize+8).Draw(t, "size")
	times := rapid.SampledFrom([]int{1, 1, 2, 2, 30, 400}).Draw(t, "times")
	w := x.worker
	line := fmt.Sprint(times, " ", name, " ", size, " ", w.seq, " ", rapid.IntRange(0, 1).Draw(t, "thread"))
	pid := w.PID
	if w.kid != 0 && rapid.Bool().Draw(t, "child") {
		line, pid = "child "+line, w.kid
	}
	w.Say(line)
	for _, s := range all {
		if s.worker != w || pid != w.PID && s.attr.Inheritance != InheritChildren {
			continue
		}
		before := len(s.queue)
		for i := range times {
			data := modelData(w.seq+i, size)
			d := data[:min(len(data), s.attr.MaxDataSize)]
			s.event(mevent{name: name, pid: pid, data: d, cut: len(d) < len(data), size: s.attr.MaxUserEventSize(len(d))})
		}
		if s.doubt {
			s.mayBe(len(s.queue) - before)
		}
		s.checkLost(t, len(s.queue)-before)
	}
	w.seq += times
}

func (x *trial) opRead(t *rapid.T) {
	n := rapid.SampledFrom([]int{1, 3, 30, 500}).Draw(t, "n")
	answer := x.any(t, false).do(fmt.Sprint("read ", n))
	if x.logged { // GET-05
		if answer != refused(syscall.EINVAL) {
			t.Fatalf("read of a stream with log: %s", answer)
		}
		return
	}
	list := strings.Split(answer, "\t")
	for _, l := range list[:len(list)-1] {
		x.expect(t, x.parse(t, l))
	}
	switch last := list[len(list)-1]; last {
	case "":
	case "end":
		if want, ok := x.next(""); ok {
			t.Fatalf("nothing to read, want %+v", want)
		}
	default:
		t.Fatalf("read: %s", last)
	}
}

func (x *trial) opFlush(t *rapid.T) {
	x.any(t, true).must(t, "flush")
	if st := x.peek(t); !x.auto {
		x.flush(st.LogFullStatus == StatusFull && x.attr.LogFullPolicy == PolicyUntilFull)
	}
}

func (x *trial) opClear(t *rapid.T) {
	x.any(t, true).must(t, "clear")
	st := x.peek(t)
	if st.LogFullStatus != StatusNotFull || st.LogOverrunStatus != StatusNoOverrun || st.StreamFlushError != 0 {
		t.Fatalf("Status = %+v after a clear", st)
	}
	if x.auto {
		if x.attr.LogFullPolicy == PolicyAppend {
			x.flushed, x.vague = len(x.queue), true
			x.mayBe(len(x.queue))
		}
		x.running, x.doubt = st.StreamStatus == StatusRunning, false
	}
	if x.clear(); x.queue == nil {
		x.lost, x.logLost = st.Lost, st.LogLost
	}
}

func (x *trial) opStatus(t *rapid.T) {
	was := x.peek(t)
	answer := x.any(t, false).do("status")
	st, err := scanStatus(answer)
	if err != nil || st.StreamStatus == StatusRunning && st.StreamFullStatus == StatusFull && x.attr.StreamFullPolicy != PolicyLoop {
		t.Fatalf("%s, %v: running and full?", answer, err)
	}
	if !x.auto {
		if (st.StreamStatus == StatusRunning) != x.running || (st.StreamOverrunStatus == StatusOverrun) != x.overrun ||
			st.LogOverrunStatus != was.LogOverrunStatus || st.Lost != was.Lost {
			t.Fatalf("Status = %+v, want running %v, overrun %v, log %v", st, x.running, x.overrun, was)
		}
		if st := x.peek(t); st.StreamOverrunStatus != StatusNoOverrun || st.LogOverrunStatus != StatusNoOverrun {
			t.Fatalf("Status = %+v, after it was read", st)
		}
	}
	x.overrun = false
}
