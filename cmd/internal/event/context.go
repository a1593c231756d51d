package event

import (
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/destination"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracecontext"
	"github.com/posixtrace/posixtrace/cmd/internal/startup/original"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// contextEnv returns the environment for the command of a span that starts now. If a valid trace
// context came in and a stream records it, the command gets that of the span. The first process of a
// stream that finds a malformed one reports it.
func contextEnv(env *cli.Env, t *destination.Target) []string {
	environ := original.Environ()
	found := tracecontext.Find(env.Getenv)
	if found.Malformed != "" && t.New(tracecontext.EventMalformed) {
		text := found.Malformed
		if t.Rewrite != nil {
			text = string(t.Rewrite([]byte(text), false))
		}
		text = tracecontext.Shown(text)
		t.Event(tracecontext.EventMalformed, []byte(text))
		env.Note("ignored: malformed " + text)
	}
	if t.Rewrite != nil {
		found.Context.State = string(t.Rewrite([]byte(found.Context.State), false))
	}
	if !found.Valid || !t.Record(posixtrace.EventProcContext, found.Context.Append(nil)) {
		return environ
	}
	for i, e := range environ {
		if strings.HasPrefix(e, tracecontext.Parent+"=") {
			environ[i] = tracecontext.Parent + "=" + tracecontext.Format(&found.Context)
		}
	}
	return environ
}
