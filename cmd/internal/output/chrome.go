package output

import (
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Chrome is the trace-event form that timeline viewers read (chrome://tracing,
// Perfetto, speedscope). NAME.begin and NAME.end become the two ends of a slice,
// everything else is a mark. Times count from the first event: as microseconds
// since 1970 they would not fit the numbers of those viewers.
type Chrome struct {
	base  int64
	begun bool
	tmp   []byte
}

// Begin appends what opens the object.
func (c *Chrome) Begin(b []byte) []byte {
	return append(b, `{"displayTimeUnit":"ns","traceEvents":[`...)
}

// End appends what closes it.
func (c *Chrome) End(b []byte) []byte { return append(b, "\n]}\n"...) }

// Append appends one event.
func (c *Chrome) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if c.begun {
		b = append(b, ',')
	} else {
		c.begun, c.base = true, rec.UnixNano
	}
	name, phase := src.Name(rec.ID), `i","s":"t`
	if rec.ID.User() {
		if n, ok := strings.CutSuffix(name, ".begin"); ok {
			name, phase = n, "B"
		} else if n, ok := strings.CutSuffix(name, ".end"); ok {
			name, phase = n, "E"
		}
	}
	b = AppendJSONString(append(b, "\n{\"name\":"...), name)
	b = append(append(b, `,"cat":"`...), Class(rec.ID)...)
	b = append(append(b, `","ph":"`...), phase...)
	b = appendMicros(append(b, `","ts":`...), rec.UnixNano-c.base)
	b = strconv.AppendInt(append(b, `,"pid":`...), int64(rec.PID), 10)
	b = strconv.AppendInt(append(b, `,"tid":`...), int64(rec.TID), 10)
	if c.tmp = appendDecoded(c.tmp[:0], src, rec); len(c.tmp) > 0 {
		b = AppendJSONString(append(b, `,"args":{"data":`...), c.tmp)
		b = append(b, '}')
	}
	return append(b, '}')
}

// appendMicros appends nanoseconds as microseconds with three decimals.
func appendMicros(b []byte, ns int64) []byte {
	if ns < 0 {
		b = append(b, '-')
		ns = -ns
	}
	b = strconv.AppendInt(b, ns/1000, 10)
	r := ns % 1000
	return append(b, '.', byte('0'+r/100), byte('0'+r/10%10), byte('0'+r%10))
}
