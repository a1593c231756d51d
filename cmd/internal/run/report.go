package run

import (
	"os"
	"path/filepath"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/report"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// writeReport writes the page of --report. A failure is a message: the command's status stays.
func (s *session) writeReport(r *posixtrace.Reader, lost uint64) {
	b := report.NewBuilder()
	facts := report.Facts{Name: r.Attr().Name, State: "the last events, without a log", Lost: lost}
	if s.plan.log != "" {
		state, _ := r.State()
		facts.Name, facts.State = filepath.Base(s.plan.log), state.String()
	}
	err := b.NewSource(r.EventName).Read(r)
	if unsound := logfile.Soundness(facts.Name, r); unsound != nil {
		facts.Warnings = append(facts.Warnings, cli.AsFault(unsound).Text)
	} else if err != nil {
		facts.Warnings = append(facts.Warnings, cli.AsFault(cli.Failure(facts.Name, err)).Text)
	}
	err = logfile.Replace(s.plan.report, 0o666, func(f *os.File) error {
		return report.Write(f, []*report.Run{b.Finish(facts)}, &report.Options{})
	})
	if err != nil {
		s.noReport(s.plan.report, err)
	}
}

// noReport reports why there is no page.
func (s *session) noReport(path string, err error) {
	if path == "" {
		s.env.Note("no report: " + cli.Reason(err))
		return
	}
	s.env.Note("no report: " + cli.AsFault(cli.Failure(path, logfile.Bare(err))).Text)
}
