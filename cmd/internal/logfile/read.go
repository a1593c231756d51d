package logfile

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Input is an operand that is a log.
type Input struct {
	Name   string // for messages
	File   *os.File
	Reader *posixtrace.Reader
	Live   *LiveReader // nil for a regular file; other files can be read only once
}

// OpenInput opens an operand, standard input for "-".
func OpenInput(env *cli.Env, name string) (in Input, err error) {
	in = Input{Name: name, File: env.Stdin}
	if name == "-" {
		in.Name = "standard input"
	} else if in.File, err = os.Open(name); err != nil {
		return in, cli.Failure(name, err)
	}
	if in.Reader, in.Live, err = Read(in.Name, in.File, nil); err != nil {
		in.File.Close()
	}
	return in, err
}

// Read opens a log in any state. For a log that is not in a regular file, live is its
// reader; Read calls flush before that blocks.
func Read(name string, f *os.File, flush func()) (r *posixtrace.Reader, live *LiveReader, err error) {
	st, err := f.Stat()
	if err != nil {
		return nil, nil, cli.Failure(name, err)
	}
	if st.IsDir() {
		return nil, nil, cli.Failure(name, syscall.EISDIR)
	}
	var src io.Reader = f
	if !st.Mode().IsRegular() {
		live = &LiveReader{f: f, Flush: flush}
		src = live
	}
	if r, err = posixtrace.NewReader(src); err == nil {
		return r, live, nil
	}
	var e *posixtrace.Error
	if errors.As(err, &e) && e.Err == syscall.EINVAL {
		// The package's error says the same, with or without a reason before it.
		const what = "not a trace log"
		text := name + ": " + what
		if why := strings.TrimSuffix(strings.TrimSuffix(cli.Reason(err), what), ": "); e.Cause != nil && why != "" {
			text += ": " + why
		}
		return nil, nil, &logError{text}
	}
	return nil, nil, cli.Failure(name, err)
}

// logError reports that a file is not a log. It may be a stream.
type logError struct{ text string }

func (e *logError) Error() string        { return e.text }
func (e *logError) Is(target error) bool { return target == syscall.EINVAL }

// LiveReader reads a pipe or a terminal. It flushes our output before a read blocks.
type LiveReader struct {
	f     *os.File
	Flush func()   // called before a read blocks; may be nil
	Stop  *os.File // the read end of a pipe, whose closing ends a read that blocks; may be nil
}

func (r *LiveReader) Read(p []byte) (int, error) {
	if r.Flush != nil && wouldBlock(r.f) {
		r.Flush()
	}
	if r.Stop != nil && stopped(r.f, r.Stop) {
		return 0, os.ErrClosed
	}
	return r.f.Read(p)
}

// Soundness returns why a log that was read to its end is not whole, or nil.
func Soundness(name string, r *posixtrace.Reader) error {
	state, err := r.State()
	switch state {
	case posixtrace.LogFinished, posixtrace.LogLive:
		return nil
	}
	text := "log is " + state.String()
	if err != nil {
		text += ": " + cli.Reason(err)
	}
	return cli.Failf("%s: %s", name, text)
}
