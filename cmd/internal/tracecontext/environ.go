package tracecontext

import (
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Found is what the environment says about the trace context.
type Found struct {
	Valid     bool // it has one
	Context   posixtrace.ContextData
	Malformed string // a variable with a malformed value, as NAME=VALUE, or ""
}

// EventMalformed is the name of the user event that keeps Found.Malformed in the log.
const EventMalformed = "tracecontext.malformed"

// maxShown bounds Found.Malformed.
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
		f.Malformed = shown(Parent, parent)
		return f
	case state != "" && d.State == "":
		f.Malformed = shown(State, state)
	}
	f.Valid, f.Context = true, d
	return f
}

func shown(name, value string) string {
	s := name + "=" + value
	if len(s) > maxShown {
		s = s[:maxShown] + "..."
	}
	return s
}
