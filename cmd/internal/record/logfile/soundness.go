package logfile

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// StateWord returns the word for a state in a message. An unfinished log is called incomplete there.
func StateWord(state posixtrace.LogState) string {
	if state == posixtrace.LogUnfinished {
		return "incomplete"
	}
	return state.String()
}

// Soundness returns why a log that was read to its end is not whole, or nil.
func Soundness(name string, r *posixtrace.Reader) error {
	state, err := r.State()
	switch state {
	case posixtrace.LogFinished, posixtrace.LogLive:
		return nil
	}
	text := "log is " + StateWord(state)
	if err != nil {
		text += ": " + cli.Reason(err)
	}
	return cli.Failf("%s: %s", name, text)
}
