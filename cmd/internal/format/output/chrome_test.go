package output

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// chromeEvent is an element of traceEvents in the viewers' format.
type chromeEvent struct {
	Name, Cat, Ph, S string
	Ts, Dur          *float64
	PID, TID         *int
	Args             struct {
		Data, End, Note, Name string
		Failed                bool
		SortIndex             int    `json:"sort_index"`
		Processes, Cgroup     *int64 // of counters
		Thousandths           *int64
	}
}

func readChrome(t *testing.T, s string) []chromeEvent {
	t.Helper()
	var doc struct {
		DisplayTimeUnit string
		TraceEvents     []chromeEvent
	}
	dec := json.NewDecoder(strings.NewReader(s))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	return doc.TraceEvents
}

// validateChrome checks what viewers rely on: every event has its members, times do not
// decrease, and slices nest within their lane.
func validateChrome(t *testing.T, events []chromeEvent) {
	t.Helper()
	type lane struct{ pid, tid int }
	last := 0.0
	named, used := map[string]bool{}, map[lane][]chromeEvent{}
	for i, e := range events {
		if e.Name == "" || e.Cat == "" || e.Ts == nil || e.PID == nil || e.TID == nil {
			t.Fatalf("event %d lacks a member: %+v", i, e)
		}
		if *e.Ts < last {
			t.Errorf("the time of event %d is less than the one before: %+v", i, e)
		}
		last = *e.Ts
		l := lane{*e.PID, *e.TID}
		switch e.Ph {
		case "X":
			if e.Dur == nil || *e.Dur < 0 {
				t.Fatalf("event %d has no duration: %+v", i, e)
			}
			used[l] = append(used[l], e)
		case "i":
			if e.S != "t" && e.S != "p" && e.S != "g" {
				t.Errorf("event %d has scope %q", i, e.S)
			}
			used[l] = append(used[l], e)
		case "C":
			used[l] = append(used[l], e)
		case "M":
			named[fmt.Sprint(e.Name, l)] = true
		default:
			t.Errorf("event %d has phase %q", i, e.Ph)
		}
	}
	for l, evs := range used {
		if !named[fmt.Sprint("process_name", lane{l.pid, 0})] || !named[fmt.Sprint("thread_name", l)] {
			t.Errorf("lane %v has no name", l)
		}
		matchSlices(t, fmt.Sprint(l), evs)
	}
}

// matchSlices does what speedscope does with the slices of a lane. It makes a begin and an
// end of each, in floating point and relative to the first, and sorts them, an end before a
// begin at the same time. Each end must then be that of the innermost slice. Among ends at the
// same time it takes one that fits.
func matchSlices(t *testing.T, lane string, events []chromeEvent) {
	t.Helper()
	type slice struct {
		at, end   float64
		name, key string
	}
	var begins []*slice
	first := math.Inf(1)
	for _, e := range events {
		if e.Ph == "X" {
			first = min(first, *e.Ts)
		}
	}
	for _, e := range events {
		if e.Ph == "X" {
			at := *e.Ts - first
			begins = append(begins, &slice{at, at + *e.Dur, e.Name, fmt.Sprint(e.Name, e.Args)})
		}
	}
	slices.SortStableFunc(begins, func(a, b *slice) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.end, a.end)) })
	ends := slices.Clone(begins)
	slices.SortStableFunc(ends, func(a, b *slice) int { return cmp.Compare(a.end, b.end) })
	var stack []*slice
	for len(ends) > 0 {
		if len(begins) > 0 && (begins[0].at < ends[0].end || begins[0].at == ends[0].end && begins[0].key == ends[0].key) {
			stack = append(stack, begins[0])
			begins = begins[1:]
			continue
		}
		if len(stack) == 0 {
			t.Fatalf("lane %s: tried to end %q while nothing is open", lane, ends[0].key)
		}
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		i := max(0, slices.IndexFunc(ends, func(e *slice) bool { return e.end == ends[0].end && e.key == top.key }))
		if ends[i] != top {
			t.Fatalf("lane %s: tried to end %q at %v when %q was on the top of the stack", lane, ends[i].key, ends[i].end, top.key)
		}
		ends = slices.Delete(ends, i, i+1)
	}
}

// The wanted text has the phase, name, process/thread and data of each event.
func TestChromeSlicesAndMarks(t *testing.T) {
	names := map[posixtrace.EventID]string{33: "a.begin", 34: "a.end", 35: "b.begin", 36: "b.end", 37: "mark \x1b",
		posixtrace.EventProcExec: "proc.exec", posixtrace.EventProcExit: "proc.exit", posixtrace.EventOverflow: "posix_trace_overflow"}
	src := NewSource(func(id posixtrace.EventID) string { return names[id] })
	exec := string((&posixtrace.ExecData{Path: "/bin/sh", Argv: []string{"sh", "x"}}).Append(nil))
	exit := string((&posixtrace.ExitData{Status: 3}).Append(nil))
	for _, tt := range []struct {
		name   string
		events []struct {
			id       posixtrace.EventID
			pid, tid int
			data     string
		}
		want string
	}{
		{"nothing", nil, ""},
		{"a slice and a mark", evs{{33, 7, 8, "say \"hi\"\n"}, {37, 7, 8, "\xff"}, {34, 7, 8, "3"}},
			`X a say \"hi\" 7/8 0+3000 say \"hi\"\n end=3 failed; i mark ` + "\x1b" + ` 7/8 \xff; M process_name 7/0 process; M process_sort_index 7/0; M thread_name 7/8 thread`},
		{"lanes are threads", evs{{33, 7, 7, ""}, {33, 7, 8, ""}, {34, 7, 7, ""}, {34, 7, 8, ""}},
			"X a 7/7 0+3000; X a 7/8 1500+3000; M process_name 7/0 process; M process_sort_index 7/0; M thread_name 7/7 main; M thread_name 7/8 thread"},
		{"of crossing slices one gets another lane", evs{{33, 7, 7, ""}, {35, 7, 7, "x"}, {34, 7, 7, ""}, {36, 7, 7, ""}},
			"X a 7/7 0+3000 note=overlaps another without a key; X b x 7/8388608 1500+3000 x note=overlaps another without a key; M process_name 7/0 process; M process_sort_index 7/0; M thread_name 7/7 main; M thread_name 7/8388608 spans"},
		{"an end without begin, or a begin without end, is a mark", evs{{34, 7, 7, "x"}, {33, 7, 7, ""}, {37, 7, 7, ""}},
			"i a.end 7/7 x note=no begin; i a 7/7 note=no end; i mark \x1b 7/7; M process_name 7/0 process; M process_sort_index 7/0; M thread_name 7/7 main"},
		{"processes are slices too", evs{{posixtrace.EventProcExec, 9, 9, exec}, {33, 9, 9, ""}, {posixtrace.EventProcExit, 9, 0, exit}, {posixtrace.EventProcExit, 9, 0, exit}},
			`X sh x 9/9 0+3000 "/bin/sh" "x" end=status=3 user=0.000000000 system=0.000000000 maxrss=0 failed; i a 9/9 note=no end; ` +
				"i proc.exit 9/0 status=3 user=0.000000000 system=0.000000000 maxrss=0; M process_name 9/0 sh; M process_sort_index 9/0; M thread_name 9/0 output; M thread_name 9/9 main"},
		{"an event without a process is the stream's", evs{{posixtrace.EventOverflow, 0, 0, ""}},
			"i posix_trace_overflow 0/0; M process_name 0/0 stream; M process_sort_index 0/0; M thread_name 0/0 events"},
	} {
		c := &Chrome{}
		b := c.Begin(nil)
		for i, e := range tt.events {
			b = c.Append(b, src, &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: e.id, PID: e.pid, TID: e.tid, UnixNano: t0 + int64(i)*1500}, Data: []byte(e.data)})
		}
		events := readChrome(t, string(c.End(b)))
		validateChrome(t, events)
		var got []string
		for _, e := range events {
			line := fmt.Sprintf("%s %s %d/%d", e.Ph, e.Name, *e.PID, *e.TID)
			if e.Dur != nil {
				line += fmt.Sprintf(" %.0f+%.0f", *e.Ts*1000, *e.Dur*1000)
			}
			for _, a := range []string{e.Args.Data + e.Args.Name, "end=" + e.Args.End, "note=" + e.Args.Note} {
				if a != "" && !strings.HasSuffix(a, "=") {
					line += " " + a
				}
			}
			if e.Args.Failed {
				line += " failed"
			}
			got = append(got, line)
		}
		if s := strings.Join(got, "; "); s != tt.want {
			t.Errorf("%s: got\n%s want\n%s", tt.name, s, tt.want)
		}
	}
}

type evs = []struct {
	id       posixtrace.EventID
	pid, tid int
	data     string
}

// Times are exact to the nanosecond, however long the trace.
func TestChromeTimesAreExact(t *testing.T) {
	c := &Chrome{}
	b := c.Begin(nil)
	for _, at := range []int64{0, 1, 1e17 + 1} {
		b = c.Append(b, testSource(), &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: 34, PID: 1, TID: 1, UnixNano: t0 + at}})
	}
	s := string(c.End(b))
	for _, want := range []string{`"ts":0.000,`, `"ts":0.001,`, `"ts":100000000000000.001,`} {
		if !strings.Contains(s, want) {
			t.Errorf("%s is not in %s", want, s)
		}
	}
}

// Random spans with and without keys, of goroutines that share threads, and programs that come
// and go: slices always nest and have their own durations, and only a span without end or
// begin is a mark.
func TestChromeSlicesNest(t *testing.T) {
	names := map[posixtrace.EventID]string{posixtrace.EventProcExec: "proc.exec", posixtrace.EventProcExit: "proc.exit", posixtrace.EventProcFork: "proc.fork"}
	for i, n := range []string{"a", "b", "c"} {
		names[posixtrace.EventID(40+2*i)], names[posixtrace.EventID(41+2*i)] = n+".begin", n+".end"
	}
	src := NewSource(func(id posixtrace.EventID) string { return names[id] })
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := &Chrome{}
		b := c.Begin(nil)
		type open struct {
			id   posixtrace.EventID
			key  uint64
			at   int64
			name string
		}
		var spans []open
		want, at := map[string]int64{}, t0
		put := func(id posixtrace.EventID, tid int, key, parent uint64, data string) {
			b = c.Append(b, src, &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: id, PID: 100, TID: tid, UnixNano: at, Span: key, Parent: parent}, Data: []byte(data)})
		}
		for n := uint64(1); n < 300; n++ {
			if r.IntN(4) > 0 {
				at += r.Int64N(3) * 1237
			}
			tid := 100 + r.IntN(3)
			switch r.IntN(10) {
			case 0:
				put(posixtrace.EventProcExec, 100, 0, 0, string((&posixtrace.ExecData{Path: "/bin/x", Argv: []string{"x"}}).Append(nil)))
			case 1: // without a key
				put(posixtrace.EventID(40+r.IntN(6)), tid, 0, 0, "")
			case 2, 3, 4, 5:
				id, parent := posixtrace.EventID(40+2*r.IntN(3)), uint64(0)
				if len(spans) > 0 {
					parent = spans[r.IntN(len(spans))].key
				}
				spans = append(spans, open{id, n, at, fmt.Sprint(names[id][:1], " ", n)})
				put(id, tid, n, parent, fmt.Sprint(n))
			default:
				if len(spans) > 0 {
					i := r.IntN(len(spans))
					s := spans[i]
					spans = slices.Delete(spans, i, i+1)
					put(s.id+1, tid, s.key, 0, "")
					want[s.name] = at - s.at
				}
			}
		}
		events := readChrome(t, string(c.End(b)))
		validateChrome(t, events)
		for _, e := range events {
			if d, ok := want[e.Name]; ok && e.Ph == "X" {
				// Starts and ends at the same time are drawn 1 ns apart.
				if off := int64(math.Round(*e.Dur*1000)) - d; max(off, -off) > 300 {
					t.Errorf("seed %d: the duration of %s is %v us, want %d ns", seed, e.Name, *e.Dur, d)
				}
				delete(want, e.Name)
			}
		}
		if len(want) > 0 {
			t.Errorf("seed %d: no slices for %v", seed, want)
		}
		if c.open != 0 || len(c.keyed) != 0 || c.pending.count() != 0 {
			t.Errorf("seed %d: %d open, %d keyed and %d pending events remain, want none", seed, c.open, len(c.keyed), c.pending.count())
		}
	}
}

// Slices that end when others begin, or that begin or end together with the slice around
// them, do not touch: programs that execute one another, and the steps of a script whose shell
// has a coarse clock. speedscope drew such slices to the end of the run.
func TestChromeSeparatesTouchingSlices(t *testing.T) {
	src := NewSource(func(id posixtrace.EventID) string {
		return map[posixtrace.EventID]string{posixtrace.EventProcExec: "proc.exec", posixtrace.EventProcExit: "proc.exit", 40: "step.begin", 41: "step.end"}[id]
	})
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		c := &Chrome{}
		b := c.Begin(nil)
		at, key := t0, uint64(0)
		put := func(id posixtrace.EventID, span, parent uint64, data []byte) {
			b = c.Append(b, src, &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: id, PID: 9, TID: 9, UnixNano: at, Span: span, Parent: parent}, Data: data})
		}
		put(41, 0, 0, nil) // times count from here
		slices := 0
		var steps func(depth int, parent uint64)
		steps = func(depth int, parent uint64) {
			for range 1 + r.IntN(3) {
				key++
				slices++
				k := key
				put(40, k, parent, fmt.Append(nil, k))
				if depth < 3 {
					steps(depth+1, k)
				}
				put(41, k, 0, nil)
				if r.IntN(4) == 0 {
					at += 10e6
				}
			}
		}
		for _, name := range []string{"env", "sh", "nice", "cc"} {
			at += r.Int64N(1e9)
			put(posixtrace.EventProcExec, 0, 0, (&posixtrace.ExecData{Path: "/bin/" + name, Argv: []string{name}}).Append(nil))
			slices++
		}
		at += 10e6
		steps(0, 0)
		put(posixtrace.EventProcExit, 0, 0, (&posixtrace.ExitData{}).Append(nil))
		lanes := map[int]bool{}
		events := readChrome(t, string(c.End(b)))
		validateChrome(t, events)
		for _, e := range events {
			if e.Ph == "X" {
				slices--
				lanes[*e.TID] = true
			}
		}
		if slices != 0 || len(lanes) != 2 {
			t.Errorf("seed %d: %d slices are missing, lanes %v", seed, slices, lanes)
		}
	}
}

// Processes are in the order of their tree, and have the names of their programs.
func TestChromeOrdersProcessesByTree(t *testing.T) {
	src := NewSource(func(id posixtrace.EventID) string {
		return map[posixtrace.EventID]string{posixtrace.EventProcExec: "proc.exec", posixtrace.EventProcFork: "proc.fork"}[id]
	})
	c := &Chrome{}
	b := c.Begin(nil)
	n := int64(0)
	put := func(id posixtrace.EventID, pid int, data []byte) {
		n++
		b = c.Append(b, src, &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: id, PID: pid, TID: pid, UnixNano: t0 + n}, Data: data})
	}
	fork := func(pid, child int) {
		put(posixtrace.EventProcFork, pid, (&posixtrace.ForkData{Child: child}).Append(nil))
	}
	exec := func(pid int, argv ...string) {
		put(posixtrace.EventProcExec, pid, (&posixtrace.ExecData{Path: "/usr/bin/" + argv[0], Argv: argv}).Append(nil))
	}
	exec(50, "make", "-j4", "all")
	fork(50, 90)
	fork(50, 60)
	fork(90, 70)
	exec(60, "as", "-o", "out.o", "/tmp/x.s")
	exec(90, "gcc", "-O2", "-c", "number.c")
	exec(70, "cc1", "-quiet", "-imultiarch", "x86_64-linux-gnu", "src/number.c", "-o", "/tmp/x.s")
	exec(70, "sh", "-c", "echo done")
	exec(70, "ptrace-event", "-r", "one", "sleep", "0.01")
	fork(60, 61)
	fork(61, 62) // these execute nothing
	fork(62, 63)
	fork(40, 41)
	var names, programs []string
	order := map[int]int{}
	for _, e := range readChrome(t, string(c.End(b))) {
		if e.Ph == "X" {
			names = append(names, e.Name)
		}
		if e.Name == "process_sort_index" {
			order[e.Args.SortIndex] = *e.PID
		}
		if e.Name == "process_name" {
			programs = append(programs, fmt.Sprint(*e.PID, " ", e.Args.Name))
		}
	}
	if got := fmt.Sprint(names); got != "[make all as x.s gcc number.c cc1 number.c sh echo done ptrace-event one]" {
		t.Errorf("slices %v", got)
	}
	if got := strings.Join(programs, ", "); got != "40 process, 50 make, 60 as, 61 as (fork), 62 as (fork), 70 ptrace-event, 90 gcc" {
		t.Errorf("programs %v", got)
	}
	if got := fmt.Sprint(order[0], order[1], order[2], order[3]); got != "50 90 70 60" {
		t.Errorf("order %v", got)
	}
}

// The numbers of processes come from the log, and so does -1 where an int has 32 bits.
func TestChromeOrderOfAnyProcesses(t *testing.T) {
	c := &Chrome{processes: map[int]*chromeProcess{
		-1: {pid: -1, parent: -1, order: 0}, 5: {pid: 5, parent: -1, order: 1}, 7: {pid: 7, parent: 8, order: 2}, 8: {pid: 8, parent: 5, order: 3},
	}}
	if got := c.processOrder(); len(got) != 4 || got[5] < got[-1] || got[8] < got[5] {
		t.Errorf("order %v", got)
	}
}
