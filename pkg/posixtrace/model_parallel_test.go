package posixtrace

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracetest"
	"pgregory.net/rapid"
)

// TestModelParallel lets all actors run at once. The result depends on which is faster, so the
// test checks only what holds in any case: recorded + lost = generated, no event is reported
// twice, those of one thread keep their order, LOOP keeps the newest, and nothing is
// recorded after a stop.
func TestModelParallel(t *testing.T) {
	defer modelFlags(tracetest.Scale(300, 1000, 1000))()
	t.Setenv("GOMAXPROCS", "1")
	w := &worker{Child: tracetest.Start(t, "worker")}
	w.Line()
	for _, n := range modelNames {
		w.Say("1 " + n + " 0 0 0")
	}
	peers := []*peer{{Child: tracetest.Start(t, "model-peer")}, {Child: tracetest.Start(t, "model-peer")}}
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		x := newTrial(r, dir, w, peers)
		defer x.end(r)
		x.hands[0].must(r, "start")
		// Each hand has a list of operations of its own.
		calls := []string{"start", "status", "filter 0", "filter 1"}
		if x.logged {
			calls = append(calls, "flush")
		} else {
			calls = append(calls, "read 1", "read 30", "read 500")
		}
		var seen parallel
		if seen.stops = rapid.IntRange(0, 3).Draw(r, "stops") == 3; seen.stops {
			calls = append(calls, "stop")
		}
		lists := make([][]string, len(x.hands))
		for i := range lists {
			lists[i] = rapid.SliceOfN(rapid.SampledFrom(calls), 0, 6).Draw(r, "calls")
		}
		bursts := rapid.SliceOfN(rapid.SampledFrom([]int{1, 30, 400}), 1, 6).Draw(r, "bursts")
		size := rapid.IntRange(0, 72).Draw(r, "size")
		kid := x.attr.Inheritance == InheritChildren && rapid.IntRange(0, 9).Draw(r, "child") == 9
		if kid {
			w.Ask("child")
		}

		answers := make([][]string, len(lists))
		var all sync.WaitGroup
		for i, list := range lists {
			all.Go(func() {
				for _, op := range list {
					answers[i] = append(answers[i], x.hands[i].do(op))
				}
			})
		}
		all.Go(func() {
			for _, n := range bursts {
				// Two threads of the worker at once; the child after them.
				w.Say(fmt.Sprintf("%d a %d %d 0 & %d b %d %d 1", n, size, seen.each, n, size, seen.each))
				if kid {
					w.Say(fmt.Sprintf("child %d c %d %d 0", n, size, seen.each))
				}
				seen.each += n
			}
		})
		all.Wait()
		seen.threads = modelNames[:2]
		if kid {
			seen.threads = modelNames
		}
		// From here on nothing is traced.
		x.hands[0].must(r, "stop")
		lost := x.peek(r).Lost
		w.Say(fmt.Sprintf("30 a %d %d 0", size, seen.each))
		if now := x.peek(r).Lost; now != lost && x.attr.StreamFullPolicy != PolicyFlush {
			r.Fatalf("%d events lost when the stream was stopped, then %d", lost, now)
		}
		if !x.logged {
			answers[0] = append(answers[0], x.hands[0].do("read 100000"))
		}
		for _, l := range answers {
			seen.add(r, x, l)
		}
		if x.logged {
			x.hands[0].must(r, "shutdown")
			list, st := x.readLog(r)
			seen.reader(r, list)
			seen.counted(r, int(st.Lost+st.LogLost), x.attr)
			return
		}
		seen.counted(r, int(x.peek(r).Lost), x.attr)
	})
}

// parallel is what was reported of the events of several threads, each of
// which passed trace points of a name of its own.
type parallel struct {
	threads []string
	each    int  // how many events each thread has generated
	stops   bool // while the stream was perhaps stopped at times
	numbers map[string]map[int]bool
}

// add takes the answers that one analyzer got.
func (p *parallel) add(t *rapid.T, x *trial, answers []string) {
	var list []report
	for _, a := range answers {
		for l := range strings.SplitSeq(a, "\t") {
			if len(strings.Fields(l)) >= 5 {
				list = append(list, x.parse(t, l))
			}
		}
	}
	p.reader(t, list)
}

// reader takes what one analyzer found, in its order.
func (p *parallel) reader(t *rapid.T, list []report) {
	if p.numbers == nil {
		p.numbers = map[string]map[int]bool{}
		for _, name := range p.threads {
			p.numbers[name] = map[int]bool{}
		}
	}
	last := map[string]int{}
	for _, r := range list {
		seen := p.numbers[r.name]
		if seen == nil {
			continue
		}
		n, err := strconv.Atoi(strings.TrimRight(r.data, "x"))
		if before, ok := last[r.name]; err != nil || ok && n <= before {
			t.Fatalf("%+v after event %d, %v", r, before, err)
		}
		if n >= p.each {
			t.Fatalf("%+v was generated after the stop", r)
		}
		if seen[n] {
			t.Fatalf("%+v was reported twice", r)
		}
		last[r.name], seen[n] = n, true
	}
}

// counted checks the number of events. Those of control calls are lost, too.
func (p *parallel) counted(t *rapid.T, lost int, a StreamAttr) {
	generated, reported := 0, 0
	for _, name := range p.threads {
		generated += p.each
		reported += len(p.numbers[name])
	}
	missing := generated - reported
	if missing < 0 || missing > lost && !p.stops {
		t.Fatalf("%d of %d events reported, %d lost", reported, generated, lost)
	}
	if lost > missing+64 && a.StreamFullPolicy != PolicyFlush { // no schedule has so many calls
		t.Fatalf("%d events lost, but only %d of %d are missing", lost, missing, generated)
	}
	// The two threads of the worker are one writer.
	newest := p.each - 1
	if a.StreamFullPolicy == PolicyLoop && a.LogFullPolicy != PolicyUntilFull && !p.stops && !p.numbers["a"][newest] && !p.numbers["b"][newest] {
		t.Fatalf("of two times %d events the newest is missing", p.each)
	}
}
