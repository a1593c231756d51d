package selection

import (
	"math"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// Moment is an argument of --since or --until. Some depend on the time of the first or last
// event.
type Moment struct {
	Given bool
	local bool // it has no zone of its own
	kind  kind
	abs   time.Time
	after time.Duration // relative to the first or last event
}

type kind uint8

const (
	absolute  kind = iota
	clock          // HH:MM:SS on the day of the first event
	fromFirst      // +1.5s
	fromLast       // -30s
)

type parseError string

func (e parseError) Error() string { return string(e) }

const errMoment = parseError("not a time; write 2026-11-20T10:12:00Z, 10:12:00, +1.5s or -30s")

func parse(s string) (Moment, error) {
	m := Moment{Given: true}
	if s == "" {
		return m, errMoment
	}
	var err error
	switch s[0] {
	case '+', '-':
		m.kind = fromFirst
		if s[0] == '-' {
			m.kind = fromLast
		}
		m.after, err = cli.ParseDuration(s[1:])
	default:
		for i, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
			if m.abs, err = time.ParseInLocation(layout, s, time.Local); err == nil {
				m.local = i > 0
				return m, nil
			}
		}
		m.local = true
		m.kind = clock
		m.abs, err = time.ParseInLocation("15:04:05", s, time.Local)
	}
	if err != nil {
		return m, errMoment
	}
	return m, nil
}

// Resolve returns m in nanoseconds since the epoch. first and last are used only if m
// depends on them.
func (m *Moment) resolve(first, last int64) int64 {
	switch m.kind {
	case clock:
		day := time.Unix(0, first).Local()
		return time.Date(day.Year(), day.Month(), day.Day(), m.abs.Hour(), m.abs.Minute(), m.abs.Second(), m.abs.Nanosecond(), time.Local).UnixNano()
	case fromFirst:
		return addTime(first, int64(m.after))
	case fromLast:
		return addTime(last, -int64(m.after))
	}
	// A time outside the range of nanoseconds since 1970 is before or after every event.
	switch y := m.abs.Year(); {
	case y < 1678:
		return math.MinInt64
	case y > 2261:
		return math.MaxInt64
	}
	return m.abs.UnixNano()
}

// addTime adds a duration to a time and saturates.
func addTime(t, d int64) int64 {
	sum := t + d
	switch {
	case d > 0 && sum < t:
		return math.MaxInt64
	case d < 0 && sum > t:
		return math.MinInt64
	}
	return sum
}
