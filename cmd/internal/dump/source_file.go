package dump

import (
	"context"

	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// fileLog is a log in a regular file as it was written.
type fileLog struct {
	log
	follow    bool
	snapshots // if it is followed

	batch   posixtrace.Batch
	batches int    // number of batches read
	ahead   *ahead // reads ahead; may be nil
}

func newFileLog(l log, follow bool, out *sink) *fileLog {
	never := func() bool { return false }
	return &fileLog{log: l, follow: follow, snapshots: newSnapshots(l.Reader, out, never)}
}

func (l *fileLog) read(ctx context.Context) ([]posixtrace.Record, error) {
	if l.follow {
		return l.wait(ctx)
	}
	if l.batches++; l.batches == aheadAfter && l.finished() {
		l.ahead = readAhead(l.Reader)
	}
	if l.ahead == nil {
		return readBatch(l.Reader, &l.batch)
	}
	b, err := l.ahead.next()
	if err != nil {
		return nil, err
	}
	return b.Records, nil
}

func (l *fileLog) finish() error { return nil }

// endReading ends what reads ahead. No read follows.
func (l *fileLog) endReading() {
	if l.ahead != nil {
		l.ahead.end()
		l.ahead = nil
	}
}

func (l *fileLog) eventTypes() ([]posixtrace.EventType, error) { return l.readTypes() }

func (l *fileLog) open() (*posixtrace.Reader, error) { return l.Again() }

func (l *fileLog) lastTime() (int64, error) { return l.LastTime() }

// searchLast is lastTime while the log is being read, with a reader of its own.
func (l *fileLog) searchLast() (int64, error) {
	r, err := l.open()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return selection.LastTime(r, l.File)
}

// finished reports whether no event follows those that the log has now.
func (l *fileLog) finished() bool {
	state, _ := l.Reader.State()
	return state == posixtrace.LogFinished
}

func (l *fileLog) close() {
	l.endReading()
	l.log.close()
}
