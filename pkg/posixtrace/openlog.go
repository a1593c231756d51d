package posixtrace

import (
	"os"
	"runtime"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracelog"
)

// openFile opens the log in a regular file, and its stream if that is active. l is what is known
// of the log from an earlier look, or nil.
func openFile(f *os.File, l *tracelog.Reader) (*Reader, error) {
	look := func() error {
		st, err := f.Stat()
		if err != nil {
			return err
		}
		if l != nil {
			if ok, err := l.Extend(st.Size()); ok || err != nil {
				return err
			}
		}
		l, err = tracelog.OpenFile(f, st.Size())
		return err
	}
	read := func(r *Reader) (*Reader, error) {
		r.log, r.file = l, f
		return newReader(r), nil
	}
	if err := look(); err != nil {
		return nil, err
	}
	if state, _ := l.State(); state == tracelog.Finished {
		return read(&Reader{})
	}
	c := streamOf(l.Super(), f)
	if c == nil {
		// Perhaps it has been shut down since the look at its log.
		if err := look(); err != nil {
			return nil, err
		}
		return read(&Reader{})
	}
	kept := false
	defer func() {
		if kept {
			c.f.Close() // it is needed for the lock only
		} else {
			c.release()
		}
	}()
	live := true
	if c.orphaned() || c.dead() {
		// The owner died, and this process completes the log. If it cannot write the log, the reader
		// takes the rest from the stream.
		if shutdownOrphan(c, false) == nil || c.dead() {
			l = nil
			if err := look(); err != nil {
				return nil, err
			}
			return read(&Reader{})
		}
		live = false
	}
	// What came during a long look is looked at before the lock is taken, too.
	if err := look(); err != nil {
		return nil, err
	}
	// A flush moves events from the stream to the log. Under the stream's lock
	// there is none, and each event is in one of the two.
	unlock, err := c.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	dead := c.dead()
	if dead {
		l = nil // it was completed meanwhile, and the stream's memory may be gone
	}
	if err := look(); err != nil {
		return nil, err
	}
	if dead {
		return read(&Reader{})
	}
	r := &Reader{c: c, live: live}
	if r.mem, r.clock = peek(c); c.cut() {
		return read(&Reader{})
	}
	kept = true
	return read(r)
}

// streamOf returns the active stream whose log is in f, or nil.
func streamOf(s *tracelog.Super, f *os.File) *conn {
	if boot := sys.BootID(); s.BootID != boot && s.BootID != "" && boot != "" {
		return nil
	}
	// The path comes from the log, which is untrusted. Do not open a path that cannot be a stream: some
	// devices act on open(2) alone.
	if _, ok := registry.StreamIDOfPath(s.StreamPath); !ok {
		return nil
	}
	c, err := openPath(s.StreamPath)
	if err != nil {
		return nil
	}
	st, err := sys.Fstat(f)
	if err != nil || c.mem.ID != s.ID || c.mem.LogDev != st.Dev || c.mem.LogIno != st.Ino {
		c.release()
		return nil
	}
	return c
}

// peek takes a picture of what a stream holds, which is good unless the stream turns out to
// have been cut short. The caller holds the stream's lock.
func peek(c *conn) (*stream.Snapshot, *chunk.Clock) {
	r := c.mem.Snapshot()
	c.checkCut()
	return r, c.mem.FreshClock()
}

// openRegular opens a file for reading whose name comes from a stream. Anything else than
// a regular file is not even opened: a FIFO would make us wait, or take what is
// another's.
func openRegular(path string) (*os.File, error) {
	return sys.OpenForReading(path, func(st *sys.FileStat) error {
		if !st.Regular() {
			return errNotFile
		}
		return nil
	})
}

// Reader returns a reader over what the stream holds now: its log, if it is a
// regular file that can be read, then the stream itself. Nothing is consumed;
// events that are overwritten meanwhile are left out. Extension.
func (s *Stream) Reader() (*Reader, error) {
	defer runtime.KeepAlive(s)
	const op = "Reader"
	if s.isClosed() {
		return nil, fail(op, s.whyClosed(), syscall.EINVAL)
	}
	if s.c.mem.HasLog {
		if f, err := openRegular(s.c.mem.LogPath); err == nil {
			if st, e := sys.Fstat(f); e == nil && st.Regular() && st.Dev == s.c.mem.LogDev && st.Ino == s.c.mem.LogIno {
				r, err := openFile(f, nil)
				// One that is held back is still what it was before.
				if err == nil && r.log.Super().ID == s.c.mem.ID {
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
			m.Recover(gone)
			if mr, c = peek(s.c); s.c.cut() { // what was seen may be zeros
				return errCut
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
