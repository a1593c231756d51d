package dump

import (
	"io"
	"math"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// lastTime returns the time of the last event of all inputs.
func lastTime(inputs []*input) (last int64, err error) {
	last = math.MinInt64
	for _, in := range inputs {
		if in.reader == nil {
			return 0, cli.Failf("%s: a time from the last event needs --peek on a stream", in.name)
		}
		if !in.seekable() {
			return 0, cli.Failf("%s: a time from the last event needs a log that can be read twice", in.name)
		}
		t, err := in.lastTime()
		if err != nil {
			return 0, cli.Failure(in.name, err)
		}
		last = max(last, t)
	}
	return last, nil
}

// lastTime returns the time of the last event. It asks for the events after some time,
// which is cheap in a log with an index, and halves the remaining range until reading the
// rest is cheaper.
func (in *input) lastTime() (int64, error) {
	const enough = int64(time.Millisecond)
	last, ok := in.firstTime()
	if !ok {
		return math.MinInt64, nil
	}
	defer in.reader.Rewind()
	defer in.reader.Select(posixtrace.Selection{})
	from := func(t int64) (int64, error) {
		if err := in.reader.Rewind(); err != nil {
			return 0, err
		}
		in.reader.Select(posixtrace.Selection{Since: time.Unix(0, t)})
		rec, err := in.reader.Next()
		if err != nil {
			return 0, err
		}
		return rec.UnixNano, nil
	}
	// The last write to a log comes soon after its last event.
	beyond := time.Now().UnixNano()
	if in.file != nil {
		if st, err := in.file.Stat(); err == nil {
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
		if rec, err = in.reader.Next(); err == nil {
			last = max(last, rec.UnixNano)
		}
	}
	if err != io.EOF {
		return 0, err
	}
	return last, nil
}
