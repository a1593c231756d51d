package dump

import (
	"math"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/selection"
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
		t, err := selection.LastTime(in.reader, in.file)
		if err != nil {
			return 0, cli.Failure(in.name, err)
		}
		last = max(last, t)
	}
	return last, nil
}
