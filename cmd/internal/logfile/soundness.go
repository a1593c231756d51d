package logfile

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Soundness returns why a log that was read to its end is not whole, or nil.
func Soundness(name string, r *posixtrace.Reader) error {
	state, err := r.State()
	switch state {
	case posixtrace.LogFinished, posixtrace.LogLive:
		return nil
	}
	text := "log is " + state.String()
	if err != nil {
		text += ": " + cli.Reason(err)
	}
	return cli.Failf("%s: %s", name, text)
}
