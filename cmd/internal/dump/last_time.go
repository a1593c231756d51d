package dump

import (
	"math"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/selection"
)

// lastTime returns the time of the last event of all inputs.
func lastTime(inputs []*input) (latest int64, err error) {
	latest = math.MinInt64
	for _, in := range inputs {
		if in.reader == nil {
			return 0, cli.Failf("%s: a time from the last event needs --peek on a stream", in.name)
		}
		if !in.seekable() {
			return 0, cli.Failf("%s: a time from the last event needs a log that can be read twice", in.name)
		}
		last := func() (int64, error) { return selection.LastTime(in.reader, in.file) }
		if in.log != nil {
			last = in.log.LastTime
		}
		t, err := last()
		if err != nil {
			return 0, cli.Failure(in.name, err)
		}
		latest = max(latest, t)
	}
	return latest, nil
}
