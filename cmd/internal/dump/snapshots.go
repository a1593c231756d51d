package dump

import (
	"context"
	"io"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A reader shows a snapshot of the stream. Taking the next one must not use more than a
// small share of the time.
const (
	snapshotEvery = 50 * time.Millisecond
	snapshotShare = 8
)

// snapshots follows a log or a stream with one snapshot after the other.
type snapshots struct {
	shown   *posixtrace.Reader
	out     *sink
	gone    func() bool        // reports whether the stream was shut down
	tail    selection.Position // how far it was read
	takenAt time.Time          // when the reader took its snapshot
	due     time.Time          // earliest time of the next snapshot
	one     single
}

func newSnapshots(r *posixtrace.Reader, out *sink, gone func() bool) snapshots {
	return snapshots{shown: r, out: out, gone: gone, tail: selection.Position{Window: selection.Lateness}}
}

func (s *snapshots) asOf() time.Time { return s.takenAt }

func (s *snapshots) poll() (*posixtrace.Record, error) {
	for {
		rec, err := s.shown.Next()
		if err == nil {
			if s.tail.Passed(rec) {
				continue
			}
			s.tail.Advance(rec)
			return rec, nil
		}
		if err != io.EOF {
			return nil, err
		}
		if state, _ := s.shown.State(); state != posixtrace.LogLive {
			return nil, io.EOF
		}
		now := time.Now()
		if now.Before(s.due) {
			return nil, errNothing
		}
		var since time.Time
		if s.tail.Started {
			since = time.Unix(0, s.tail.Floor) // without effect if the selection begins later
		}
		if err := s.shown.Renew(since); err != nil {
			if s.gone() {
				return nil, io.EOF
			}
			return nil, err
		}
		s.tail.Again()
		s.takenAt = now
		s.due = nextSnapshot(now)
	}
}

// nextSnapshot returns the earliest time of the snapshot after one that was started at a time.
func nextSnapshot(started time.Time) time.Time {
	return time.Now().Add(max(snapshotEvery, snapshotShare*time.Since(started)))
}

// wait waits for the next event.
func (s *snapshots) wait(ctx context.Context) ([]posixtrace.Record, error) {
	for {
		rec, err := s.poll()
		if err != errNothing {
			return s.one.of(rec, err)
		}
		s.out.flush()
		if !pause(ctx, time.Until(s.due)) {
			return nil, errTimeout
		}
	}
}
