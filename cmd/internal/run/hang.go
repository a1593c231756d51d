package run

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/cmd/internal/record/hang"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

const (
	// lookWait bounds how long a look at the threads of the command delays a signal to it.
	lookWait = 500 * time.Millisecond
	// lookFor is the time after which a look finishes with what it has.
	lookFor = 400 * time.Millisecond
	// mostLookLines bounds the lines of a report on standard error.
	mostLookLines = 40
	// nameTime bounds the search for names of functions, which begins when the signal has been passed on:
	// the files of the programs may be large.
	nameTime = time.Second
)

var look = hang.Look // the test has a slow one

// hangs are the looks of a session at the threads of its command.
type hangs struct {
	reports  atomic.Int32
	signaled atomic.Bool   // a signal had a report: what follows does not wait for another one
	shown    atomic.Bool   // a report is on standard error
	ended    chan struct{} // closed when the command has ended

	last atomic.Pointer[hang.Report]

	mu     sync.Mutex
	naming []chan struct{} // closed when a report is complete of which the look is over
}

// await waits for the reports of which the look is over.
func (h *hangs) await() {
	h.mu.Lock()
	defer h.mu.Unlock()
	late := time.After(2 * nameTime)
	for _, reported := range h.naming {
		select {
		case <-reported:
		case <-late:
			return
		}
	}
}

// reportHang reports what the threads of the command do: as events, and without a log on standard error. It
// returns after lookWait at the latest; a look that has not ended by then is given up, and the log says so, or
// if only stacks lack, is reported without. Names of functions are found later, see await. Neither is an idle
// command reported of which a thread runs after all, or waits for a processor. Of these, reportHang returns
// false. A command that ends during the look, as by a signal to its whole process group, waits for nothing any
// more: there is no report.
func (s *session) reportHang(cause posixtrace.HangCause, sig syscall.Signal) bool {
	if s.child == nil || !s.child.Alive() {
		return true
	}
	at := time.Now()
	var early atomic.Pointer[hang.Report]
	options := hang.Options{Within: lookFor, Stack: s.plan.stack, Early: early.Store, Until: at.Add(lookFor), Last: s.hangs.last.Load()}
	if cause == posixtrace.HangIdle { // nothing waits for it
		options.Within = 0
	}
	looked := make(chan *hang.Report, 1)
	go func() { looked <- look([]int{s.child.PID}, options) }()
	late := time.After(lookWait)
	var r *hang.Report
	select {
	case r = <-looked:
	case <-s.hangs.ended:
		return true
	case <-late:
		if r = early.Load(); r != nil {
			r.Notes = append(r.Notes, "not seen: stacks in "+lookWait.String())
			break
		}
		if cause != posixtrace.HangIdle { // else it is looked at again
			s.recordNoLook(hang.GivenUp(lookWait), cause, sig, at)
			if s.showsHang() {
				go s.say([]byte(s.env.Prog + ": " + s.whyHang(cause, sig, at) + ": what it waits for could not be seen in " + lookWait.String() + "\n"))
			}
		}
		return false
	}
	if r == nil || len(r.Threads) == 0 {
		s.recordNoLook("the look failed: no thread was seen", cause, sig, at)
		return true
	}
	if cause == posixtrace.HangIdle && slices.ContainsFunc(r.Threads, func(t hang.Thread) bool { return t.Kind == hang.Busy || t.State == 'R' }) {
		return false
	}
	for i := range r.Threads { // the clock of a wait that no tracer measures may be wrong by a second
		r.Threads[i].Since = min(r.Threads[i].Since, at.Sub(s.from))
	}
	s.hangs.last.Store(r)
	reported := make(chan struct{})
	wait := time.After(time.Until(at.Add(lookWait)))
	if r.Unnamed() {
		s.hangs.mu.Lock()
		s.hangs.naming = append(s.hangs.naming, reported)
		s.hangs.mu.Unlock()
		wait = time.After(0)
	}
	go func() {
		defer close(reported)
		r.Name(time.Now().Add(nameTime))
		list := s.hangData(r, cause, sig, int(s.hangs.reports.Add(1)))
		s.recordHang(r, list, at)
		s.showHang(r, cause, sig, at)
	}()
	select {
	case <-reported:
	case <-wait:
	}
	return true
}

// recordNoLook records why there is no report, as an event of the command.
func (s *session) recordNoLook(note string, cause posixtrace.HangCause, sig syscall.Signal, at time.Time) {
	if !s.recordsHang() || !s.child.Alive() { // in which case there was nothing to see
		return
	}
	t := hang.Thread{PID: s.child.PID, TID: s.child.PID, Program: filepath.Base(s.plan.argv[0]), Args: s.plan.argv, Kind: hang.Runs, Since: -1, Note: note}
	r := &hang.Report{Threads: []hang.Thread{t}}
	s.recordHang(r, s.hangData(r, cause, sig, int(s.hangs.reports.Add(1))), at)
}

// hangData returns the data of the threads, and replaces the secrets in it and in the report.
func (s *session) hangData(r *hang.Report, cause posixtrace.HangCause, sig syscall.Signal, number int) []posixtrace.HangData {
	f := s.plan.redact.NewFilter(func(posixtrace.EventID) string { return "" })
	list := make([]posixtrace.HangData, len(r.Threads))
	for i := range r.Threads {
		t := &r.Threads[i]
		d := t.Data()
		d.Cause, d.Signal, d.Report = cause, int(sig), number
		if f != nil && f.Hang(&d, redact.Ends) {
			t.Program, t.Args, t.Call, t.Wait, t.For, t.Stack, t.Note = d.Program, d.Args, d.Call, d.Wait, d.For, d.Stack, d.Note
		}
		list[i] = d
	}
	if f != nil {
		for i, note := range r.Notes {
			r.Notes[i] = f.String(note)
		}
		s.redacted.Add(f.Count)
	}
	return list
}

// recordsHang reports whether there are events of what threads do.
func (s *session) recordsHang() bool { return s.plan.command || s.tracer != nil }

// recordHang records an event for each thread.
func (s *session) recordHang(r *hang.Report, list []posixtrace.HangData, at time.Time) {
	if !s.recordsHang() {
		return
	}
	rec, err := s.stream.Recorder() // s.rec is that of another goroutine
	if err != nil {
		return
	}
	defer rec.Close()
	for i := range list {
		t := &r.Threads[i]
		rec.Record(posixtrace.EventInfo{ID: posixtrace.EventHangThread, PID: t.PID, TID: t.TID, UnixNano: at.UnixNano()}, list[i].Append(nil))
	}
}

// showHang writes a report to standard error: without a log all of it, and else the line that tells most, if
// --hang asked for it.
func (s *session) showHang(r *hang.Report, cause posixtrace.HangCause, sig syscall.Signal, at time.Time) {
	why := s.whyHang(cause, sig, at)
	switch {
	case s.plan.log != "" && cause == posixtrace.HangIdle:
		s.say([]byte(s.env.Prog + ": " + why + ": " + r.Headline() + "\n"))
	case s.showsHang():
		s.hangs.shown.Store(true)
		s.say(r.AppendText([]byte(s.env.Prog+": "+why+":\n"), mostLookLines-1))
	}
}

// showsHang reports whether reports are on standard error.
func (s *session) showsHang() bool { return s.plan.log == "" && s.plan.dump != "never" }

// whyHang returns in words why the command is looked at.
func (s *session) whyHang(cause posixtrace.HangCause, sig syscall.Signal, at time.Time) string {
	switch cause {
	case posixtrace.HangTimeout:
		return summary.TimedOut(int64(s.plan.limit.limit))
	case posixtrace.HangIdle:
		return "idle for " + s.plan.hang.String()
	}
	return unix.SignalName(sig) + " after " + summary.Duration(int64(at.Sub(s.from)))
}

// say writes lines to standard error while the command runs, in one write. An error, such as a closed pipe,
// leaves the command alone: os.File would end this process with SIGPIPE.
func (s *session) say(lines []byte) {
	lines = cli.Harmless(lines)
	if s.term != nil && s.term.isRaw() {
		lines = bytes.ReplaceAll(lines, []byte("\n"), []byte("\r\n"))
	}
	if s.env.Stderr == os.Stderr {
		unix.Write(2, lines)
		return
	}
	s.env.Stderr.Write(lines)
}

// passSignal passes a signal on to the command. Before the first one that asks it to end, it reports what the
// command does: a CI system that cancels a job sends INT or TERM first, and kills seconds later.
func (s *session) passSignal(sig syscall.Signal) {
	if terminates(sig) && s.hangs.signaled.CompareAndSwap(false, true) {
		s.reportHang(posixtrace.HangSignal, sig)
	}
	s.plan.limit.send(sig)
}
