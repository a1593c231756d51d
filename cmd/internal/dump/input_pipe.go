package dump

import (
	"context"
	"io"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// pipeDelay is how long an event may be on its way through a pipe while those of
// other inputs wait for it.
const pipeDelay = 200 * time.Millisecond

// pollPipe looks at a log that can only be read forward.
func (in *input) pollPipe() (*posixtrace.Record, error) {
	in.readOn()
	in.pictured = time.Now().Add(-pipeDelay)
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
	in.out.flush()
	select {
	case p, ok := <-in.pumped:
		return in.take(p, ok)
	case <-ctx.Done():
		return nil, errTimeout
	}
}

// readOn lets the reading go on, which is a goroutine of its own: nobody knows
// how long it waits.
func (in *input) readOn() {
	if in.pumped == nil {
		in.pipe.Flush = nil // it is ours to flush
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
	return p.rec, p.err
}

// pumped is what a reading of its own hands over.
type pumped struct {
	rec *posixtrace.Record
	err error
}

// pump reads one event at a time, each after the one before was taken.
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
