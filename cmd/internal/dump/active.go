package dump

import (
	"errors"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/cmd/internal/record/streams"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// active is what the sources that are active streams have in common.
type active struct {
	stream    *posixtrace.Stream
	follow    bool
	stopSpool func() // ends what watchSpool started
}

// openStream opens an active stream, to consume its events or to peek at them.
func openStream(e *cli.Env, nameOrPath string, opt *options, out *sink) (*input, error) {
	s, err := streams.Attach(nameOrPath)
	if err != nil {
		return nil, err
	}
	info, err := s.Info()
	if err != nil {
		s.Close()
		return nil, cli.Failure(nameOrPath, err)
	}
	name := nameOrPath
	if info.Name != "" {
		name = info.Name // shorter than the path
	}
	common := active{stream: s, follow: opt.follow, stopSpool: func() {}}
	if info.LogPath == "" && !opt.peek {
		common.watchSpool()
		return newInput(name, newConsumedStream(common, out)), nil
	}
	watch := func() {}
	if info.LogPath != "" && (opt.mode == "" || opt.mode == "summary" || opt.mode == "why" || opt.mode == "check") {
		watch = watchLog(e, name, info)
	}
	src, err := newSnapshotStream(common, info, watch, out)
	if err != nil {
		s.Close()
		return nil, cli.Failure(nameOrPath, err)
	}
	src.watchSpool()
	return newInput(name, src), nil
}

// watchSpool drains the spool of a followed stream: the owner of the stream may be gone.
func (s *active) watchSpool() {
	if s.follow {
		s.stopSpool = streams.WatchSpool(s.stream)
	}
}

func (s *active) finish() error { return nil }

func (s *active) eventTypes() ([]posixtrace.EventType, error) { return s.stream.EventTypes() }

func (s *active) state() string { return "active stream" }

func (s *active) soundness() error { return nil }

// attributes returns the attributes of the stream, and where it is.
func (s *active) attributes(r *redact.Filter) (output.Fields, error) {
	a, err := s.stream.Attr()
	if err != nil {
		return nil, err
	}
	info, err := s.stream.Info()
	if err != nil {
		return nil, err
	}
	f := attributeFields(a, r)
	f.Add("pid", info.PID)
	f.Add("path", info.Path)
	f.Add("log", info.LogPath)
	return f, nil
}

// gone reports whether the stream was shut down. A stream whose file was truncated is not
// gone but lost, which must be reported.
func (s *active) gone() bool {
	_, err := s.stream.Info()
	return err != nil && !errors.Is(err, syscall.EIO)
}
