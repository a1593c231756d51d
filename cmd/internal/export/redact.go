package export

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/otlp"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// conceal replaces the matches of --redact in all that is read of the logs.
func (j *job) conceal() {
	if j.opt.redact == nil {
		return
	}
	for _, l := range j.logs {
		l.redact = j.opt.redact.NewFilter(l.Reader.EventName)
	}
}

// eventName returns the name of an event type, "" if it has none yet.
func (l *log) eventName(id posixtrace.EventID) string {
	return l.redact.String(l.Reader.EventName(id))
}

// resource returns the resource of a log. What is replaced does not change the id of its trace.
func (l *log) resource(environment []otlp.Attribute) *otlp.Resource {
	r := otlp.NewResource(l.Reader, environment)
	r.Name, r.Command = l.redact.String(r.Name), l.redact.Strings(r.Command)
	for i, a := range r.Attributes {
		r.Attributes[i].Value = l.redact.String(a.Value)
	}
	return r
}

// reportRedacted reports how many matches were replaced.
func (j *job) reportRedacted() {
	if j.opt.redact == nil {
		return
	}
	var n uint64
	for _, l := range j.logs {
		n += l.redact.Count
	}
	j.env.Note(cli.Plural(n, "match", "matches") + " redacted")
}
