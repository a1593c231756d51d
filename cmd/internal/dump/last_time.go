package dump

import (
	"math"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// lastTime returns the time of the last event of all inputs.
func lastTime(inputs []*input) (latest int64, err error) {
	latest = math.MinInt64
	for _, in := range inputs {
		s, ok := in.source.(rereadable)
		switch {
		case is[*consumedStream](in):
			return 0, cli.Failf("%s: a time from the last event needs --peek on a stream", in.name)
		case !ok:
			return 0, cli.Failf("%s: a time from the last event needs a log that can be read twice", in.name)
		}
		t, err := s.lastTime()
		if err != nil {
			return 0, cli.Failure(in.name, err)
		}
		latest = max(latest, t)
	}
	return latest, nil
}
