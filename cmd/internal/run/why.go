package run

import (
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// explains reports whether --why prints why the command failed, or hung (--hang).
func (s *session) explains(failed bool) bool {
	return s.plan.why > 0 && (failed || s.hangs.reports.Load() > 0)
}

// explain prints why the command failed, as ptrace-dump --why does, in one write. The answer says what it
// lacks of a log that cannot be read to its end.
func (s *session) explain(r *posixtrace.Reader, lost uint64) {
	w := summary.NewWhy()
	o := &summary.WhyOptions{Lines: s.plan.why, End: s.end}
	o.Width, _ = s.env.Size(s.env.Stderr)
	name := r.Attr().Name
	if s.plan.log != "" {
		name = s.plan.redact.String(s.plan.log)
		o.Logs = []string{name}
	}
	err := addEvents(w.NewSource(r.EventName), r)
	if unsound := logfile.Soundness(name, r); unsound != nil {
		err = unsound
	} else if err != nil {
		err = cli.Failure(name, err)
	}
	if err != nil {
		o.Unsound = append(o.Unsound, cli.AsFault(err).Text)
	}
	s.env.Stderr.Write(cli.Harmless(w.Append(nil, lost, o)))
}
