package dump

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// consumeBuffer is the size of the buffer for the data of one event; no stream keeps more.
const consumeBuffer = 256 << 10

// consumedStream is an active stream without a log, from which each event that is read disappears.
type consumedStream struct {
	active
	out    *sink
	buf    []byte
	one    single
	known  posixtrace.Status // if it is followed: the last one
	sought time.Time         // when poll looked for an event
	reread time.Time         // earliest time to read the mappings again
}

func newConsumedStream(common active, out *sink) *consumedStream {
	return &consumedStream{active: common, out: out, buf: make([]byte, consumeBuffer)}
}

func (s *consumedStream) read(ctx context.Context) ([]posixtrace.Record, error) {
	ev, n, err := s.stream.TryNext(s.buf)
	for errors.Is(err, posixtrace.ErrUnavailable) {
		if !s.follow {
			return nil, io.EOF
		}
		wait, cancel := ctx, context.CancelFunc(func() {})
		if s.out.flush() {
			wait, cancel = context.WithTimeout(ctx, output.FlushAgain)
		}
		s.status()
		ev, n, err = s.stream.Next(wait, s.buf)
		cancel()
		if err != nil && wait.Err() != nil && ctx.Err() == nil {
			ev, n, err = s.stream.TryNext(s.buf)
		}
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, errTimeout
	case s.follow && s.gone():
		return nil, io.EOF
	default:
		return nil, err
	}
	s.keep(ev, n)
	return s.one[:], nil
}

func (s *consumedStream) poll() (*posixtrace.Record, error) {
	s.sought = time.Now()
	ev, n, err := s.stream.TryNext(s.buf)
	switch {
	case err == nil:
		s.sought = time.Now() // the event may be younger than the call
		return s.keep(ev, n), nil
	case errors.Is(err, posixtrace.ErrUnavailable):
		s.status()
		return nil, errNothing
	case s.gone():
		return nil, io.EOF
	}
	return nil, err
}

func (s *consumedStream) asOf() time.Time { return s.sought }

// keep returns an event of n bytes of data in the buffer.
func (s *consumedStream) keep(ev posixtrace.EventInfo, n int) *posixtrace.Record {
	s.one[0] = posixtrace.Record{EventInfo: ev, Data: s.buf[:n]}
	return &s.one[0]
}

func (s *consumedStream) eventName(id posixtrace.EventID) string {
	name, _ := s.stream.EventName(id)
	return name
}

func (s *consumedStream) readTypes() ([]posixtrace.EventType, error) { return s.eventTypes() }

// status returns the last known status if a followed stream has ended.
func (s *consumedStream) status() (posixtrace.Status, error) {
	st, err := s.stream.PeekStatus()
	if err == nil {
		s.known = st
	} else if s.follow {
		return s.known, nil
	}
	return st, err
}

func (s *consumedStream) close() {
	s.stopSpool()
	s.stream.Close()
}
