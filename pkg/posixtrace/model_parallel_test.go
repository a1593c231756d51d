package posixtrace

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestModelParallel lets everybody act at once. What comes out then depends on who was
// faster, so only what must hold in any case is checked: recorded + lost = generated, no event
// is reported twice, those of one writer come in their order, and under LOOP the newest is there.
func TestModelParallel(t *testing.T) {
	defer modelFlags()()
	if checks := modelChecks(); checks.Value.String() == "10000" {
		checks.Value.Set("1000")
	}
	t.Setenv("GOMAXPROCS", "1")
	w := &worker{child: start(t, "worker")}
	w.line()
	w.say("1 a 0 0 0")
	peers := []*peer{{child: start(t, "model-peer")}, {child: start(t, "model-peer")}}
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		x := newTrial(r, dir, w, peers)
		defer x.end(r)
		x.hands[0].must(r, "start")
		// Each hand has a list of operations of its own. The stream runs all the time.
		calls := []string{"start", "status", "filter 0", "filter 1"}
		if x.logged {
			calls = append(calls, "flush")
		} else {
			calls = append(calls, "read 1", "read 30", "read 500")
		}
		lists := make([][]string, len(x.hands))
		for i := range lists {
			lists[i] = rapid.SliceOfN(rapid.SampledFrom(calls), 0, 6).Draw(r, "calls")
		}
		bursts := rapid.SliceOfN(rapid.SampledFrom([]int{1, 30, 400}), 1, 6).Draw(r, "bursts")
		size := rapid.IntRange(0, 72).Draw(r, "size")

		answers := make([][]string, len(lists))
		generated := 0
		var all sync.WaitGroup
		for i, list := range lists {
			all.Go(func() {
				for _, op := range list {
					answers[i] = append(answers[i], x.hands[i].do(op))
				}
			})
		}
		all.Go(func() {
			for i, n := range bursts {
				w.say(fmt.Sprint(n, " a ", size, " ", generated, " ", i%2))
				generated += n
			}
		})
		all.Wait()
		if !x.logged {
			answers[0] = append(answers[0], x.hands[0].do("read 100000"))
		}
		var seen parallel
		for _, l := range answers {
			seen.add(r, x, l)
		}
		if x.logged {
			x.hands[0].must(r, "shutdown")
			list, st := x.readLog(r)
			seen.reader(r, list)
			seen.counted(r, generated, int(st.Lost+st.LogLost), x.attr)
			return
		}
		seen.counted(r, generated, int(x.peek(r).Lost), x.attr)
	})
}

// parallel is what was reported of the worker's events.
type parallel struct {
	numbers map[int]bool
	newest  int
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
		p.numbers, p.newest = map[int]bool{}, -1
	}
	last := -1
	for _, r := range list {
		if r.name != "a" {
			continue
		}
		n, err := strconv.Atoi(strings.TrimRight(r.data, "x"))
		if err != nil || n <= last {
			t.Fatalf("%+v after event %d, %v", r, last, err)
		}
		if p.numbers[n] {
			t.Fatalf("%+v was reported twice", r)
		}
		last, p.numbers[n] = n, true
		p.newest = max(p.newest, n)
	}
}

// counted checks the number of events. Those of control calls are lost, too.
func (p *parallel) counted(t *rapid.T, generated, lost int, a Attr) {
	missing := generated - len(p.numbers)
	if missing < 0 || missing > lost {
		t.Fatalf("%d of %d events reported, %d lost", len(p.numbers), generated, lost)
	}
	if lost > missing+64 && a.StreamFullPolicy != Flush { // no schedule has so many calls
		t.Fatalf("%d events lost, but only %d of %d are missing", lost, missing, generated)
	}
	if a.StreamFullPolicy == Loop && a.LogFullPolicy != UntilFull && p.newest != generated-1 {
		t.Fatalf("the newest event of %d is %d", generated, p.newest)
	}
}
