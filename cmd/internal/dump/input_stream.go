package dump

import (
	"context"
	"errors"
	"io"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/logfile"
	"github.com/posixtrace/posixtrace/cmd/internal/output"
	"github.com/posixtrace/posixtrace/cmd/internal/streams"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// consumeBuffer is the size of the buffer for the data of one event; no stream keeps more.
const consumeBuffer = 256 << 10

// openStream opens an active stream, to consume its events or to peek at them.
func openStream(e *cli.Env, nameOrPath string, opt *options) (*input, error) {
	s, err := streams.Attach(nameOrPath)
	if err != nil {
		return nil, err
	}
	in := &input{name: nameOrPath, stream: s}
	in.src = output.NewSource(func(id posixtrace.EventID) string {
		name, err := s.EventName(id)
		if err != nil {
			return ""
		}
		return name
	})
	info, err := s.Info()
	if err != nil {
		s.Close()
		return nil, cli.Failure(nameOrPath, err)
	}
	if info.Name != "" {
		in.name = info.Name // shorter than the path
	}
	if info.LogPath == "" && !opt.peek {
		in.buf = make([]byte, consumeBuffer)
		return in, nil
	}
	if in.reader, err = s.Reader(); err != nil {
		s.Close()
		return nil, cli.Failure(nameOrPath, err)
	}
	in.snapshotAt = time.Now()
	in.open = s.Reader
	if info.LogPath != "" {
		watch := func() {}
		if opt.mode == "" || opt.mode == "summary" || opt.mode == "check" {
			watch = watchLog(e, in.name, info)
		}
		watch()
		in.open = func() (*posixtrace.Reader, error) {
			r, err := s.Reader()
			if err != nil {
				// The stream has ended; its log has the remaining events.
				return openLeftLog(info)
			}
			watch()
			return r, nil
		}
	}
	in.src = output.NewSource(func(id posixtrace.EventID) string { return in.reader.EventName(id) })
	return in, nil
}

// openLeftLog opens the log of a stream that has ended.
func openLeftLog(info posixtrace.StreamInfo) (*posixtrace.Reader, error) {
	f, err := logfile.OpenRegular(info.LogPath)
	if err == logfile.ErrNotRegular {
		err = syscall.ENOENT
	}
	if err != nil {
		return nil, err
	}
	r, err := posixtrace.NewReader(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	// The file may be the log of a later stream.
	if a := r.Attr(); a.Name != info.Name || !a.CreateTime.Equal(info.CreateTime) {
		r.Close()
		f.Close()
		return nil, syscall.ENOENT
	}
	return r, nil
}

// next returns the next event. It returns io.EOF at the end of a log and, unless the stream
// is followed, when the stream has no event now. The record is valid until the next call.
func (in *input) next(ctx context.Context) (*posixtrace.Record, error) {
	if in.reader == nil {
		return in.consume(ctx)
	}
	if in.follow {
		return in.nextFollowed(ctx)
	}
	if len(in.records) == 0 {
		if err := in.readBatch(); err != nil {
			return nil, err
		}
	}
	rec := &in.records[0]
	in.records = in.records[1:]
	return rec, nil
}

// readBatch reads the next batch into records.
func (in *input) readBatch() error {
	b := &in.batch
	if in.batches++; in.batches == aheadAfter {
		in.readAhead()
	}
	var err error
	if in.ahead != nil {
		b, err = in.ahead.next()
	} else {
		err = in.reader.NextBatch(b)
	}
	if err == nil {
		in.records = b.Records
		in.redact.Records(in.records)
	}
	return err
}

func (in *input) consume(ctx context.Context) (*posixtrace.Record, error) {
	ev, n, err := in.stream.TryNext(in.buf)
	for errors.Is(err, posixtrace.ErrUnavailable) {
		if !in.follow {
			return nil, io.EOF
		}
		wait, cancel := ctx, context.CancelFunc(func() {})
		if in.out.flush() {
			wait, cancel = context.WithTimeout(ctx, output.FlushAgain)
		}
		in.status()
		ev, n, err = in.stream.Next(wait, in.buf)
		cancel()
		if err != nil && wait.Err() != nil && ctx.Err() == nil {
			ev, n, err = in.stream.TryNext(in.buf)
		}
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, errTimeout
	case in.follow && in.gone():
		return nil, io.EOF
	default:
		return nil, err
	}
	return in.consumed(ev, n), nil
}

// consumed returns an event of n bytes of data in the buffer.
func (in *input) consumed(ev posixtrace.EventInfo, n int) *posixtrace.Record {
	in.rec = posixtrace.Record{EventInfo: ev, Data: in.buf[:n]}
	in.redact.Record(&in.rec)
	return &in.rec
}

// gone reports whether the stream was shut down. A stream whose file was truncated is not
// gone but lost, which must be reported.
func (in *input) gone() bool {
	_, err := in.stream.Info()
	return err != nil && !errors.Is(err, syscall.EIO)
}
