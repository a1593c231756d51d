package run

import (
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
)

// terminates reports whether a signal asks a process to terminate.
func terminates(sig os.Signal) bool {
	return sig == syscall.SIGTERM || sig == syscall.SIGINT || sig == syscall.SIGHUP || sig == syscall.SIGQUIT
}

// boundLog bounds, once the command has ended, how long a log or --live that nothing reads can block
// ptrace-run: until the command's time limit, or a signal to terminate.
func (s *session) boundLog(end time.Time, terminated bool) {
	if s.plan.log == "" && s.live == nil {
		return
	}
	var once sync.Once
	s.hurry = make(chan struct{})
	giveUp := func() {
		once.Do(func() { close(s.hurry) })
		if s.plan.log != "" {
			s.stream.SetLogTimeout(logfile.Grace)
		}
	}
	if terminated || s.plan.limit.timedOut {
		giveUp()
		return
	}
	if s.plan.limit.enabled() {
		time.AfterFunc(time.Until(end), giveUp)
	}
	go func() {
		for sig := range s.signals.C {
			if terminates(sig) {
				giveUp()
			}
		}
	}()
}

// finish completes the log, or shows the last events if there is none, and reports whether
// any event was lost. It reports errors in a message; they do not affect the command's status.
func (s *session) finish(failed bool) (lost bool) {
	s.closeSpool()
	s.endTracer()
	s.stopLive()
	s.countRedacted()
	s.rec.Close()
	if s.plan.log == "" {
		s.showStream(failed)
	}
	st, err := s.stream.PeekStatus()
	if e := s.stream.Shutdown(); e != nil {
		err = e
	} else if err == nil && st.StreamFlushError != 0 {
		err = st.StreamFlushError
	}
	if errors.Is(err, syscall.EINVAL) {
		err = nil // another process has shut the stream down
	}
	missed, why := st.Missed, st.MissedError
	if s.plan.log != "" {
		st = s.showLog(st, failed)
	}
	var faults []string
	if err != nil {
		faults = append(faults, cli.AsFault(logfile.Fault(s.plan.log, err)).Text)
	}
	if n := st.Lost + st.LogLost; n > 0 && (err != nil || s.plan.reportsLoss()) {
		faults = append(faults, cli.Plural(n, "event was", "events were")+" lost")
	}
	if missed > 0 {
		faults = append(faults, cli.Plural(missed, "process", "processes")+" could not connect to the stream: "+output.MissedText(why))
	}
	if faults != nil {
		s.env.Note(strings.Join(faults, "; "))
	}
	return err != nil || st.Lost+st.LogLost > 0
}
