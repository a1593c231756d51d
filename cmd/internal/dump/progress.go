package dump

import (
	"math"
	"os"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// newProgress returns nil if standard error is not a terminal, or if progress would disturb
// the output.
func newProgress(e *cli.Env, inputs []*input, listing bool) *output.Progress {
	if listing && !writesFile(e) {
		return nil
	}
	return output.NewProgress(e, func() (int64, bool) { return searchLast(inputs) })
}

// writesFile reports whether standard output is neither a terminal nor a pipe, which may
// lead to one.
func writesFile(e *cli.Env) bool {
	f, ok := e.Stdout.Dest().(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 && !cli.IsTerminal(f)
}

// searchLast finds the time of the last event of logs that are being read, with readers of its own.
func searchLast(inputs []*input) (int64, bool) {
	last := int64(math.MinInt64)
	for _, in := range inputs {
		l, ok := in.source.(*fileLog)
		if !ok {
			return 0, false
		}
		t, err := l.searchLast()
		if err != nil {
			return 0, false
		}
		last = max(last, t)
	}
	return last, true
}
