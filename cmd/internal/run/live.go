package run

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/eventset"
	"github.com/posixtrace/posixtrace/cmd/internal/logfile"
	"github.com/posixtrace/posixtrace/cmd/internal/output"
	"github.com/posixtrace/posixtrace/cmd/internal/position"
	"github.com/posixtrace/posixtrace/cmd/internal/tracer"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// livePlan is what --live asks for.
type livePlan struct {
	on   bool
	file string // "" for standard error
}

const (
	// liveSize is the size of the stream with --live. What is overwritten before it was shown is
	// not shown.
	liveSize = 8 << 20
	// liveEvery is the pause between two looks at the stream, livePart the part of the time that
	// looking at it may take.
	liveEvery = 25 * time.Millisecond
	livePart  = 4
	// liveLate is how late an event may appear.
	liveLate = 500 * time.Millisecond
)

// shows are the options that say how a recording is shown. Without one, --pid shows events as
// they happen.
var shows = []string{"log", "dump", "last", "summary", "report"}

// setLive reads --live.
func (p *runPlan) setLive(args *cli.Args) error {
	v, ok := args.Lookup("live")
	if !ok && (!args.Has("pid") || slices.ContainsFunc(shows, args.Has)) {
		return nil
	}
	p.live = livePlan{on: true, file: v}
	if v != "" && p.log != "" && filepath.Clean(v) == filepath.Clean(p.log) {
		return cli.Usagef("--live and --log name the same file")
	}
	if !args.Has("dump") {
		p.dump = "never"
	}
	if !args.Has("stream-size") {
		p.attr.StreamSize = liveSize
	}
	return nil
}

// live shows the events of a session while its command runs. It reads snapshots of the stream and
// consumes nothing, so the command never waits for it.
type live struct {
	s      *session
	fd     int
	file   *os.File // of --live=FILE
	reader *posixtrace.Reader
	src    *output.Source
	form   *output.Strace
	seen   position.Position
	count  uint64 // events seen
	calls  waiting
	first  int  // the first thread with an event
	many   bool // several threads have had events
	buf    []byte
	err    error // of a write
	stop   chan struct{}
	done   chan struct{}
}

// openLive opens the file of --live.
func (s *session) openLive() error {
	if !s.plan.live.on {
		return nil
	}
	l := &live{s: s, fd: 2, stop: make(chan struct{}), done: make(chan struct{})}
	if name := s.plan.live.file; name != "" {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			return cli.Failure(name, logfile.Bare(err))
		}
		l.file, l.fd = f, int(f.Fd())
	}
	s.live = l
	return nil
}

// startLive starts to show the events.
func (s *session) startLive() {
	l := s.live
	if l == nil {
		return
	}
	err := l.calls.init(s)
	if err == nil {
		l.reader, err = s.stream.Reader()
	}
	if err != nil {
		s.env.Note("--live shows no events: " + cli.Reason(err))
		s.live = nil
		return
	}
	l.src = output.NewSource(func(id posixtrace.EventID) string { return l.reader.EventName(id) })
	l.form = &output.Strace{StraceLines: output.StraceLines{
		Text: &output.Text{Style: output.NoTime}, StringSize: 32,
		Shape: func(call string) output.CallShape { return output.CallShape(tracer.ShapeOf(call)) },
	}}
	if l.file == nil {
		l.form.Prefix = l.prefix
		if p := s.env.ErrColors(); p.On {
			paint := func(on, off string) output.Paint { return output.Paint{On: on, Off: off} }
			l.form.Text.Paints = &output.Paints{
				System: paint(cli.Around(p.System)), User: paint(cli.Around(p.User)),
				Stderr: paint(cli.Around(p.Stderr)), Failure: paint(cli.Around(p.Failure)),
			}
		}
	}
	l.seen.Window = liveLate
	go l.run()
}

// stopLive shows the last events, and reports how many were not shown.
func (s *session) stopLive() {
	l := s.live
	if l == nil {
		return
	}
	close(l.stop)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		<-l.done
		l.look(true)
	}()
	select {
	case <-finished:
	case <-s.hurry:
		select {
		case <-finished:
		case <-time.After(logfile.Grace):
			if l.file != nil {
				s.env.Note(s.plan.live.file + ": its reader does not read; the last events are not shown")
			}
			return
		}
	}
	l.reportMissed()
	l.reader.Close()
	l.calls.rec.Close()
	if l.file != nil {
		if err := l.file.Close(); l.err == nil {
			l.err = err
		}
		if l.err != nil && l.err != unix.EPIPE {
			s.env.Note(s.plan.live.file + ": " + cli.Reason(l.err))
		}
	}
}

func (l *live) run() {
	defer close(l.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-timer.C:
		}
		start := time.Now()
		if !l.look(false) {
			return
		}
		timer.Reset(max(liveEvery, livePart*time.Since(start)))
	}
}

// look shows the events that are new in the stream. It returns false if no more can be shown.
func (l *live) look(last bool) bool {
	if l.err != nil {
		return false
	}
	var since time.Time
	if l.seen.Started {
		since = time.Unix(0, l.seen.Floor)
	}
	if l.reader.Renew(since) != nil {
		return false // the stream was shut down
	}
	l.seen.Again()
	var b posixtrace.Batch
	for {
		err := l.reader.NextBatch(&b)
		if err == io.EOF {
			break
		}
		if err != nil {
			return false
		}
		for i := range b.Records {
			if rec := &b.Records[i]; !l.seen.Passed(rec) {
				l.seen.Advance(rec)
				l.take(rec)
			}
		}
	}
	if last {
		l.buf = l.form.End(l.buf)
	} else {
		l.buf = l.form.Flush(l.buf)
		l.showWaiting()
	}
	l.write()
	return l.err == nil
}

// take shows an event.
func (l *live) take(rec *posixtrace.Record) {
	if rec.ID == posixtrace.EventOverflow || rec.ID == posixtrace.EventResume {
		return // of the stream, not of this reader
	}
	l.count++
	if l.traced(rec) {
		l.calls.moved(rec)
		if l.first == 0 {
			l.first = rec.TID
		}
		l.many = l.many || l.first != rec.TID
	}
	if !l.hides(rec.ID) {
		if l.buf = l.form.Append(l.buf, l.src, rec); len(l.buf) >= 1<<16 {
			l.write()
		}
	}
}

// traced reports whether an event is one of a traced process, and not of ptrace-run or its tracer.
func (l *live) traced(rec *posixtrace.Record) bool {
	switch rec.ID {
	case posixtrace.EventProcFork, posixtrace.EventProcExec, posixtrace.EventProcExit, posixtrace.EventProcSignal:
		return true
	}
	return rec.ID.User() || strings.HasPrefix(l.src.Name(rec.ID), tracer.Prefix)
}

// hides reports whether events of a type are not shown: those of the stream itself, the mappings of
// processes, and output that goes to the same place anyway.
func (l *live) hides(id posixtrace.EventID) bool {
	switch id {
	case posixtrace.EventStart, posixtrace.EventStop, posixtrace.EventProcMap:
		return true
	case posixtrace.EventOutputStdout, posixtrace.EventOutputStderr:
		return l.file == nil
	}
	return eventset.IsFlushMark(id)
}

// prefix appends the thread to a line if several threads have had events, as strace does.
func (l *live) prefix(b []byte, tid int) []byte {
	if !l.many {
		return b
	}
	return append(strconv.AppendInt(append(b, "[pid "...), int64(tid), 10), "] "...)
}

// showWaiting shows the calls that threads have been in for a while.
func (l *live) showWaiting() {
	for _, c := range l.calls.find(time.Now()) {
		if c.tid != l.first && l.first != 0 {
			l.many = true
		}
		l.buf = l.form.AppendEntered(l.buf, c.tid, c.name, c.args, c.more)
	}
}

// write writes what is formatted. An error, such as a closed pipe, ends the showing and leaves the
// command alone: os.File would end this process with SIGPIPE.
func (l *live) write() {
	b := l.buf
	if l.file == nil && l.s.term != nil && l.s.term.isRaw() {
		b = bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
	}
	for len(b) > 0 && l.err == nil {
		n, err := unix.Write(l.fd, b)
		switch err {
		case nil:
			b = b[n:]
		case unix.EINTR:
		case unix.EAGAIN:
			unix.Poll([]unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLOUT}}, -1)
		default:
			l.err = err
		}
	}
	l.buf = l.buf[:0]
}

// reportMissed reports the events that were overwritten before they were shown. Those of a stream
// with a log are in the log.
func (l *live) reportMissed() {
	st, err := l.s.stream.PeekStatus()
	if err != nil || st.Lost == 0 || l.s.plan.log != "" || l.err != nil {
		return
	}
	r, err := l.s.stream.Reader()
	if err != nil {
		return
	}
	defer r.Close()
	var c posixtrace.Counts
	for err == nil {
		err = r.Count(&c)
	}
	total := st.Lost
	for t := range c.Types() {
		if t.ID != posixtrace.EventOverflow && t.ID != posixtrace.EventResume {
			total += t.Events
		}
	}
	if err == io.EOF && total > l.count {
		l.s.env.NoteHint("--live did not show "+cli.Plural(total-l.count, "event", "events")+", recorded faster than written",
			"select fewer with -e, or record all with -o")
	}
}
