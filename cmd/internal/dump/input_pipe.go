package dump

import (
	"context"
	"io"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// pipeDelay bounds how long other inputs wait for an event that is still in a pipe.
const pipeDelay = 200 * time.Millisecond

// pollPipe returns the next event of a log that can only be read forward, or errNothing.
func (in *input) pollPipe() (*posixtrace.Record, error) {
	in.readOn()
	in.snapshotAt = time.Now().Add(-pipeDelay)
	select {
	case p, ok := <-in.pumped:
		return in.take(p, ok)
	default:
		return nil, errNothing
	}
}

// nextPiped waits for the next event of a log that can only be read forward.
func (in *input) nextPiped(ctx context.Context) (*posixtrace.Record, error) {
	rec, err := in.pollPipe()
	if err != errNothing {
		return rec, err
	}
	for {
		var again <-chan time.Time
		if in.out.flush() {
			again = time.After(output.FlushAgain)
		}
		select {
		case p, ok := <-in.pumped:
			return in.take(p, ok)
		case <-ctx.Done():
			return nil, errTimeout
		case <-again:
		}
	}
}

// readOn lets the reading goroutine continue. Reading is a goroutine because it may block.
func (in *input) readOn() {
	if in.pumped == nil {
		in.pipe.Flush = nil // this goroutine flushes from now on
		in.pumped = make(chan pumped)
		in.taken = make(chan struct{})
		go in.pump()
	}
	if in.holding {
		in.holding = false
		in.taken <- struct{}{}
	}
}

func (in *input) take(p pumped, ok bool) (*posixtrace.Record, error) {
	if !ok {
		return nil, io.EOF
	}
	in.holding, in.ended = p.err == nil, p.err != nil
	if p.err == nil {
		in.redact.Record(p.rec)
	}
	return p.rec, p.err
}

// pumped is the result of one read.
type pumped struct {
	rec *posixtrace.Record
	err error
}

// pump reads one event at a time. It waits until the previous event was taken.
func (in *input) pump() {
	for {
		rec, err := in.reader.Next()
		in.pumped <- pumped{rec, err}
		if err != nil {
			close(in.pumped)
			return
		}
		<-in.taken
	}
}
