package output

import (
	"fmt"
	"math"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func TestAppendDigits(t *testing.T) {
	try := func(n uint32) {
		if got, want := string(Append9([]byte("x"), n)), fmt.Sprintf("x%09d", n); got != want {
			t.Fatalf("Append9(%d) = %s, want %s", n, got, want)
		}
	}
	for n := range uint32(window) {
		if got, want := string(append4([]byte("x"), n)), fmt.Sprintf("x%04d", n); got != want {
			t.Fatalf("append4(%d) = %s, want %s", n, got, want)
		}
	}
	for n := range uint32(10_000) { // every group of two and four digits at each position
		try(n)
		try(n * 10_000)
		try(n*100_000 + 99_999)
		try(999_999_999 - n)
	}
}

// The text of a time does not depend on the time before, whether or not the two share digits.
func TestTimesDoNotDependOnPreviousTime(t *testing.T) {
	var times []int64
	for _, s := range []int64{0, -1, 1, second, -second, t0, -t0, t0 + 86400*second, math.MaxInt64, math.MinInt64} {
		for _, d := range []int64{0, 1, 3, 9_999, 10_000, 10_001, 99_999_999, 100_000_000, 100_000_001, 999_999_999, -1, -9_999, -10_000} {
			times = append(times, s+d, s+d/2, s+d)
		}
	}
	src := testSource()
	for name, form := range map[string]func(base int64) Form{
		"relative": func(base int64) Form { return &Text{Base: base} },
		"absolute": func(int64) Form { return &Text{Style: AbsoluteTime} },
		"coloured": func(base int64) Form { return &Text{Base: base, TimeOn: "<", TimeOff: ">"} },
		"JSON":     func(int64) Form { return &JSON{} },
	} {
		for _, base := range []int64{0, t0, 12_345} {
			one := form(base)
			for i, at := range times {
				rec := &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: 33, PID: 1, UnixNano: at}}
				got, want := string(one.Append(nil, src, rec)), string(form(base).Append(nil, src, rec))
				if got != want {
					t.Fatalf("%s: time %d after %d: %s, alone %s", name, at, times[max(0, i-1)], got, want)
				}
			}
		}
	}
}
