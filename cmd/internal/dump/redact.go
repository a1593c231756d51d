package dump

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// redactWith replaces the matches of a set in all that is read of the input from now on.
func (in *input) redactWith(set *redact.Set) {
	if set == nil {
		return
	}
	in.redact = set.NewFilter(in.eventName)
	in.src = output.NewSource(in.typeName)
}

// reportRedacted reports how many matches were replaced in the events that were read.
func reportRedacted(env *cli.Env, inputs []*input, opt *options) {
	if opt.redact == nil {
		return
	}
	var n uint64
	for _, in := range inputs {
		n += in.redact.Count
	}
	env.Note(cli.Plural(n, "match", "matches") + " redacted")
}

// typeName returns the name of an event type, or "" if it has none, or none yet.
func (in *input) typeName(id posixtrace.EventID) string { return in.redact.String(in.eventName(id)) }
