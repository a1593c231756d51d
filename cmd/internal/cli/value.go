package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

var (
	errNumber   = errors.New("not a number")
	ErrTooLarge = errors.New("too large")
	errSize     = errors.New("not a size; write 4096, 64K, 1M or 2G")
	errDuration = errors.New("not a duration; write 250ms, 1.5s or 2m")
	ErrPID      = errors.New("not a process id")
)

// ParseSize parses a number of bytes: digits, optionally followed by K, M or G (powers of
// 1024).
func ParseSize(s string) (int64, error) {
	digits, unit := s, int64(1)
	if s != "" {
		switch s[len(s)-1] {
		case 'K', 'k':
			unit = 1 << 10
		case 'M':
			unit = 1 << 20
		case 'G':
			unit = 1 << 30
		}
	}
	if unit > 1 {
		digits = s[:len(s)-1]
	}
	n, err := ParseDigits(digits)
	switch {
	case err == ErrTooLarge, err == nil && n > math.MaxInt64/unit:
		return 0, ErrTooLarge
	case err != nil:
		return 0, errSize
	}
	return n * unit, nil
}

// ParseDigits parses a decimal number that consists of digits only.
func ParseDigits(s string) (int64, error) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, errNumber
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, ErrTooLarge
	}
	return n, nil
}

// ParseDuration parses a duration: 250ms, 1.5s, 2m, 1h, 1d. A number without a unit is in
// seconds, as in timeout(1).
func ParseDuration(s string) (time.Duration, error) {
	if s == "" || s[0] < '0' && s[0] != '.' || s[0] > '9' {
		return 0, errDuration
	}
	days := false
	switch c := s[len(s)-1]; {
	case c == 'd':
		s, days = s[:len(s)-1]+"h", true
	case c == '.' || '0' <= c && c <= '9':
		s += "s"
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, errDuration
	}
	if days {
		if d > math.MaxInt64/24 {
			return 0, ErrTooLarge
		}
		d *= 24
	}
	return d, nil
}
