package diff

import (
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/compare"
)

// A time without what is inside is called so, and a time of several has their number.
func TestTimes(t *testing.T) {
	const ms = 1e6
	change := func(old, new int64) compare.Change {
		return compare.Change{Old: old * ms, New: new * ms, Beyond: true}
	}
	once := change(0, 0)
	once.Old, once.New = 1, 1
	ten := once
	ten.Old, ten.New = 10, 10
	for _, tt := range []struct {
		d    compare.Difference
		want string
	}{
		{compare.Difference{What: compare.Command, How: compare.Slower, Time: change(100, 200), Whole: change(100, 201), Count: once},
			"x took 100ms longer: 200ms instead of 100ms"},
		{compare.Difference{What: compare.Command, How: compare.Slower, Time: change(10, 616), Whole: change(410, 1016), Count: once},
			"x itself took 606ms longer: 616ms of its 1.02s instead of 10.0ms of 410ms"},
		{compare.Difference{What: compare.Step, How: compare.Slower, Time: change(10, 400), Whole: change(410, 400), Count: once},
			"x itself took 390ms longer: all of its 400ms instead of 10.0ms of 410ms"},
		{compare.Difference{What: compare.Program, How: compare.Faster, Time: change(900, 100), Whole: change(990, 990), Count: ten},
			"all x together, without what ran in them, took 800ms less: 100ms of their 990ms instead of 900ms of 990ms in 10"},
		{compare.Difference{What: compare.Span, How: compare.Slower, Time: change(900, 2100), Whole: change(900, 2100), Count: ten, Overlap: true},
			"x took 1.20s longer: 2.10s instead of 900ms in 10, which overlap"},
		{compare.Difference{What: compare.Command, How: compare.More, Time: change(900, 2100), Whole: change(900, 2100), Count: compare.Change{Old: 1, New: 3}, Overlap: true},
			"x ran 3 times instead of 1: 2.10s instead of 900ms, which overlap"},
		{compare.Difference{What: compare.SystemCall, How: compare.Slower, Time: change(900, 2100), Count: ten},
			"the system call x took 1.20s longer: 2.10s instead of 900ms in 10"},
		{compare.Difference{What: compare.Memory, How: compare.More, Bytes: compare.Change{Old: 3 << 20, New: 3 << 30}},
			"peak memory of x: 3.00G instead of 3.00M"},
		{compare.Difference{What: compare.Processor, How: compare.Fewer, Time: change(900, 100)},
			"processor time of x: 100ms instead of 900ms"},
	} {
		tt.d.Name = "x"
		if got := (&show{}).plain(about(&tt.d)); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
