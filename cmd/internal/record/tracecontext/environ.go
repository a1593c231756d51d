package tracecontext

import (
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Found is what the environment says about the trace context.
type Found struct {
	Valid     bool // it has one
	Context   posixtrace.ContextData
	Malformed string // a variable with a malformed value, as NAME=VALUE, or "". Show it by Shown.
}

// EventMalformed is the name of the user event that keeps Found.Malformed in the log.
const EventMalformed = "tracecontext.malformed"

// maxShown bounds what Shown returns.
const maxShown = 128

// Find returns the context of a new span within the one that the environment has. An empty variable
// is like one that is not set.
func Find(getenv func(string) string) (f Found) {
	parent := getenv(Parent)
	if parent == "" {
		return f
	}
	state := getenv(State)
	d, err := New(parent, state)
	switch {
	case err != nil:
		f.Malformed = Parent + "=" + parent
		return f
	case !ValidState(state):
		f.Malformed = State + "=" + state
	}
	f.Valid, f.Context = true, d
	return f
}

// Shown returns as much of Found.Malformed as a message needs. What must not be seen of it must be
// replaced before, as long as it is whole.
func Shown(s string) string {
	if len(s) > maxShown {
		s = s[:maxShown] + "..."
	}
	return s
}
