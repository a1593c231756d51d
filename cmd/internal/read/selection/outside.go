package selection

import (
	"io"
	"math"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Dated is a log or stream whose times are compared with bounds. Its reader can be rewound.
type Dated struct {
	*posixtrace.Reader
	Last func() (int64, error) // the time of the last event
}

// NoteOutside reports a bound that leaves no event: --since after the last one, or --until before the
// first one. A time of another zone is the usual reason. The readers lose their selections.
func (s *Selection) NoteOutside(env *cli.Env, logs []Dated) {
	if !s.Since.Given && !s.Until.Given {
		return
	}
	first, last, any := int64(math.MaxInt64), int64(math.MinInt64), false
	for _, l := range logs {
		if l.Rewind() != nil {
			return
		}
		l.Select(posixtrace.Selection{})
		if t, ok := FirstTime(l.Reader); ok {
			first, any = min(first, t), true
		}
		if s.FromLast() {
			t, err := l.Last()
			if err != nil {
				return
			}
			last = max(last, t)
		}
	}
	if !any {
		return
	}
	since, until := s.Bounds(first, last)
	if until <= first {
		env.Note("no event before " + moment(until) + ": the first one is at " + moment(first))
		return
	}
	if since <= first {
		return
	}
	for _, l := range logs {
		if l.Rewind() != nil {
			return
		}
		l.Select(posixtrace.Selection{Since: time.Unix(0, since)})
		if _, err := l.Next(); err != io.EOF {
			return
		}
		l.Rewind()
		l.Select(posixtrace.Selection{})
		t, err := l.Last()
		if err != nil {
			return
		}
		last = max(last, t)
	}
	env.Note("no event since " + moment(since) + ": the last one is at " + moment(last))
}

// moment shows a time in the zone of the user, as --time=abs does.
func moment(ns int64) string { return time.Unix(0, ns).Format("2006-01-02T15:04:05.000Z07:00") }
