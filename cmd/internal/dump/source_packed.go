package dump

import (
	"context"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// packedLog is a compressed log in a regular file. Each reader reads it from its start.
type packedLog struct {
	log
	batch posixtrace.Batch
}

func (l *packedLog) read(context.Context) ([]posixtrace.Record, error) {
	return readBatch(l.Reader, &l.batch)
}

func (l *packedLog) finish() error { return l.finishForward() }

func (l *packedLog) eventTypes() ([]posixtrace.EventType, error) { return l.allTypes() }

func (l *packedLog) open() (*posixtrace.Reader, error) { return l.Again() }

func (l *packedLog) lastTime() (int64, error) { return l.LastTime() }
