package command

import (
	"slices"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// selection says which events are wanted.
type selection struct {
	include, exclude *EventSet
	pids, tids       []int
	since, until     moment
}

func readSelection(args *Args) (s selection, err error) {
	for _, o := range []struct {
		name string
		set  **EventSet
	}{{"events", &s.include}, {"exclude", &s.exclude}} {
		set, ok, err := args.EventSet(o.name)
		if err != nil {
			return s, err
		}
		if ok {
			*o.set = &set
		}
	}
	for _, o := range []struct {
		name string
		ids  *[]int
	}{{"pid", &s.pids}, {"tid", &s.tids}} {
		for _, v := range args.All(o.name) {
			n, err := parseDigits(v)
			if err != nil || n > 1<<31-1 {
				return s, badValue(o.name, v, errPID)
			}
			*o.ids = append(*o.ids, int(n))
		}
	}
	for _, o := range []struct {
		name string
		m    *moment
	}{{"since", &s.since}, {"until", &s.until}} {
		if v, ok := args.Lookup(o.name); ok {
			if *o.m, err = parseMoment(v); err != nil {
				return s, badValue(o.name, v, err)
			}
		}
	}
	return s, nil
}

// wants reports whether an event of this type is wanted.
func (s *selection) wants(id posixtrace.EventID, name string) bool {
	return (s.include == nil || s.include.Has(id, name)) && (s.exclude == nil || !s.exclude.Has(id, name))
}

// wantsProcess reports whether events of this process and thread are wanted.
func (s *selection) wantsProcess(pid, tid int) bool {
	return (s.pids == nil || slices.Contains(s.pids, pid)) && (s.tids == nil || slices.Contains(s.tids, tid))
}

// moment is a time as written for --since and --until. Some are only known
// once the first or the last event is.
type moment struct {
	given bool
	kind  momentKind
	abs   time.Time
	after time.Duration // from the first event, or before the last
}

type momentKind uint8

const (
	absolute  momentKind = iota
	clock                // HH:MM:SS on the day of the first event
	fromFirst            // +1.5s
	fromLast             // -30s
)

type momentError string

func (e momentError) Error() string { return string(e) }

const errMoment = momentError("not a time; write 2026-11-20T10:12:00Z, 10:12:00, +1.5s or -30s")

func parseMoment(s string) (moment, error) {
	m := moment{given: true}
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
		m.after, err = ParseDuration(s[1:])
	default:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
			if m.abs, err = time.ParseInLocation(layout, s, time.Local); err == nil {
				return m, nil
			}
		}
		m.kind = clock
		m.abs, err = time.ParseInLocation("15:04:05", s, time.Local)
	}
	if err != nil {
		return m, errMoment
	}
	return m, nil
}

// resolve makes nanoseconds since the epoch of m. The times of the first and the
// last event are only asked for when they are needed.
func (m *moment) resolve(first, last int64) int64 {
	switch m.kind {
	case clock:
		day := time.Unix(0, first).Local()
		return time.Date(day.Year(), day.Month(), day.Day(), m.abs.Hour(), m.abs.Minute(), m.abs.Second(), m.abs.Nanosecond(), time.Local).UnixNano()
	case fromFirst:
		return first + int64(m.after)
	case fromLast:
		return last - int64(m.after)
	}
	return m.abs.UnixNano()
}
