package report

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/pagetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// usageOf returns the areas of a log of samples, one each second.
func usageOf(t *testing.T, samples int, tree func(n int) (cpu time.Duration, list []posixtrace.ResProcess)) map[string][]uint64 {
	t.Helper()
	b := NewBuilder()
	s := b.NewSource(func(posixtrace.EventID) string { return "" })
	var p posixtrace.ResProcesses
	for n := range samples {
		d := posixtrace.ResSampleData{Number: n + 1}
		var list []posixtrace.ResProcess
		d.CPU, list = tree(n)
		for _, data := range p.Encode(nil, &d, list, 4096) {
			s.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: posixtrace.EventResSample, PID: 1, TID: 1, UnixNano: 1e18 + int64(n)*1e9}, Data: data}})
		}
	}
	page, err := pagetest.ParseData(appendData(nil, "", []*Run{b.Finish(Facts{})}))
	if err != nil {
		t.Fatal(err)
	}
	return page.Runs[0].Usage
}

// The areas have the memory of each program at each sample, and the processors that it used until the next;
// what processes used that have ended is that of others.
func TestUsage(t *testing.T) {
	u := usageOf(t, 3, func(n int) (time.Duration, []posixtrace.ResProcess) {
		list := []posixtrace.ResProcess{
			{PID: 5, Program: "cc", RSS: 8 << 20, CPU: time.Duration(n) * time.Second / 2},
			{PID: 6, Program: "cc", RSS: int64(n) << 20, CPU: time.Duration(n) * time.Second / 4},
		}
		if n == 1 {
			list = append(list, posixtrace.ResProcess{PID: 7, Program: "\x1b</script>", RSS: 4096})
		}
		return time.Duration(n) * time.Second, list
	})
	for key, want := range map[string][]uint64{
		"time": {0, 1e9, 2e9}, "memory cc": {8 << 20, 9 << 20, 10 << 20}, "processors cc": {750, 750, 0}, "memory others": {0, 0, 0}, "processors others": {250, 250, 0},
	} {
		if !slices.Equal(u[key], want) {
			t.Errorf("%s: %v, want %v", key, u[key], want)
		}
	}
	if len(u) != 1+2*3 {
		t.Errorf("areas of %v", u)
	}
}

// A long log has a bounded number of points, and no memory or processor time is lost.
func TestUsageIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const samples, peak = 9000, 6123
	u := usageOf(t, samples, func(n int) (time.Duration, []posixtrace.ResProcess) {
		p := posixtrace.ResProcess{PID: 5, Program: "a", RSS: int64(1+r.IntN(100)) << 20, CPU: time.Duration(n) * time.Second}
		if n == peak {
			p.RSS = 1 << 40
		}
		return p.CPU, []posixtrace.ResProcess{p}
	})
	if n := len(u["time"]); n < mostPoints/2-1 || n > mostPoints {
		t.Errorf("%d points", n)
	}
	if most := slices.Max(u["memory a"]); most != 1<<40 {
		t.Errorf("the peak is %d", most)
	}
	for i, v := range u["processors a"][:len(u["time"])-1] {
		if v != 1000 {
			t.Fatalf("point %d of %d: %d thousandths", i, len(u["time"]), v)
		}
	}
}
