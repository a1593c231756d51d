package posixtrace

import (
	"os"
	"runtime"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracelog"
)

// logLook is what openFile knows of a log in a regular file.
type logLook struct {
	f   *os.File
	log *tracelog.Reader // nil before the first look
	// leave says that an orphan is left alone: this process is completing its log, and asks for the events of
	// the spool (recordLastEvents).
	leave bool
}

// look reads the log's blocks, or those that were added since the last look.
func (k *logLook) look() error {
	st, err := k.f.Stat()
	if err != nil {
		return err
	}
	if k.log != nil {
		if ok, err := k.log.Extend(st.Size()); ok || err != nil {
			return err
		}
	}
	k.log, err = tracelog.OpenFile(k.f, st.Size())
	return err
}

// again forgets earlier looks, after the log was completed.
func (k *logLook) again() error {
	k.log = nil
	return k.look()
}

// reader completes r, which reads the log.
func (k *logLook) reader(r *Reader) *Reader {
	r.log, r.file = k.log, k.f
	return newReader(r)
}

// openFile opens the log in a regular file, and its stream if that is active. l is the log as an
// earlier call has read it, or nil.
func openFile(f *os.File, l *tracelog.Reader) (*Reader, error) {
	return (&logLook{f: f, log: l}).open()
}

func (k *logLook) open() (*Reader, error) {
	if err := k.look(); err != nil {
		return nil, err
	}
	if state, _ := k.log.State(); state == tracelog.Finished {
		return k.reader(&Reader{}), nil
	}
	c := streamOf(k.log.Super(), k.f)
	if c == nil {
		// The stream may have been shut down since the look at its log.
		if err := k.look(); err != nil {
			return nil, err
		}
		return k.reader(&Reader{}), nil
	}
	r, err := k.withStream(c)
	if r != nil && r.c == c {
		c.File.Close() // only the lock needs the descriptor
	} else {
		c.Release()
	}
	return r, err
}

// withStream returns a reader of a log and its unfinished stream. It connects the reader to c only if the
// stream holds events that the log lacks.
func (k *logLook) withStream(c *conn.Conn) (*Reader, error) {
	live := true
	switch orphan := c.Orphaned(); {
	case orphan && k.leave:
		live = false
	case orphan || c.Dead():
		// The owner died, and this process completes the log. If it cannot write the log, the reader
		// takes the rest from the stream.
		if completeOrphan(c, false) == nil || c.Dead() {
			if err := k.again(); err != nil {
				return nil, err
			}
			return k.reader(&Reader{}), nil
		}
		live = false
	}
	// Catch up with the blocks of a long look before taking the lock.
	if err := k.look(); err != nil {
		return nil, err
	}
	// A flush moves events from the stream to the log. Under the stream's lock no flush runs, and each
	// event is in one of the two.
	unlock, err := c.Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if c.Dead() {
		// The log was completed meanwhile, and the stream's memory may be gone.
		if err := k.again(); err != nil {
			return nil, err
		}
		return k.reader(&Reader{}), nil
	}
	if err := k.look(); err != nil {
		return nil, err
	}
	r := &Reader{c: c, live: live}
	if r.mem, r.clock = peek(c); c.Cut() {
		return k.reader(&Reader{}), nil
	}
	return k.reader(r), nil
}

// streamOf returns the active stream whose log is in f, or nil.
func streamOf(s *tracelog.Super, f *os.File) *conn.Conn {
	if boot := sys.BootID(); s.BootID != boot && s.BootID != "" && boot != "" {
		return nil
	}
	// The path comes from the log, which is untrusted. Do not open a path that cannot be a stream: some
	// devices act on open(2) alone.
	if _, ok := registry.StreamIDOfPath(s.StreamPath); !ok {
		return nil
	}
	c, err := conn.OpenPath(s.StreamPath)
	if err != nil {
		return nil
	}
	st, err := sys.Fstat(f)
	if err != nil || c.Mem.ID != s.ID || c.Mem.LogDev != st.Dev || c.Mem.LogIno != st.Ino {
		c.Release()
		return nil
	}
	return c
}

// peek takes a snapshot of a stream. The snapshot is valid unless c.cut reports a truncated file
// afterwards. The caller holds the stream's lock.
func peek(c *conn.Conn) (*stream.Snapshot, *chunk.Clock) {
	r := c.Mem.Snapshot()
	c.CheckCut()
	return r, c.Mem.FreshClock()
}

// openRegular opens a file, whose path comes from a stream, for reading. It does not open any other
// type of file: to open a FIFO could block, or take data from its reader.
func openRegular(path string) (*os.File, error) {
	return sys.OpenForReading(path, func(st *sys.FileStat) error {
		if !st.Regular() {
			return errNotFile
		}
		return nil
	})
}

// Reader returns a reader of the events that the stream holds now: those in its log, if that is a
// readable regular file, then those in the stream. The reader consumes nothing, and omits events
// that are overwritten meanwhile. Errors: EINVAL the stream is closed; EIO its file was truncated.
// Extension.
func (s *Stream) Reader() (*Reader, error) {
	defer runtime.KeepAlive(s)
	const op = "Reader"
	if s.isClosed() {
		return nil, fail(op, s.whyClosed(), syscall.EINVAL)
	}
	if s.c.Mem.HasLog {
		if f, err := openRegular(s.c.Mem.LogPath); err == nil {
			if st, e := sys.Fstat(f); e == nil && st.Regular() && st.Dev == s.c.Mem.LogDev && st.Ino == s.c.Mem.LogIno {
				r, err := (&logLook{f: f, leave: s.orphan}).open()
				// The file of a log that is held back still has its earlier contents.
				if err == nil && r.log.Super().ID == s.c.Mem.ID {
					r.f = f
					return r, nil
				}
				if err == nil {
					r.disconnect()
				}
			}
			f.Close()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := s.openNames()
	if err != nil {
		return nil, fail(op, err, syscall.EINVAL)
	}
	r := newReader(&Reader{c: s.c, names: names, live: true})
	made := func() (mr *stream.Snapshot, c *chunk.Clock, err error) {
		err = s.locked(func(m *stream.Mem, w *stream.Writer) error {
			s.c.RecoverWriters()
			if mr, c = peek(s.c); s.c.Cut() { // the snapshot may consist of zeros
				return conn.ErrCut
			}
			return nil
		})
		return
	}
	r.takeSnapshot = func() (*stream.Snapshot, *chunk.Clock, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return made()
	}
	if r.mem, r.clock, err = made(); err != nil {
		return nil, fail(op, err, syscall.EINVAL)
	}
	return r, nil
}
