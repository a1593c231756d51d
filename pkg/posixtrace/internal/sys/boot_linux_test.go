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
		if have := parseOffsets([]byte(in), "boottime", "7"); have != want {
			t.Errorf("parseOffsets(%q) = %d, want %d", in, have, want)
		}
	}
	if have := parseOffsets([]byte("monotonic  -5 3\nboottime  100 500\n"), "monotonic", "1"); have != -4_999_999_997 {
		t.Errorf("the other clock is %d", have)
	}
}
