// Package openlog opens the logs that commands read. A log that zstd(1) or gzip(1) has compressed is
// read as it is.
package openlog

import (
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Log is a log that was opened.
type Log struct {
	Name   string // for messages
	File   *os.File
	Reader *posixtrace.Reader
	Live   *LiveReader // nil for a regular file; other files can be read only once

	packed *Reader // nil for a regular file that is not compressed
}

// Open opens an operand, standard input for "-".
func Open(env *cli.Env, name string) (*Log, error) {
	if name == "-" {
		return Read(env, "standard input", env.Stdin, nil)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, cli.Failure(name, err)
	}
	l, err := Read(env, name, f, nil)
	if err != nil {
		f.Close()
	}
	return l, err
}

// Read opens a log in any state. If it is not in a regular file, Read calls flush before reading blocks.
// It reports a log of a newer version.
func Read(env *cli.Env, name string, f *os.File, flush func()) (*Log, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, cli.Failure(name, err)
	}
	if st.IsDir() {
		return nil, cli.Failure(name, syscall.EISDIR)
	}
	l := &Log{Name: name, File: f}
	var src io.Reader = f
	switch {
	case !st.Mode().IsRegular():
		l.Live = &LiveReader{f: f, Flush: flush}
		l.packed = NewUnpacker(l.Live)
		src = l.packed
	case DetectFile(f) != nil:
		l.packed = l.unpack()
		src = l.packed
	}
	if l.Reader, err = posixtrace.NewReader(src); err != nil {
		return nil, l.refusal(err)
	}
	if v := l.Reader.Newer(); v != "" {
		env.Note(name + ": a trace log of format " + v + ": what is new in that format is left out")
	}
	return l, nil
}

// refusal returns the message about what cannot be opened.
func (l *Log) refusal(err error) error {
	what := ""
	if l.packed != nil {
		format := l.packed.Format()
		if fault := l.packed.Fault(); fault != nil {
			f := &cli.Fault{Text: l.Name + ": " + format.Name + " data " + fault.Error(), Kind: syscall.EINVAL}
			if Elsewhere(fault) && l.Live == nil {
				f.Hint = "decompress it: " + format.Command + " " + l.Name
			}
			return f
		}
		if format != nil {
			what = " in " + format.Name + " data"
		}
	}
	var e *posixtrace.Error
	if errors.As(err, &e) && e.Err == syscall.EINVAL {
		// The package's error says the same, with or without a reason before it.
		const not = "not a trace log"
		text := l.Name + ": " + not + what
		if strings.HasPrefix(cli.Reason(err), "a trace log ") { // of another version
			text, e = l.Name+": "+cli.Reason(err), &posixtrace.Error{}
		}
		if why := strings.TrimSuffix(strings.TrimSuffix(cli.Reason(err), not), ": "); e.Cause != nil && why != "" {
			text += ": " + why
		}
		return &cli.Fault{Text: text, Kind: syscall.EINVAL} // it may be a stream
	}
	return cli.Failure(l.Name, err)
}

// Compressed reports whether the log is compressed.
func (l *Log) Compressed() bool { return l.packed != nil && l.packed.Format() != nil }

// Seekable reports whether the log has an index, or could have one: it is in a regular file, as it was
// written. Another log is read from its start to its end, a compressed one as often as the caller wants.
func (l *Log) Seekable() bool { return l.packed == nil }

// Again returns another reader of a log in a regular file.
func (l *Log) Again() (*posixtrace.Reader, error) {
	if l.Live != nil {
		return nil, syscall.ESPIPE
	}
	if l.packed == nil {
		return posixtrace.NewReader(l.File)
	}
	return posixtrace.NewReader(l.unpack())
}

// LastTime is selection.LastTime. A compressed log is read to its end.
func (l *Log) LastTime() (int64, error) {
	if l.Seekable() {
		return selection.LastTime(l.Reader, l.File)
	}
	last := int64(math.MinInt64)
	var b posixtrace.Batch
	for {
		err := l.Reader.NextBatch(&b)
		if err == io.EOF {
			return last, l.Reader.Rewind()
		}
		if err != nil {
			return 0, err
		}
		for i := range b.Records {
			last = max(last, b.Records[i].UnixNano)
		}
	}
}

// unpack returns a new reader of a compressed regular file, at offsets of its own.
func (l *Log) unpack() *Reader {
	return NewUnpacker(io.NewSectionReader(l.File, 0, math.MaxInt64))
}

// Soundness returns why a log that was read to its end is not whole, or nil.
func (l *Log) Soundness() error {
	err := logfile.Soundness(l.Name, l.Reader)
	if !l.Compressed() {
		return err
	}
	if l.Live == nil {
		l.packed.Finish() // to see whether its last checksum is right
	}
	fault := l.packed.Fault()
	if fault == nil {
		return err
	}
	state, _ := l.Reader.State()
	text := l.Name + ": log is " + logfile.StateWord(state)
	if err == nil {
		text += ", but its "
	} else {
		text += ": "
	}
	return cli.Failf("%s%s data %v", text, l.packed.Format().Name, fault)
}
