package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// input is one log or stream that ptrace-dump reads.
type input struct {
	name   string
	src    *output.Source
	stream *posixtrace.Stream // nil for a log
	reader *posixtrace.Reader // nil when the stream's events are consumed
	follow bool
	out    *sink

	// For a stream whose events are consumed.
	buf []byte
	rec posixtrace.Record

	// For a stream or log that is followed without consuming.
	open func() (*posixtrace.Reader, error) // a reader of what there is now
	tail tail

	wants [4096]verdict // which event types are wanted, as far as it is known
}

type verdict uint8

const (
	undecided verdict = iota
	wanted
	unwanted
)

// openInputs opens what the command line names. Nothing is read before all of
// it could be opened, so that a mistyped operand consumes nothing.
func (e *Env) openInputs(args *Args, opt *dumpOptions, out *sink) (inputs []*input, err error) {
	add := func(in *input, err error) bool {
		if err != nil {
			e.Warn(err)
			return false
		}
		in.follow = opt.follow
		in.out = out
		inputs = append(inputs, in)
		return true
	}
	ok := true
	if s, given := args.Lookup("stream"); given {
		if !looksLikePath(s) {
			if err := checkStreamName(s); err != nil {
				return nil, err
			}
		}
		ok = add(e.openStream(s, opt))
	} else if len(args.Operands) == 0 {
		s := e.Getenv("PTRACE_STREAM")
		if s == "" {
			return nil, usagef("missing operand: no log or stream, and PTRACE_STREAM is not set")
		}
		ok = add(e.openStream(s, opt))
	}
	for _, s := range args.Operands {
		ok = add(e.openOperand(s, opt, out)) && ok
	}
	if !ok {
		closeInputs(inputs)
		return nil, Exit(1)
	}
	if opt.follow && len(inputs) > 1 {
		closeInputs(inputs)
		return nil, usagef("only one log or stream can be followed")
	}
	return inputs, nil
}

func closeInputs(inputs []*input) {
	for _, in := range inputs {
		if in.reader != nil {
			in.reader.Close()
		}
		if in.stream != nil {
			in.stream.Close()
		}
	}
}

// openOperand opens an operand: standard input, a file, else a stream.
func (e *Env) openOperand(s string, opt *dumpOptions, out *sink) (*input, error) {
	if s == "" {
		return nil, failure("''", syscall.ENOENT)
	}
	if s == "-" {
		return openLogInput("standard input", e.Stdin, out)
	}
	if !looksLikePath(s) {
		if _, err := os.Stat(s); errors.Is(err, fs.ErrNotExist) {
			if checkStreamName(s) == nil {
				in, err := e.openStream(s, opt)
				if err == nil || !errors.Is(err, errNoStream) {
					return in, err
				}
			}
			return nil, withHint(failure(s, syscall.ENOENT), "there is no active stream of this name either; `ptrace-ctl list` shows them")
		}
	}
	f, err := os.Open(s)
	if err != nil {
		return nil, failure(s, err)
	}
	in, err := openLogInput(s, f, out)
	if err == nil {
		return in, nil
	}
	f.Close()
	if looksLikePath(s) && errors.Is(err, syscall.EINVAL) {
		if in, serr := e.openStream(s, opt); serr == nil {
			return in, nil
		}
	}
	return nil, err
}

// openLogInput opens a log of any state.
func openLogInput(name string, f *os.File, out *sink) (*input, error) {
	var r io.Reader = f
	st, err := f.Stat()
	if err != nil {
		return nil, failure(name, err)
	}
	if st.IsDir() {
		return nil, failure(name, syscall.EISDIR)
	}
	if !st.Mode().IsRegular() {
		r = &liveReader{f, out}
	}
	reader, err := posixtrace.OpenLog(r)
	if err != nil {
		var e *posixtrace.Error
		if errors.As(err, &e) && e.Err == syscall.EINVAL {
			// The package says the same of it, with a reason before it or none.
			const what = "not a trace log"
			text := name + ": " + what
			if why := strings.TrimSuffix(strings.TrimSuffix(reason(err), what), ": "); e.Cause != nil && why != "" {
				text += ": " + why
			}
			return nil, &logError{text}
		}
		return nil, failure(name, err)
	}
	in := &input{name: name, reader: reader}
	in.src = output.NewSource(func(id posixtrace.EventID) string { return in.reader.EventName(id) })
	if st.Mode().IsRegular() {
		in.open = func() (*posixtrace.Reader, error) { return posixtrace.OpenLog(f) }
	}
	return in, nil
}

// logError says that a file is no log; it may still be a stream's.
type logError struct{ text string }

func (e *logError) Error() string        { return e.text }
func (e *logError) Is(target error) bool { return target == syscall.EINVAL }

// liveReader reads a pipe or a terminal and lets no event wait in our buffer
// while the next read blocks.
type liveReader struct {
	f   *os.File
	out *sink
}

func (r *liveReader) Read(p []byte) (int, error) {
	fds := []unix.PollFd{{Fd: int32(r.f.Fd()), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, 0); n == 0 && err == nil {
		r.out.flush()
	}
	return r.f.Read(p)
}

// consumeBuffer holds the data of one event; no stream keeps more of one.
const consumeBuffer = 256 << 10

// openStream opens an active stream, to consume it or to peek at it.
func (e *Env) openStream(nameOrPath string, opt *dumpOptions) (*input, error) {
	s, err := attach(nameOrPath)
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
		return nil, failure(nameOrPath, err)
	}
	if info.Name != "" {
		in.name = info.Name // shorter than a path
	}
	if info.LogPath == "" && !opt.peek {
		in.buf = make([]byte, consumeBuffer)
		return in, nil
	}
	if in.reader, err = s.Reader(); err != nil {
		s.Close()
		return nil, failure(nameOrPath, err)
	}
	in.open = s.Reader
	if info.LogPath != "" {
		in.open = func() (*posixtrace.Reader, error) {
			r, err := s.Reader()
			if err != nil {
				// The stream is gone; its log holds what was still to come.
				return openLeftLog(info)
			}
			return r, nil
		}
	}
	in.src = output.NewSource(func(id posixtrace.EventID) string { return in.reader.EventName(id) })
	return in, nil
}

// openLeftLog opens the log that a stream has left.
func openLeftLog(info posixtrace.StreamInfo) (*posixtrace.Reader, error) {
	f, err := os.Open(info.LogPath)
	if err != nil {
		return nil, err
	}
	r, err := posixtrace.OpenLog(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	// Another stream may record to a file of this name by now.
	if a := r.Attr(); a.Name != info.Name || !a.CreateTime.Equal(info.CreateTime) {
		r.Close()
		f.Close()
		return nil, syscall.ENOENT
	}
	return r, nil
}

// next returns the next event, and io.EOF at the end of the log or, unless the
// stream is followed, when it has no event now. The record is valid until the next call.
func (in *input) next(ctx context.Context) (*posixtrace.Record, error) {
	if in.reader == nil {
		return in.consume(ctx)
	}
	if in.follow && in.open != nil {
		return in.nextFollowed(ctx)
	}
	return in.reader.Next()
}

func (in *input) consume(ctx context.Context) (*posixtrace.Record, error) {
	ev, n, err := in.stream.TryNext(in.buf)
	if errors.Is(err, posixtrace.ErrUnavailable) {
		if !in.follow {
			return nil, io.EOF
		}
		in.out.flush()
		ev, n, err = in.stream.Next(ctx, in.buf)
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
	in.rec = posixtrace.Record{EventInfo: ev, Data: in.buf[:n]}
	return &in.rec, nil
}

// gone reports whether the stream was shut down meanwhile.
func (in *input) gone() bool {
	_, err := in.stream.Info()
	return err != nil
}

var errTimeout = errors.New("timed out")

// tail is the position in a stream that is read again and again: the time of the
// latest event shown, and how many of that very time were.
type tail struct {
	begun bool
	time  int64
	count int
	skip  int // events of time still to be passed over in this reader
}

// nextFollowed reads on where the reader before stopped. It is at the end when
// there is no active stream any more.
func (in *input) nextFollowed(ctx context.Context) (*posixtrace.Record, error) {
	began := time.Now()
	for {
		rec, err := in.reader.Next()
		if err == nil {
			if in.tail.begun && rec.UnixNano <= in.tail.time {
				if rec.UnixNano < in.tail.time {
					continue
				}
				if in.tail.skip > 0 {
					in.tail.skip--
					continue
				}
			}
			if !in.tail.begun || rec.UnixNano != in.tail.time {
				in.tail.begun, in.tail.time, in.tail.count = true, rec.UnixNano, 0
			}
			in.tail.count++
			return rec, nil
		}
		if err != io.EOF {
			return nil, err
		}
		if state, _ := in.reader.State(); state != posixtrace.LogLive {
			return nil, io.EOF
		}
		in.out.flush()
		// A reader shows what there was when it was made. Making the next one
		// must not take more than a small part of our time.
		pause := max(50*time.Millisecond, 8*time.Since(began))
		select {
		case <-ctx.Done():
			return nil, errTimeout
		case <-time.After(pause):
		}
		began = time.Now()
		r, err := in.open()
		if err != nil {
			if in.stream != nil && in.gone() {
				return nil, io.EOF
			}
			return nil, err
		}
		in.tail.skip = in.tail.count
		if in.tail.begun {
			r.Select(posixtrace.Selection{Since: time.Unix(0, in.tail.time)})
		}
		in.reader.Close()
		in.reader = r
	}
}

// wantsType reports whether the selection wants events of a type.
func (in *input) wantsType(sel *selection, id posixtrace.EventID) bool {
	if int(id) >= len(in.wants) {
		return sel.wants(id, in.src.Name(id))
	}
	if in.wants[id] == undecided {
		in.wants[id] = unwanted
		if sel.wants(id, in.src.Name(id)) {
			in.wants[id] = wanted
		}
	}
	return in.wants[id] == wanted
}

// verdict reports why a log that was read to its end is not whole.
func (in *input) verdict() error {
	if in.reader == nil || in.stream != nil {
		return nil
	}
	state, err := in.reader.State()
	switch state {
	case posixtrace.LogFinished, posixtrace.LogLive:
		return nil
	}
	text := "log is " + state.String()
	if err != nil {
		text += ": " + reason(err)
	}
	return failf("%s: %s", in.name, text)
}

// status returns the status of the stream without resetting anything.
func (in *input) status() (posixtrace.Status, error) {
	if in.stream != nil {
		return in.stream.PeekStatus()
	}
	return in.reader.Status(), nil
}

// tellLoss says how many events were lost. With strict that is a failure.
func (in *input) tellLoss(env *Env, strict bool) {
	st, err := in.status()
	if err != nil || st.Lost == 0 && st.LogLost == 0 {
		return
	}
	text := in.name + ": " + plural(st.Lost+st.LogLost, "event was", "events were") + " lost"
	if strict {
		env.Warn(failf("%s", text))
	} else {
		env.Note(text)
	}
}

func plural(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
