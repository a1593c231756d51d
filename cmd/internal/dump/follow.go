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
		m.out.flush()
		pause(ctx, snapshotEvery/4)
	}
}

// settled reports whether no input can still have an event older than the head of input i.
func (m *merge) settled(i int) bool {
	if time.Since(m.since[i]) > maxHold {
		return true
	}
	from := m.asOf(i)
	for k := range m.inputs {
		if m.heads[k] != nil || m.ended[k] {
			continue
		}
		if t := m.asOf(k); t.Before(from) && t.UnixNano() <= m.heads[i].UnixNano {
			return false
		}
	}
	return true
}

// asOf returns the time up to which input i is complete (followed.asOf).
func (m *merge) asOf(i int) time.Time { return m.inputs[i].source.(followed).asOf() }
