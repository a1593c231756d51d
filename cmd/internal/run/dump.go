package run

import (
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// showStream prints the last events and the summary of a stream without a log to standard
// error, as the options ask for. It must run before the stream is shut down.
func (s *session) showStream(failed bool) {
	dump := s.plan.last > 0 && (s.plan.dump == "always" || s.plan.dump == "fail" && failed)
	if !dump && !s.plan.summary && s.plan.report == "" && !s.explains(failed) && s.plan.declared == nil {
		return
	}
	r, err := s.stream.Reader()
	if err == nil {
		defer r.Close()
		if dump {
			err = s.dumpLast(r)
		}
	}
	st, e := s.stream.PeekStatus()
	if err == nil && s.plan.summary {
		if dump {
			err = r.Rewind()
		}
		if err == nil && e == nil {
			err = s.summarise(r, st.Lost)
		}
	}
	if err == nil && s.plan.report != "" {
		if err = r.Rewind(); err == nil {
			s.writeReport(r, st.Lost)
		}
	}
	if err == nil && s.explains(failed) {
		if err = r.Rewind(); err == nil {
			s.explain(r, st.Lost)
		}
	}
	if err == nil && s.plan.declared != nil {
		if err = r.Rewind(); err == nil {
			s.checkDeclared(r, st.Lost)
		}
	}
	if err != nil {
		s.outside = s.plan.declared != nil
		s.env.Note("cannot show the events: " + cli.Reason(err))
	}
}

// showLog returns the status of the stream from the completed log, or st if the log cannot
// be read again, and prints the summary and the answer of --why if asked for.
func (s *session) showLog(st posixtrace.Status, failed bool) posixtrace.Status {
	f, err := logfile.OpenRegular(s.plan.log)
	if err == logfile.ErrNotRegular || os.IsNotExist(err) {
		if s.plan.report != "" {
			s.noReport(s.plan.log, err)
		}
		if s.explains(failed) {
			s.env.Note("cannot say why: " + cli.AsFault(cli.Failure(s.plan.log, logfile.Bare(err))).Text)
		}
		s.unchecked(err)
		return st
	}
	if err == nil {
		defer f.Close()
		var r *posixtrace.Reader
		if r, err = posixtrace.NewReader(f); err == nil {
			defer r.Close()
			if state, _ := r.State(); state == posixtrace.LogFinished {
				st = r.Status()
			}
			if s.plan.summary {
				err = s.summarise(r, st.Lost+st.LogLost)
			}
			if s.plan.report != "" && r.Rewind() == nil {
				s.writeReport(r, st.Lost+st.LogLost)
			}
			if s.explains(failed) {
				if e := r.Rewind(); e == nil {
					s.explain(r, st.Lost+st.LogLost)
				}
			}
			if s.plan.declared != nil {
				if e := r.Rewind(); e != nil {
					s.unchecked(e)
				} else {
					s.checkDeclared(r, st.Lost+st.LogLost)
				}
			}
		}
		if r == nil {
			s.unchecked(err)
		}
	} else {
		s.unchecked(err)
	}
	if err != nil && s.plan.summary {
		s.env.Note("no summary: " + cli.Reason(err))
	} else if err != nil && s.plan.report != "" {
		s.noReport(s.plan.log, err)
	} else if err != nil && s.explains(failed) {
		s.env.Note("cannot say why: " + cli.Reason(err))
	}
	return st
}

// summarise prints where the time went, as ptrace-dump -s does.
func (s *session) summarise(r *posixtrace.Reader, lost uint64) error {
	o := &summary.Options{Top: summary.Screen}
	o.Width, o.Height = s.env.Size(s.env.Stderr)
	o.Red = cli.Sequence(s.env.ErrColors().Failure)
	a := summary.New(o)
	if err := addEvents(a.NewSource(r.EventName), r); err != nil {
		return err
	}
	a.Finish()
	_, err := s.env.Stderr.Write(summary.Append(nil, a, lost, o))
	return err
}

// addEvents adds the events of a log or stream to an analysis, without marks of the trace system.
func addEvents(src *analysis.Source, r *posixtrace.Reader) error {
	var b posixtrace.Batch
	for {
		err := r.NextBatch(&b)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		src.Add(slices.DeleteFunc(b.Records, func(rec posixtrace.Record) bool { return selection.IsUnasked(rec.ID) }))
	}
}

// dumpLast prints the last events, in one write.
func (s *session) dumpLast(r *posixtrace.Reader) error {
	var last []posixtrace.Record // becomes a ring when it is full
	var base int64
	n := 0
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if selection.IsUnasked(rec.ID) || rec.ID == posixtrace.EventHangThread && s.hangs.shown.Load() {
			continue
		}
		if n == 0 {
			base = rec.UnixNano
		}
		if len(last) < s.plan.last {
			last = append(last, posixtrace.Record{})
		}
		slot := &last[n%s.plan.last]
		slot.EventInfo = rec.EventInfo
		slot.Data = append(slot.Data[:0], rec.Data...)
		n++
	}
	if n == 0 {
		return nil
	}
	b := []byte(s.env.Prog + ": last " + strconv.Itoa(len(last)) + " of " + cli.Plural(uint64(n), "event", "events") + ":\n")
	form := &output.Text{Base: base}
	src := output.NewSource(r.EventName)
	for i := range last {
		at := i
		if n > len(last) {
			at = (n + i) % len(last)
		}
		b = form.Append(b, src, &last[at])
	}
	_, err := s.env.Stderr.Write(cli.Harmless(b))
	return err
}
