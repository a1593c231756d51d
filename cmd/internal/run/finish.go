package run

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/logfile"
)

// asksForEnd reports whether a signal asks a process to end.
func asksForEnd(sig os.Signal) bool {
	return sig == syscall.SIGTERM || sig == syscall.SIGINT || sig == syscall.SIGHUP || sig == syscall.SIGQUIT
}

// boundLog sees, once the command has ended, that a log whose reader does not read keeps us no
// longer than the command's time, or than a signal that asks for the end.
func (s *session) boundLog(end time.Time, asked bool) {
	if s.plan.log == "" {
		return
	}
	giveUp := func() { s.stream.SetLogTimeout(logfile.Grace) }
	if asked || s.plan.limit.timedOut {
		giveUp()
		return
	}
	if s.plan.limit.enabled() {
		time.AfterFunc(time.Until(end), giveUp)
	}
	go func() {
		for sig := range s.signals.C {
			if asksForEnd(sig) {
				giveUp()
			}
		}
	}()
}

// finish completes the log, or shows the last events when there is none, and
// reports whether anything was lost on the way. What goes wrong here is told and
// leaves the command's status alone.
func (s *session) finish(failed bool) (lost bool) {
	s.closeSpool()
	s.endTracer()
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
		err = nil // somebody else has shut it down
	}
	missed, why := st.Missed, st.MissedError
	if s.plan.log != "" {
		st = s.showLog(st)
	}
	var faults []string
	if err != nil {
		faults = append(faults, cli.AsFault(logfile.Fault(s.plan.log, err)).Text)
	}
	if n := st.Lost + st.LogLost; n > 0 && (err != nil || s.plan.tellsLoss()) {
		faults = append(faults, cli.Plural(n, "event was", "events were")+" lost")
	}
	if missed > 0 {
		faults = append(faults, cli.Plural(missed, "process", "processes")+" could not connect to the stream: "+cli.Strerror(why))
	}
	if faults != nil {
		s.env.Note(strings.Join(faults, "; "))
	}
	return err != nil || st.Lost+st.LogLost > 0
}
