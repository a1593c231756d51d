package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// observed collects intervals as text, one line each, indented by depth, in the order of their IDs.
type observed struct {
	t    *testing.T
	list []Interval
	data map[uint64]string
}

func observe(t *testing.T) (*written, *observed) {
	o := &observed{t: t, data: map[uint64]string{}}
	w := newObserved(o.each)
	return w, o
}

func newObserved(each func(*Interval)) *written {
	w := &written{a: New(Limits{Rows: 10, Each: each, Calls: true})}
	w.Source = w.a.NewSource(w.nameOf)
	return w
}

func (o *observed) each(iv *Interval) {
	if _, twice := o.data[iv.ID]; twice || iv.ID == 0 || iv.Parent >= iv.ID || iv.End < iv.Start {
		o.t.Errorf("%+v", iv)
	}
	o.list = append(o.list, *iv)
	o.data[iv.ID] = string(iv.Data)
}

func (o *observed) String() string {
	depth := map[uint64]int{}
	slices.SortFunc(o.list, func(x, y Interval) int { return cmp.Compare(x.ID, y.ID) })
	children := map[uint64][]Interval{}
	for _, iv := range o.list {
		if _, known := depth[iv.Parent]; !known {
			iv.Parent = 0
		}
		depth[iv.ID] = 0
		children[iv.Parent] = append(children[iv.Parent], iv)
	}
	var b strings.Builder
	var show func(id uint64, depth int)
	show = func(id uint64, depth int) {
		for _, iv := range children[id] {
			name := cmp.Or(iv.Name, "?")
			if iv.Kind == SpanKind {
				name = "[" + name + "]"
			}
			if iv.Forked {
				name += " (fork)"
			}
			fmt.Fprintf(&b, "%s%s %d-%d", strings.Repeat("  ", depth), name, iv.Start/ms, iv.End/ms)
			if iv.State != Ended {
				b.WriteString([]string{"", " replaced", " running", " lost"}[iv.State])
			}
			if iv.Failed {
				fmt.Fprintf(&b, " failed %d", cmp.Or(iv.Status, iv.Errno))
			}
			if iv.Overlaps {
				b.WriteString(" overlaps")
			}
			b.WriteByte('\n')
			show(iv.ID, depth+1)
		}
	}
	show(0, 0)
	return b.String()
}

func (o *observed) want(text string) {
	o.t.Helper()
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\n"), "\t", "")
	if got := o.String(); got != text {
		o.t.Errorf("got:\n%swant:\n%s", got, text)
	}
}

// spool adds an event of a shell's span with a key.
func (w *written) spool(at int64, name string, pid int, key, parent uint64, data string) {
	w.add(posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: w.id(name), PID: pid, TID: pid, UnixNano: at * ms, Span: key, Parent: parent, Address: posixtrace.SpoolAddress | 7}, Data: []byte(data)})
}

// thread adds an event of a thread.
func (w *written) thread(at int64, name string, pid, tid int) {
	w.add(posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: w.id(name), PID: pid, TID: tid, UnixNano: at * ms}})
}

func (w *written) forkBy(at int64, pid, tid, child int) {
	w.add(posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: posixtrace.EventProcFork, PID: pid, TID: tid, UnixNano: at * ms}, Data: (&posixtrace.ForkData{Child: child}).Append(nil)})
}

func TestIntervalsOfBuild(t *testing.T) {
	w, o := observe(t)
	build(w)
	w.a.Finish()
	o.want(`
	make 0-110 failed 2
	  gcc 1-22
	    cc1 3-20
	  gcc 2-103 failed 1
	    cc1 4-100 failed 1
	`)
	for _, iv := range o.list {
		if iv.PID == 14 && (iv.CPU != 90*ms || iv.Memory != 5<<20 || !strings.HasPrefix(o.data[iv.ID][4:], "/lib/cc1\x00")) {
			t.Errorf("%+v %q", iv, o.data[iv.ID])
		}
	}
}

// Commands are in the spans that forked them, spans in the commands that began them.
func TestIntervalsNest(t *testing.T) {
	w, o := observe(t)
	w.exec(0, 1, "/bin/bash", "ci.sh")
	w.user(1, "build.begin", 1, "")
	w.spool(2, "compile.begin", 1, 1<<32|1, 0, "")
	w.fork(3, 1, 2)
	w.exec(3, 2, "/bin/cc")
	w.exit(9, 2, 1, 0, 0)
	w.spool(10, "compile.end", 1, 1<<32|1, 0, "1")
	w.fork(11, 1, 3)
	w.exec(11, 3, "/bin/ld")
	w.exit(12, 3, 0, 0, 0)
	w.user(13, "build.end", 1, "0")
	w.fork(14, 1, 4) // a subshell with a step of its own
	w.spool(15, "test.begin", 1, 4<<32|1, 0, "")
	w.fork(16, 4, 5)
	w.exec(16, 5, "/bin/go")
	w.spool(17, "inner.begin", 1, 4<<32|2, 4<<32|1, "")
	w.spool(18, "inner.end", 1, 4<<32|2, 0, "0")
	w.exit(19, 5, 0, 0, 0)
	w.spool(20, "test.end", 1, 4<<32|1, 0, "0")
	w.exit(21, 4, 0, 0, 0)
	w.exit(30, 1, 0, 0, 0)
	w.a.Finish()
	o.want(`
	bash 0-30
	  [build] 1-13
	    [compile] 2-10 failed 1
	      cc 3-9 failed 1
	    ld 11-12
	  bash (fork) 14-21
	    [test] 15-20
	      go 16-19
	      [inner] 17-18
	`)
}

// The steps of background jobs run side by side, and what a subshell does inside of a step is in it.
func TestIntervalsOfSubshells(t *testing.T) {
	w, o := observe(t)
	w.exec(0, 1, "/bin/bash", "ci.sh")
	w.spool(1, "all.begin", 1, 1<<32|1, 0, "")
	w.fork(2, 1, 2)
	w.fork(2, 1, 3)
	w.spool(3, "a.begin", 1, 2<<32|1, 1<<32|1, "")
	w.spool(3, "b.begin", 1, 3<<32|1, 1<<32|1, "")
	w.fork(4, 2, 4)
	w.fork(4, 3, 5)
	w.exec(5, 4, "/bin/x")
	w.exec(5, 5, "/bin/y")
	w.exit(6, 4, 0, 0, 0)
	w.exit(7, 5, 0, 0, 0)
	w.spool(8, "b.end", 1, 3<<32|1, 0, "0")
	w.spool(8, "a.end", 1, 2<<32|1, 0, "0")
	w.exit(9, 3, 0, 0, 0)
	w.exit(9, 2, 0, 0, 0)
	w.spool(10, "all.end", 1, 1<<32|1, 0, "0")
	w.exit(11, 1, 0, 0, 0)
	w.a.Finish()
	o.want(`
	bash 0-11
	  [all] 1-10
	    bash (fork) 2-9
	      [a] 3-8
	        x 5-6
	    bash (fork) 2-9
	      [b] 3-8
	        y 5-7
	`)
}

// ptrace-event --run records on behalf of the script: its span is inside ptrace-event, and contains
// what it runs.
func TestIntervalsOfEventRun(t *testing.T) {
	w, o := observe(t)
	w.exec(0, 1, "/bin/make")
	for pid := 10; pid <= 20; pid += 10 {
		w.fork(1, 1, pid)
		w.exec(2, pid, "/bin/ptrace-event", "-r", "x", "cc")
		w.thread(3, "x.begin", 1, pid)
		w.forkBy(4, pid, pid+5, pid+1) // any thread
		w.exec(4, pid+1, "/bin/cc")
	}
	for pid := 20; pid >= 10; pid -= 10 {
		w.exit(6, pid+1, 0, 0, 0)
		w.thread(7, "x.end", 1, pid)
		w.exit(8, pid, 0, 0, 0)
	}
	w.exit(9, 1, 0, 0, 0)
	w.a.Finish()
	o.want(`
	make 0-9
	  ptrace-event 2-8
	    [x] 3-7
	      cc 4-6
	  ptrace-event 2-8
	    [x] 3-7
	      cc 4-6
	`)
}

// A thread's commands are in the spans of this thread, and not in those of others. Of requests side
// by side the one that a command belongs to is not known.
func TestIntervalsOfThreads(t *testing.T) {
	w, o := observe(t)
	w.exec(0, 1, "/bin/server")
	w.thread(1, "a.begin", 1, 1)
	w.thread(1, "b.begin", 1, 2)
	w.forkBy(2, 1, 2, 8)
	w.exec(2, 8, "/bin/in-b")
	w.forkBy(2, 1, 3, 9)
	w.exec(2, 9, "/bin/in-none")
	w.thread(3, "b.end", 1, 2)
	w.thread(3, "a.end", 1, 1)
	w.keyed(4, "request.begin", 1, 7, 0)
	w.forkBy(5, 1, 2, 10)
	w.exec(5, 10, "/bin/in-request")
	w.keyed(6, "request.begin", 1, 8, 0)
	w.forkBy(7, 1, 2, 11)
	w.exec(7, 11, "/bin/in-either")
	w.keyed(8, "query.begin", 1, 9, 8)
	w.keyed(9, "query.end", 1, 9, 0)
	w.keyed(9, "request.end", 1, 7, 0)
	w.keyed(9, "request.end", 1, 8, 0)
	for pid := 8; pid <= 11; pid++ {
		w.exit(10, pid, 0, 0, 0)
	}
	w.exit(10, 1, 0, 0, 0)
	w.a.Finish()
	o.want(`
	server 0-10
	  [a] 1-3
	  [b] 1-3
	    in-b 2-10
	  in-none 2-10
	  [request] 4-9
	    in-request 5-10
	  [request] 6-9
	    [query] 8-9
	  in-either 7-10
	`)
}

// A fork that executes nothing is a command, and what ran before an exec has an interval if there is
// something inside.
func TestIntervalsOfExec(t *testing.T) {
	w, o := observe(t)
	w.exec(0, 1, "/bin/sh")
	w.fork(1, 1, 2)
	w.fork(2, 2, 3)
	w.exec(3, 3, "/bin/a")
	w.exit(4, 3, 0, 0, 0)
	w.exec(5, 2, "/bin/b")
	w.exec(6, 2, "/bin/c")
	w.exit(7, 2, 0, 0, 0)
	w.fork(8, 1, 4)
	w.exit(9, 4, 3, 0, 0)
	w.exit(10, 1, 0, 0, 0)
	w.a.Finish()
	o.want(`
	sh 0-10
	  sh (fork) 1-5 replaced
	    a 3-4
	  b 5-6 replaced
	  c 6-7
	  sh (fork) 8-9 failed 3
	`)
}

// A log may lack begins and ends, and use ids again.
func TestIntervalsUnfinished(t *testing.T) {
	w, o := observe(t)
	w.fork(1, 50, 51) // by a process that began before the log
	w.exec(2, 51, "/bin/a")
	w.user(3, "left.begin", 51, "")
	w.fork(40, 50, 51) // the id is used again
	w.exec(41, 51, "/bin/b")
	w.user(42, "open.begin", 51, "")
	w.user(43, "inside.begin", 51, "")
	w.fork(44, 51, 52)
	w.exec(45, 52, "/bin/c")
	w.user(46, "stray.end", 51, "")
	w.exit(47, 99, 0, 0, 0)
	w.user(50, "tick", 52, "")
	w.a.Finish()
	o.want(`
	? 1-50 running
	  a 2-40 lost
	    [left] 3-40 lost
	  b 41-50 running
	    [open] 42-50 running
	      [inside] 43-50 running
	        c 45-50 running
	`)
}

// Without processes in the log, spans are inside each other, and inside the first command.
func TestIntervalsWithoutProcesses(t *testing.T) {
	w, o := observe(t)
	w.exec(0, 1, "/bin/bash", "x.sh")
	w.user(1, "a.begin", 7, "")
	w.user(2, "b.begin", 7, "")
	w.user(3, "b.end", 7, "0")
	w.user(4, "a.end", 7, "2")
	w.keyed(5, "k.begin", 8, 1, 0)
	w.keyed(6, "l.begin", 8, 2, 1)
	w.keyed(7, "k.end", 8, 1, 0)
	w.keyed(8, "l.end", 8, 2, 0)
	w.user(8, "left.begin", 9, "") // its process has ended with the command
	w.exit(9, 1, 0, 0, 0)
	w.user(10, "late.begin", 7, "")
	w.user(11, "late.end", 7, "")
	w.a.Finish()
	o.want(`
	bash 0-9
	  [a] 1-4 failed 2
	    [b] 2-3
	  [k] 5-7
	    [l] 6-8
	  [left] 8-8 lost
	[late] 10-11
	`)
}

// Spans that cross are marked, and no clock that jumps back makes a negative length.
func TestIntervalsDoubtful(t *testing.T) {
	w, o := observe(t)
	w.user(1, "a.begin", 1, "")
	w.user(2, "b.begin", 1, "")
	w.user(3, "a.end", 1, "")
	w.user(4, "b.end", 1, "")
	w.user(100, "x.begin", 1, "")
	w.user(50, "y.begin", 1, "")
	w.user(40, "y.end", 1, "")
	w.user(30, "x.end", 1, "")
	w.fork(20, 1, 2)
	w.exec(10, 2, "/bin/a")
	w.exit(5, 2, 0, 0, 0)
	w.a.Finish()
	o.want(`
	[a] 1-3 overlaps
	  [b] 2-4 overlaps
	[x] 100-100
	  [y] 50-50
	? 20-100 running
	  a 10-10
	`)
}

// Processes and spans of two logs do not mix, even if their ids are equal.
func TestIntervalsOfTwoLogs(t *testing.T) {
	o := &observed{t: t, data: map[uint64]string{}}
	w := newObserved(o.each)
	v := &written{a: w.a}
	v.Source = w.a.NewSource(v.nameOf)
	w.exec(0, 1, "/bin/a")
	v.exec(0, 1, "/bin/b")
	w.user(1, "x.begin", 1, "")
	v.user(2, "y.begin", 1, "")
	w.fork(3, 1, 2)
	v.fork(3, 1, 2)
	w.exec(4, 2, "/bin/c")
	v.exec(4, 2, "/bin/d")
	w.user(5, "x.end", 1, "")
	v.user(5, "y.end", 1, "")
	w.exit(6, 1, 0, 0, 0)
	v.exit(6, 1, 0, 0, 0)
	w.a.Finish()
	o.want(`
	a 0-6
	  [x] 1-5
	    c 4-6 running
	b 0-6
	  [y] 2-5
	    d 4-6 running
	`)
	for _, iv := range o.list {
		if want := strings.Contains("bdy", iv.Name); want != (iv.Source == 1) {
			t.Errorf("%s is of log %d", iv.Name, iv.Source)
		}
	}
}

// System calls are in the spans of their thread. Their event has the time of the end.
func TestIntervalsOfCalls(t *testing.T) {
	w, o := observe(t)
	w.a = New(Limits{Each: o.each, Calls: true})
	id := posixtrace.EventID(3600)
	w.Source = w.a.NewSource(func(n posixtrace.EventID) string {
		if n == id {
			return "syscall.read"
		}
		return w.nameOf(n)
	})
	w.exec(0, 1, "/bin/a")
	w.user(1, "x.begin", 1, "")
	w.event(5, id, 1, (&posixtrace.SyscallData{Duration: 3e6, Returned: true, Result: -1, Errno: 2}).Append(nil))
	w.user(6, "x.end", 1, "")
	w.event(7, id, 1, (&posixtrace.SyscallData{Duration: 1e6, Returned: true}).Append(nil))
	w.event(8, id, 1, []byte("short"))
	w.exit(9, 1, 0, 0, 0)
	w.a.Finish()
	o.want(`
	a 0-9
	  [x] 1-6
	    read 2-5 failed 2
	  read 6-7
	`)
}

// The memory of what is open is bounded, and used again.
func TestIntervalsBounded(t *testing.T) {
	n := 0
	w := newObserved(func(*Interval) { n++ })
	for pid := range 3 * (maxThreads + maxProcesses) {
		w.thread(int64(pid), "x.begin", 10+pid, 10+pid)
		w.thread(int64(pid), "x.end", 10+pid, 10+pid)
	}
	w.a.Finish()
	if n != 3*(maxThreads+maxProcesses) || len(w.a.observer.homes) > maxThreads+maxProcesses {
		t.Errorf("%d intervals, %d processes", n, len(w.a.observer.homes))
	}
}
