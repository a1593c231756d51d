package dump

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// pacer delays events to the rate at which they were recorded, times speed.
type pacer struct {
	speed float64
	out   *sink

	started bool
	first   int64     // time of the first event
	start   time.Time // when it was shown
}

// wait waits until an event of time t is due.
func (p *pacer) wait(t int64) {
	if !p.started {
		p.started, p.first, p.start = true, t, time.Now()
	}
	const longest = 1 << 62
	after := min(float64(t-p.first)/p.speed, longest)
	if d := time.Duration(after) - time.Since(p.start); d > 0 {
		p.out.flush()
		time.Sleep(d)
	}
}

var errSpeed = errors.New("not a speed; write 1, 0.5 or 10")

// parseSpeed parses a factor for the recorded rate.
func parseSpeed(s string) (float64, error) {
	if s == "" || strings.Trim(s, "0123456789.") != "" {
		return 0, errSpeed
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 1e-6 || f > 1e9 {
		return 0, errSpeed
	}
	return f, nil
}
