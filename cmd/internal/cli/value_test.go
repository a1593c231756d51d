package cli

import (
	"testing"
	"time"
)

func TestParseSize(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int64
		err  error
	}{
		{"0", 0, nil},
		{"4096", 4096, nil},
		{"64K", 64 << 10, nil},
		{"1M", 1 << 20, nil},
		{"2G", 2 << 30, nil},
		{"0009", 9, nil},
		{"9223372036854775807", 1<<63 - 1, nil},
		{"9223372036854775808", 0, ErrTooLarge},
		{"8589934591G", 8589934591 << 30, nil},
		{"8589934592G", 0, ErrTooLarge},
		{"99999999999999999999K", 0, ErrTooLarge},
		{"", 0, errSize},
		{"K", 0, errSize},
		{"-1", 0, errSize},
		{"+1", 0, errSize},
		{"0x10", 0, errSize},
		{"1_000", 0, errSize},
		{"1.5M", 0, errSize},
		{"1KK", 0, errSize},
		{"1KB", 0, errSize},
		{" 1", 0, errSize},
	} {
		if got, err := ParseSize(tt.in); got != tt.want || err != tt.err {
			t.Errorf("ParseSize(%q) = %d, %v, want %d, %v", tt.in, got, err, tt.want, tt.err)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want time.Duration
		err  error
	}{
		{"250ms", 250 * time.Millisecond, nil},
		{"1.5s", 1500 * time.Millisecond, nil},
		{"2m", 2 * time.Minute, nil},
		{"1h30m", 90 * time.Minute, nil},
		{"1d", 24 * time.Hour, nil},
		{"5", 5 * time.Second, nil},
		{"0.5", 500 * time.Millisecond, nil},
		{".5", 500 * time.Millisecond, nil},
		{"0", 0, nil},
		{"", 0, errDuration},
		{"s", 0, errDuration},
		{"-1s", 0, errDuration},
		{"+1s", 0, errDuration},
		{"1 s", 0, errDuration},
		{"1x", 0, errDuration},
		{"99999999999h", 0, errDuration},
		{"2000000d", 0, ErrTooLarge},
	} {
		if got, err := ParseDuration(tt.in); got != tt.want || err != tt.err {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v, %v", tt.in, got, err, tt.want, tt.err)
		}
	}
}
