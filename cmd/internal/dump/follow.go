package dump

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

var (
	errTimeout = errors.New("timed out")
	errNothing = errors.New("no event now")
)

// A reader shows a snapshot of the stream. Taking the next one must not use more than a
// small share of the time.
const (
	snapshotEvery = 50 * time.Millisecond
	snapshotShare = 8
)

// poll returns the next event of a followed input, errNothing if there is none now, and
// io.EOF if there will be no more. The record is valid until the next call.
func (in *input) poll() (*posixtrace.Record, error) {
	switch {
	case in.reader == nil:
		return in.pollConsuming()
	case in.open == nil:
		return in.pollPipe()
	}
	for {
		rec, err := in.reader.Next()
		if err == nil {
			if in.tail.Passed(rec) {
				continue
			}
			in.tail.Advance(rec)
			in.redact.Record(rec)
			return rec, nil
		}
		if err != io.EOF {
			return nil, err
		}
		if state, _ := in.reader.State(); state != posixtrace.LogLive {
			return nil, io.EOF
		}
		now := time.Now()
		if now.Before(in.nextSnapshot) {
			return nil, errNothing
		}
		var since time.Time
		if in.tail.Started && in.tail.Floor > in.since {
			since = time.Unix(0, in.tail.Floor)
		}
		if err := in.reader.Renew(since); err != nil {
			if in.stream != nil && in.gone() {
				return nil, io.EOF
			}
			return nil, err
		}
		in.tail.Again()
		in.snapshotAt = now
		in.nextSnapshot = time.Now().Add(max(snapshotEvery, snapshotShare*time.Since(now)))
	}
}

func (in *input) pollConsuming() (*posixtrace.Record, error) {
	in.snapshotAt = time.Now()
	ev, n, err := in.stream.TryNext(in.buf)
	switch {
	case err == nil:
		return in.consumed(ev, n), nil
	case errors.Is(err, posixtrace.ErrUnavailable):
		in.status()
		return nil, errNothing
	case in.gone():
		return nil, io.EOF
	}
	return nil, err
}

// nextFollowed waits for the next event of a single input.
func (in *input) nextFollowed(ctx context.Context) (*posixtrace.Record, error) {
	if in.open == nil {
		return in.nextPiped(ctx)
	}
	for {
		rec, err := in.poll()
		if err != errNothing {
			return rec, err
		}
		in.out.flush()
		if !pause(ctx, time.Until(in.nextSnapshot)) {
			return nil, errTimeout
		}
	}
}

// pause waits for d. It returns false if ctx is done first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// maxHold bounds how long an event waits for older events of other inputs.
const maxHold = time.Second

// nextFollowed returns the next event of several followed inputs. It reports an event when
// no other input can have an older one: the latest snapshot of each is newer than the
// event, or than the snapshot with the event.
func (m *merge) nextFollowed(ctx context.Context) (*input, *posixtrace.Record, error) {
	if m.latest >= 0 {
		m.heads[m.latest] = nil
	}
	for {
		open := false
		for i, in := range m.inputs {
			if m.heads[i] != nil || m.ended[i] {
				open = open || !m.ended[i]
				continue
			}
			rec, err := in.poll()
			switch {
			case err == nil:
				m.heads[i], m.since[i] = rec, time.Now()
			case err != errNothing:
				m.ended[i] = true
				if err != io.EOF {
					m.env.Warn(cli.Failure(in.name, err))
				}
				continue
			}
			open = true
		}
		i := m.earliest()
		m.latest = i
		if i < 0 && !open {
			return nil, nil, io.EOF
		}
		late := ctx.Err() != nil // still show the events read so far
		if i >= 0 && (late || m.settled(i)) {
			return m.inputs[i], m.heads[i], nil
		}
		if late {
			return nil, nil, errTimeout
		}
		m.inputs[0].out.flush()
		pause(ctx, snapshotEvery/4)
	}
}

// settled reports whether no input can still have an event older than the head of input i.
func (m *merge) settled(i int) bool {
	if time.Since(m.since[i]) > maxHold {
		return true
	}
	from := m.inputs[i].snapshotAt
	if m.inputs[i].reader == nil {
		from = m.since[i]
	}
	for k, in := range m.inputs {
		if m.heads[k] == nil && !m.ended[k] && in.snapshotAt.Before(from) && in.snapshotAt.UnixNano() <= m.heads[i].UnixNano {
			return false
		}
	}
	return true
}
