package sys

import "testing"

func TestParseOffsets(t *testing.T) {
	for in, want := range map[string]int64{
		"":                                    0,
		"monotonic  5 0\nboottime  100 500\n": 100_000_000_500,
		"monotonic           0         0\nboottime           -1         999999999\n": -1,
		"boottime 9223372036854775807 0\n":                                           0,
		"boottime 1\n":                                                               0,
		"7 3 0\n":                                                                    3_000_000_000,
		"boottime x y\n":                                                             0,
	} {
		if have := parseOffsets([]byte(in)); have != want {
			t.Errorf("parseOffsets(%q) = %d, want %d", in, have, want)
		}
	}
}
