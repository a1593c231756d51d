package run

import (
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/cmd/internal/read/symbols"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

const (
	// liveEvery is the pause between two looks at the stream, livePart the part of the time that
	// looking at it may take.
	liveEvery = 25 * time.Millisecond
	livePart  = 4
	// liveLate is how late an event may appear.
	liveLate = 500 * time.Millisecond
)

// live shows the events of a session while its command runs. It reads snapshots of the stream and
// consumes nothing, so the command never waits for it.
type live struct {
	s      *session
	fd     int
	file   *os.File // of --live=FILE
	reader *posixtrace.Reader
	src    *output.Source
	form   *output.Strace
	spaces *symbols.Spaces // with --stack
	seen   selection.Position
	count  uint64 // events seen
	calls  waiting
	first  int  // the first thread with an event
	many   bool // several threads have had events
	buf    []byte
	err    error // of a write
	stop   chan struct{}
	done   chan struct{}
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
		Shape: func(call string) output.CallShape { return output.CallShape(tracer.ShapeOf(call)) }, Result: tracer.ResultText,
	}}
	if s.plan.trace.Stack {
		l.spaces = symbols.NewSpaces(symbols.NewTable())
		l.src.SetFrames(l.spaces.Name)
	}
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
