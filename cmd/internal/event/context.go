package event

import (
	"os"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/target"
	"github.com/posixtrace/posixtrace/cmd/internal/tracecontext"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// contextEnv returns the environment for the command of a span that starts now. If a valid trace
// context came in and a stream records it, the command gets that of the span. The first process of a
// stream that finds a malformed one reports it.
func contextEnv(env *cli.Env, t *target.Target) []string {
	environ := os.Environ()
	found := tracecontext.Find(env.Getenv)
	if found.Malformed != "" && t.New(tracecontext.EventMalformed) {
		t.Event(tracecontext.EventMalformed, []byte(found.Malformed))
		env.Note("ignored: malformed " + found.Malformed)
	}
	if t.Rewrite != nil {
		found.Context.State = string(t.Rewrite([]byte(found.Context.State)))
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
