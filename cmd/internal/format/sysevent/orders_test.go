package sysevent_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/compare"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/view"
	"github.com/posixtrace/posixtrace/cmd/internal/format/otlp"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/format/report"
	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// step is an event of a process tree.
type step struct {
	text string
	rec  posixtrace.Record
}

const (
	begin = posixtrace.EventUnnamed + 1
	end   = begin + 1
)

// steps are the events of three processes, with forks that no kernel allows: of a process by itself, by
// its child, by a thread that has the number of another process.
func steps() (list []step) {
	add := func(id posixtrace.EventID, pid, tid int, data []byte, format string, args ...any) {
		list = append(list, step{fmt.Sprintf(format, args...), posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: id, PID: pid, TID: tid}, Data: data}})
	}
	for pid := 1; pid <= 3; pid++ {
		add(posixtrace.EventProcExec, pid, pid, (&posixtrace.ExecData{Path: "/bin/a", Argv: []string{"a"}}).Append(nil), "exec(%d)", pid)
		add(posixtrace.EventProcExit, pid, pid, (&posixtrace.ExitData{Status: pid - 1}).Append(nil), "exit(%d)", pid)
		for child := 0; child <= 3; child++ {
			data := (&posixtrace.ForkData{Child: child}).Append(nil)
			add(posixtrace.EventProcFork, pid, pid, data, "fork(%d, child %d)", pid, child)
			if child != 0 && child != pid {
				add(posixtrace.EventProcFork, pid, child, data, "fork(%d, thread %d, child %d)", pid, child, child)
			}
		}
	}
	add(posixtrace.EventProcFork, 1, 1, (&posixtrace.ForkData{Child: 2, Kind: posixtrace.ForkThread}).Append(nil), "thread(1, 2)")
	add(begin, 1, 2, []byte("s"), "begin(1, thread 2)")
	add(end, 1, 2, []byte("0"), "end(1, thread 2)")
	add(begin, 2, 2, []byte("s"), "begin(2)")
	add(end, 2, 2, []byte("0"), "end(2)")
	return list
}

func nameOf(id posixtrace.EventID) string {
	switch id {
	case begin:
		return "s.begin"
	case end:
		return "s.end"
	}
	return fmt.Sprintf("type.%d", id)
}

// readers are what makes trees of processes of events.
var readers = map[string]func([]posixtrace.Record){
	"otlp": func(recs []posixtrace.Record) {
		l := otlp.New(&sink{}, &otlp.Resource{}, nameOf)
		if err := l.Add(recs); err != nil {
			panic(err)
		}
		if err := l.Close(0); err != nil {
			panic(err)
		}
	},
	"summary": func(recs []posixtrace.Record) {
		o := &summary.Options{}
		a := summary.New(o)
		a.NewSource(nameOf).Add(recs)
		a.Finish()
		for _, o.Form = range []summary.Form{summary.Text, summary.JSON, summary.Markdown} {
			summary.Append(nil, a, 0, o)
		}
	},
	"report": func(recs []posixtrace.Record) {
		b := report.NewBuilder()
		b.NewSource(nameOf).Add(recs)
		if err := report.Write(io.Discard, []*report.Run{b.Finish(report.Facts{})}, &report.Options{}); err != nil {
			panic(err)
		}
	},
	"compare": func(recs []posixtrace.Record) {
		o := &compare.Options{Percent: compare.DefaultPercent, Least: compare.DefaultLeast, Golden: true}
		run := func(recs []posixtrace.Record) []*compare.Run {
			b := compare.NewBuilder(o, nameOf)
			b.Add(recs)
			return []*compare.Run{b.Finish("x", 0)}
		}
		compare.Compare(o, run(recs), run(recs[:len(recs)/2]))
		compare.Compare(o, run(recs[len(recs)/2:]), run(recs))
	},
	"view": func(recs []posixtrace.Record) {
		out, b := view.NewOutput(), analysis.NewBuilder(100)
		a := analysis.New(analysis.Limits{Each: func(iv *analysis.Interval) {
			b.Add(iv)
			out.Keep(iv)
		}})
		source := a.NewSource(nameOf)
		for i := range recs {
			out.Add(0, &recs[i])
			source.Add(recs[i : i+1])
		}
		a.Finish()
		r := &view.Run{Tree: b.Tree(a), Analysis: a, Names: []string{"x"}, Unsound: []string{""}}
		view.AppendTree(nil, r, &view.Options{})
		view.AppendTimeline(nil, r, &view.Options{})
		view.AppendFolded(nil, r)
		view.AppendJUnit(nil, r, out)
	},
}

// slow are readers that read only some of the orders without POSIXTRACE_FULL: every so many.
var slow = map[string]int{"report": 100, "summary": 20, "compare": 10, "view": 10, "form table": 20}

func init() {
	names := []string{""}
	for _, f := range output.Forms {
		names = append(names, f.Name)
	}
	for _, name := range names {
		readers["form "+name] = func(recs []posixtrace.Record) {
			form, err := output.NewForm(name, &output.Settings{Text: &output.Text{}, Width: func() int { return 0 }, Format: "%n %d", Exits: true})
			if err != nil {
				panic(err)
			}
			source := output.NewSource(nameOf)
			b := form.Begin(nil)
			for i := range recs {
				b = form.Append(b, source, &recs[i])
			}
			form.End(b)
		}
	}
}

func full() bool { return os.Getenv("POSIXTRACE_FULL") != "" }

// No order of the events of processes, as a damaged log has them, makes a reader panic or loop: all
// triples, and longer ones by chance. Without POSIXTRACE_FULL it tries some of each.
func TestAnyOrderOfProcesses(t *testing.T) {
	tracetest.OnlyWithoutRace(t) // it starts no goroutine
	all := steps()
	r := rand.New(rand.NewPCG(3, 4))
	var orders [][]int
	for i := range all {
		for j := range all {
			for k := range all {
				orders = append(orders, []int{i, j, k})
			}
		}
	}
	longer := 30_000
	if !full() {
		r.Shuffle(len(orders), func(i, j int) { orders[i], orders[j] = orders[j], orders[i] })
		orders, longer = orders[:4000], 2000
	}
	for range longer {
		o := make([]int, 4+r.IntN(9))
		for i := range o {
			o[i] = r.IntN(len(all))
		}
		orders = append(orders, o)
	}
	for name, read := range readers {
		t.Run(name, func(t *testing.T) {
			var at atomic.Int64
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := range orders {
					at.Store(int64(i))
					if every := slow[name]; every != 0 && i%every != 0 && !full() {
						continue
					}
					if fault := try(read, all, orders[i]); fault != "" {
						t.Errorf("%s: %s", describe(all, orders[i]), fault)
						return
					}
				}
			}()
			for last := int64(-1); ; {
				select {
				case <-done:
					return
				case <-time.After(time.Minute):
					i := at.Load()
					if i == last {
						t.Fatalf("%s: does not end", describe(all, orders[i]))
					}
					last = i
				}
			}
		})
	}
}

// try returns how a reader fails, "" if it does not.
func try(read func([]posixtrace.Record), all []step, order []int) (fault string) {
	recs := make([]posixtrace.Record, len(order))
	for i, n := range order {
		recs[i] = all[n].rec
		recs[i].UnixNano = 1e18 + int64(i)*1e6
	}
	defer func() {
		if p := recover(); p != nil {
			fault = fmt.Sprintf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	read(recs)
	return ""
}

func describe(all []step, order []int) string {
	var list []string
	for _, n := range order {
		list = append(list, all[n].text)
	}
	return strings.Join(list, ", ")
}
