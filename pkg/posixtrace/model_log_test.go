package posixtrace

import (
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// finish ends a schedule: it reads the rest of the stream, or shuts the stream down and
// compares its log.
func (x *trial) finish(t *rapid.T) {
	if !x.logged {
		for len(x.queue) > 0 {
			x.opRead(t)
		}
		return
	}
	if x.attr.StreamFullPolicy == PolicyLoop || rapid.Bool().Draw(t, "stop first") {
		x.opStop(t)
	}
	h := x.any(t, true)
	h.must(t, "shutdown")
	before := len(x.queue)
	x.stop(h.pid, false)
	if h.pid != x.hands[0].pid || x.auto {
		// The owner does it for the other hands.
		for i := before; i < len(x.queue); i++ {
			x.queue[i].pid, x.queue[i].may = x.hands[0].pid, x.auto
		}
	}
	list, st := x.readLog(t)
	x.time = 0
	if x.auto {
		x.subset(t, list, st)
		return
	}
	x.flush(st.LogFullStatus == StatusFull && x.attr.LogFullPolicy == PolicyUntilFull)
	if x.lost != st.Lost {
		t.Fatalf("the log counts %d lost events, want %d", st.Lost, x.lost)
	}
	if st.LogFullStatus == StatusFull {
		x.rest(t, list, int(st.LogLost-x.logLost))
		return
	}
	if st.LogLost != x.logLost {
		t.Fatalf("%d events lost by a log that is not full", st.LogLost-x.logLost)
	}
	for _, have := range list {
		x.expect(t, have)
	}
	if want, ok := x.next(""); ok {
		t.Fatalf("the log ends before %+v", want)
	}
}

// readLog reads the finished log, twice.
func (x *trial) readLog(t *rapid.T) (list []report, st Status) {
	open := openLog
	if p := x.cast.anyC(t, "analyzer"); p != nil {
		open = p.open
	}
	do, r := open(x.path)
	if r != "done" {
		t.Fatalf("open: %s", r)
	}
	l := hand{do: do}
	defer l.must(t, "close")
	all := l.do("read 1000000")
	events, ok := strings.CutSuffix(all, "end")
	if !ok {
		t.Fatalf("read: %s", all)
	}
	for e := range strings.SplitSeq(strings.TrimSuffix(events, "\t"), "\t") {
		if e != "" {
			list = append(list, x.parse(t, e))
		}
	}
	l.must(t, "rewind")
	if again := l.do("read 1000000"); again != all {
		t.Fatalf("read twice, a log has %s and then %s", all, again)
	}
	st, err := scanStatus(l.do("status"))
	if err != nil {
		t.Fatal(err)
	}
	return list, st
}

// mark reports whether an event comes from the trace system and needed no room in
// the stream.
func (r report) mark() bool { return r.pid == 0 && r.name != mStart }

// rest compares a full log: of each writer, a LOOP log has the newest events (LOG-08), an
// UNTIL_FULL log the oldest, and a STOP at the end (LOG-06, LOG-07).
func (x *trial) rest(t *rapid.T, list []report, logLost int) {
	if n := len(list); x.attr.LogFullPolicy == PolicyUntilFull && (n == 0 || list[n-1].name != mStop || list[n-1].data != "2") {
		t.Fatalf("a full log ends with %+v", list[max(n-1, 0):])
	}
	writer := func(pid int) int { // the owner restarts a stream that it has flushed
		if pid == 0 {
			return x.hands[0].pid
		}
		return pid
	}
	kept, all := map[int]int{}, map[int]int{}
	list = slices.DeleteFunc(list, report.mark)
	for _, r := range list {
		kept[writer(r.pid)]++
	}
	events := x.queue[:0]
	for i, e := range x.queue {
		if e.gone || e.wipe || (report{name: e.name, pid: e.pid}).mark() {
			continue
		}
		w := writer(e.pid)
		if all[w]++; x.attr.LogFullPolicy == PolicyUntilFull && all[w] > kept[w] && i < x.closing {
			t.Fatalf("%+v, flushed before, is not in the log", e)
		}
		events = append(events, e)
	}
	seen := map[int]int{}
	lost := 0
	for _, e := range events {
		w := writer(e.pid)
		seen[w]++
		if x.attr.LogFullPolicy == PolicyUntilFull && seen[w] > kept[w] || x.attr.LogFullPolicy == PolicyLoop && seen[w] <= all[w]-kept[w] {
			lost++
			continue
		}
		if len(list) == 0 || !list[0].is(e) {
			t.Fatalf("the log has %+v, want %+v", list[:min(len(list), 1)], e)
		}
		x.clock(t, list[0])
		list = list[1:]
	}
	if lost != logLost || len(list) > 0 {
		t.Fatalf("%d events lost by the log, but %d are missing; %d too many", logLost, lost, len(list))
	}
}

// subset compares the log of a stream with automatic flushes: it has the generated events in
// order; missing events are counted, and reported by OVERFLOW and RESUME.
func (x *trial) subset(t *rapid.T, list []report, st Status) {
	flushing, stopped := false, false
	all := list
	list = nil
	for _, r := range all {
		x.clock(t, r)
		switch {
		case r.name == mFlush0 || r.name == mFlush1:
			if flushing != (r.name == mFlush1) && st.LogFullStatus == StatusNotFull {
				t.Fatalf("%+v while flushing is %v", r, flushing)
			}
			flushing = r.name == mFlush0
		case r.pid == 0 && r.name == mStop:
			stopped = true
		case r.name == mStart:
			if stopped = false; r.pid != 0 {
				list = append(list, r)
			}
		default:
			if stopped && !x.hidden && !x.vague && !r.mark() && r.name != mStop {
				t.Fatalf("%+v after a STOP", r)
			}
			list = append(list, r)
		}
	}
	x.time = 0
	have := slices.DeleteFunc(slices.Clone(list), report.mark)
	missing, doubtful := 0, 0
	var queue []mevent
	for _, e := range x.queue {
		switch {
		case e.wipe:
		case len(have) > 0 && have[0].is(e):
			have = have[1:]
			queue = append(queue, e)
		case e.may:
			doubtful++
		default:
			missing++
			e.gone = true
			queue = append(queue, e)
		}
	}
	if len(have) > 0 {
		t.Fatalf("the log has %+v, which was not generated", have[0])
	}
	if st.LogLost > x.logLost {
		// The log counts them, and perhaps a START of a stream that restarted automatically, or any
		// number of these in a LOOP log.
		if doubtful++; x.attr.LogFullPolicy == PolicyLoop {
			doubtful = int(st.LogLost)
		}
	}
	if lost := int(st.Lost - x.lost + st.LogLost - x.logLost); !x.vague && (lost < missing || lost > missing+doubtful) {
		t.Fatalf("%d events lost, but %d to %d are missing", lost, missing, missing+doubtful)
	}
	if st.LogFullStatus == StatusFull || x.vague {
		return
	}
	x.queue = queue
	for _, r := range list {
		x.expect(t, r)
	}
}
