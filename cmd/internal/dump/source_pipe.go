package dump

import (
	"context"
	"io"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// pipeDelay bounds how long other inputs wait for an event that is still in a pipe.
const pipeDelay = 200 * time.Millisecond

// pipeLog is a log that is in no regular file. It can be read once.
type pipeLog struct {
	log
	follow bool
	out    *sink
	batch  posixtrace.Batch

	// If it is followed:
	one     single
	sought  time.Time // when poll was called last, less pipeDelay
	pumped  chan pumped
	taken   chan struct{}
	holding bool // an event of pumped is in use
	ended   bool // no event follows
}

func (l *pipeLog) read(ctx context.Context) ([]posixtrace.Record, error) {
	if l.follow {
		return l.one.of(l.next(ctx))
	}
	return readBatch(l.Reader, &l.batch)
}

func (l *pipeLog) finish() error { return l.finishForward() }

func (l *pipeLog) eventTypes() ([]posixtrace.EventType, error) { return l.allTypes() }

func (l *pipeLog) soundness() error {
	if l.pumped != nil && !l.ended {
		return nil
	}
	return l.log.soundness()
}

func (l *pipeLog) asOf() time.Time { return l.sought }

func (l *pipeLog) poll() (*posixtrace.Record, error) {
	l.readOn()
	l.sought = time.Now().Add(-pipeDelay)
	select {
	case p, ok := <-l.pumped:
		return l.take(p, ok)
	default:
		return nil, errNothing
	}
}

// next waits for the next event.
func (l *pipeLog) next(ctx context.Context) (*posixtrace.Record, error) {
	rec, err := l.poll()
	if err != errNothing {
		return rec, err
	}
	for {
		var again <-chan time.Time
		if l.out.flush() {
			again = time.After(output.FlushAgain)
		}
		select {
		case p, ok := <-l.pumped:
			return l.take(p, ok)
		case <-ctx.Done():
			return nil, errTimeout
		case <-again:
		}
	}
}

// readOn lets the reading goroutine continue. Reading is a goroutine because it may block.
func (l *pipeLog) readOn() {
	if l.pumped == nil {
		l.Live.Flush = nil // this goroutine flushes from now on
		l.pumped = make(chan pumped)
		l.taken = make(chan struct{})
		go l.pump()
	}
	if l.holding {
		l.holding = false
		l.taken <- struct{}{}
	}
}

func (l *pipeLog) take(p pumped, ok bool) (*posixtrace.Record, error) {
	if !ok {
		return nil, io.EOF
	}
	l.holding, l.ended = p.err == nil, p.err != nil
	return p.rec, p.err
}

// pumped is the result of one read.
type pumped struct {
	rec *posixtrace.Record
	err error
}

// pump reads one event at a time. It waits until the previous event was taken.
func (l *pipeLog) pump() {
	for {
		rec, err := l.Reader.Next()
		l.pumped <- pumped{rec, err}
		if err != nil {
			close(l.pumped)
			return
		}
		<-l.taken
	}
}
