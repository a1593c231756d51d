package selection

import (
	"io"
	"math"
	"os"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// FirstTime returns the time of the first event and rewinds the reader. A read error occurs again
// when the events are read.
func FirstTime(r *posixtrace.Reader) (int64, bool) {
	rec, err := r.Next()
	t := int64(0)
	if err == nil {
		t = rec.UnixNano
	}
	r.Rewind()
	return t, err == nil
}

// LastTime returns the time of the last event, math.MinInt64 without events. file is the log's, or
// nil. LastTime asks for the events after some time, which is cheap in a log with an index, and
// halves the remaining range until reading the rest is cheaper. Then it rewinds the reader, which
// has no selection any more.
func LastTime(r *posixtrace.Reader, file *os.File) (int64, error) {
	const enough = int64(time.Millisecond)
	last, ok := FirstTime(r)
	if !ok {
		return math.MinInt64, nil
	}
	defer r.Rewind()
	defer r.Select(posixtrace.Selection{})
	from := func(t int64) (int64, error) {
		if err := r.Rewind(); err != nil {
			return 0, err
		}
		r.Select(posixtrace.Selection{Since: time.Unix(0, t)})
		rec, err := r.Next()
		if err != nil {
			return 0, err
		}
		return rec.UnixNano, nil
	}
	// The last write to a log comes soon after its last event.
	beyond := time.Now().UnixNano()
	if file != nil {
		if st, err := file.Stat(); err == nil {
			beyond = st.ModTime().UnixNano()
		}
	}
	beyond = max(beyond, last+enough)
	for step := int64(time.Second); ; {
		t, err := from(beyond)
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, err
		}
		last = t
		step = min(step, math.MaxInt64/4) * 2
		beyond = addTime(t, step)
		if beyond == math.MaxInt64 {
			break
		}
	}
	for try := beyond - int64(time.Second); beyond-last > enough; try = last + (beyond-last)/2 {
		try = max(try, last+1)
		t, err := from(try)
		switch {
		case err == io.EOF:
			beyond = try
		case err != nil:
			return 0, err
		default:
			last = t
		}
	}
	_, err := from(last)
	for err == nil {
		var rec *posixtrace.Record
		if rec, err = r.Next(); err == nil {
			last = max(last, rec.UnixNano)
		}
	}
	if err != io.EOF {
		return 0, err
	}
	return last, nil
}
