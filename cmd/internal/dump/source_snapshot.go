package dump

import (
	"context"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// snapshotStream is an active stream whose events stay in it, or are in its log, too.
type snapshotStream struct {
	active
	snapshots
	again func() (*posixtrace.Reader, error)
	batch posixtrace.Batch
}

// newSnapshotStream calls watch whenever it opens a reader of a stream with a log.
func newSnapshotStream(common active, info posixtrace.StreamInfo, watch func(), out *sink) (*snapshotStream, error) {
	s := &snapshotStream{active: common}
	r, err := s.stream.Reader()
	if err != nil {
		return nil, err
	}
	s.snapshots = newSnapshots(r, out, s.active.gone)
	s.takenAt = time.Now()
	watch()
	s.again = func() (*posixtrace.Reader, error) {
		r, err := s.stream.Reader()
		if err != nil && info.LogPath != "" {
			// The stream has ended; its log has the remaining events.
			return openLeftLog(info)
		}
		if err == nil {
			watch()
		}
		return r, err
	}
	return s, nil
}

func (s *snapshotStream) read(ctx context.Context) ([]posixtrace.Record, error) {
	if s.follow {
		return s.wait(ctx)
	}
	return readBatch(s.shown, &s.batch)
}

func (s *snapshotStream) reader() *posixtrace.Reader { return s.shown }

func (s *snapshotStream) open() (*posixtrace.Reader, error) { return s.again() }

func (s *snapshotStream) lastTime() (int64, error) { return selection.LastTime(s.shown, nil) }

func (s *snapshotStream) eventName(id posixtrace.EventID) string { return s.shown.EventName(id) }

func (s *snapshotStream) readTypes() ([]posixtrace.EventType, error) { return s.shown.EventTypes() }

// status returns the status in the log if a followed stream has ended.
func (s *snapshotStream) status() (posixtrace.Status, error) {
	st, err := s.stream.PeekStatus()
	if err != nil && s.follow {
		return s.shown.Status(), nil
	}
	return st, err
}

func (s *snapshotStream) close() {
	s.stopSpool()
	s.shown.Close()
	s.stream.Close()
}
