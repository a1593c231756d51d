package output

import (
	"encoding/binary"
	"slices"
	"strconv"
	"time"
)

// TimeStyle is how a form shows the time of an event.
type TimeStyle uint8

// The time styles.
const (
	RelativeTime TimeStyle = iota // seconds since the first event
	AbsoluteTime                  // date and time, local
	UnixTime                      // seconds since 1970
	DeltaTime                     // seconds since the previous event
	NoTime
	CostTime // of Annotate: seconds until the next line of the log
)

// textTimes is what Text knows of the times that it has shown.
type textTimes struct {
	stamp stamp // the window of the latest relative or absolute time

	started bool
	last    int64  // time of the previous event, for DeltaTime
	sec     int64  // the second that date and zone belong to, for AbsoluteTime
	date    []byte // the text before the nanoseconds, in this second
	zone    []byte // the text after them
}

// window returns how far a time is from the start of the stamp's window: less than the stamp's
// room if it is in the window.
func (t *Text) window(ns int64) uint64 {
	if t.Style == RelativeTime {
		ns -= t.Base
	}
	return uint64(ns - t.times.stamp.from)
}

// appendTime appends the time and a space.
func (t *Text) appendTime(b []byte, ns int64) []byte {
	s := &t.times
	if d := t.window(ns); d < s.stamp.room {
		return s.stamp.appendTo(slices.Grow(b, stampRoom), uint32(d))
	}
	switch t.Style {
	case NoTime:
		return b
	case AbsoluteTime:
		sec, nsec := splitNano(ns)
		if sec != s.sec || !s.started {
			s.started, s.sec = true, sec
			tm := time.Unix(sec, 0)
			s.date = tm.AppendFormat(s.date[:0], "2006-01-02T15:04:05.")
			s.zone = tm.AppendFormat(s.zone[:0], "Z07:00 ")
		}
		s.stamp.set(ns, nsec, s.date, s.zone)
		return append(Append9(append(b, s.date...), nsec), s.zone...)
	case UnixTime:
		sec, nsec := splitNano(ns)
		if sec >= 0 {
			s.date = append(strconv.AppendInt(s.date[:0], sec, 10), '.')
			s.stamp.set(ns, nsec, s.date, []byte{' '})
		}
		return append(AppendSeconds(b, ns), ' ')
	case DeltaTime:
		if !s.started {
			s.started, s.last = true, ns
		}
		b = append(AppendSeconds(b, ns-s.last), ' ')
		s.last = ns
		return b
	}
	rel := ns - t.Base
	if rel >= 0 {
		sec := rel / second
		s.date = append(strconv.AppendInt(s.date[:0], sec, 10), '.')
		s.stamp.set(rel, uint32(rel-sec*second), s.date, []byte{' '})
	}
	return append(AppendSeconds(b, rel), ' ')
}

// stamp is the text of the times in a window: all but the last digits of them are equal, so it
// formats only these. It copies a fixed number of bytes, which takes a few instructions, where
// append calls a function to copy.
type stamp struct {
	from int64  // the start of the window
	room uint64 // its length; 0 if there is none
	size int    // of the text before the last digits
	text [stampText]byte
	tail [8]byte // the text after them
	end  int     // the size of it all
}

const (
	stampText = 32
	stampRoom = stampText + lastDigits + 8 // that appendTo needs
)

// set makes the window of a time. date is the text before its nanoseconds, tail that after them.
func (s *stamp) set(ns int64, nsec uint32, date, tail []byte) {
	s.from, s.room = ns-int64(nsec%window), 0
	s.size = len(date) + 9 - lastDigits
	if s.size > len(s.text) || len(tail) > len(s.tail) || !within(ns, s.from) {
		return
	}
	var digits [9]byte
	Append9(digits[:0], nsec)
	copy(s.text[copy(s.text[:], date):], digits[:])
	s.end = s.size + lastDigits + copy(s.tail[:], tail)
	s.room = window
}

// appendTo appends the time that is d after the start of the window. b has room for stampRoom
// bytes more.
func (s *stamp) appendTo(b []byte, d uint32) []byte {
	n := len(b)
	b = b[:n+stampRoom]
	*(*[stampText]byte)(b[n:]) = s.text
	last := b[n+s.size:]
	binary.LittleEndian.PutUint32(last, digits4(d))
	*(*[8]byte)(last[lastDigits:]) = s.tail
	return b[:n+s.end]
}
