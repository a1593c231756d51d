package dump

import (
	"context"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A source is where an input gets its events. Each kind has a type: fileLog, packedLog, pipeLog,
// snapshotStream and consumedStream.
type source interface {
	// read returns the next events, at least one. They are valid until the next call. It returns io.EOF
	// at the end of a log and, unless the stream is followed, when the stream has no event now.
	read(ctx context.Context) ([]posixtrace.Record, error)

	// eventName returns the name of an event type as it is recorded, or "" if it has none, or none yet.
	eventName(id posixtrace.EventID) string
	// readTypes returns the event types of what was read.
	readTypes() ([]posixtrace.EventType, error)
	// eventTypes returns all event types. It may read a log to its end.
	eventTypes() ([]posixtrace.EventType, error)

	// finish reads a log without an index to its end. Only then are its status and event types known.
	finish() error
	// status returns the status without resetting it.
	status() (posixtrace.Status, error)
	// attributes returns what --attributes shows.
	attributes(f *redact.Filter) (output.Fields, error)
	// state returns how complete the source is.
	state() string
	// soundness returns why a log that was read to its end is not whole, or nil.
	soundness() error

	close()
}

// A kept source keeps the events that are read.
type kept interface {
	source
	reader() *posixtrace.Reader
}

// A rereadable source can be read more than once.
type rereadable interface {
	kept
	open() (*posixtrace.Reader, error) // returns another reader
	lastTime() (int64, error)          // returns the time of the last event; the reader loses its selection
}

// A followed source waits for events. Only a compressed log cannot be followed.
type followed interface {
	source
	// poll returns the next event, errNothing if there is none now, and io.EOF if there will be no more.
	// The record is valid until the next call.
	poll() (*posixtrace.Record, error)
	// asOf returns a time: poll has returned all events before it, or is about to return the next one.
	asOf() time.Time
}

// is reports whether the source of an input is of a kind.
func is[S source](in *input) bool {
	_, ok := in.source.(S)
	return ok
}

// readBatch reads the next events of a reader.
func readBatch(r *posixtrace.Reader, b *posixtrace.Batch) ([]posixtrace.Record, error) {
	err := r.NextBatch(b)
	return b.Records, err
}

// A single is room for one event as read returns it.
type single [1]posixtrace.Record

func (s *single) of(rec *posixtrace.Record, err error) ([]posixtrace.Record, error) {
	if err != nil {
		return nil, err
	}
	s[0] = *rec
	return s[:], nil
}
