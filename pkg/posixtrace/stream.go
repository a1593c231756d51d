package posixtrace

import (
	"errors"
	"runtime"
	"sync"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Stream is an active trace stream (the trace_id_t of posix_trace_create,
// posix_trace_create_withlog). All methods are safe for concurrent use. After
// Shutdown every method fails with EINVAL. Interruption by signals does not
// exist for a Go program: EINTR is returned only for a cancelled context.
type Stream struct {
	c   *conn
	log *logOwner // of the owner of a stream with log

	mu     sync.Mutex  // one control call of this process at a time
	ctl    *attachment // what control calls record with
	names  *registry.Names
	types  int // position of NextEventType
	closed chan struct{}

	madeRoom []StreamInfo // see MadeRoom

	read reading
}

func newStream(c *conn) *Stream {
	return &Stream{c: c, closed: make(chan struct{})}
}

var (
	errClosed = closedError("the stream is closed")
	// errCut is why a stream is closed that nobody has shut down.
	errCut = &Error{Err: syscall.EIO, Cause: errors.New("the stream's file was cut short")}
)

// whyClosed is the error of a call when isClosed.
func (s *Stream) whyClosed() error {
	defer runtime.KeepAlive(s)
	if s.c.cut() {
		return errCut
	}
	return errClosed
}

// isClosed reports whether s can no longer be used: by this process's doing or
// by a shutdown of another's.
func (s *Stream) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
	}
	dead := s.c.dead()
	runtime.KeepAlive(s)
	return dead
}

// control runs f, which changes the stream, with everything that it takes: the
// locks, and a writer to record with.
func (s *Stream) control(op string, f func(m *stream.Mem, w *stream.Writer, e stream.Event) error) error {
	// The caller of the method is the trace point of the event (EVT-09).
	tid, pc := sys.SlowSelf(2)
	e := stream.Event{PID: sys.SelfProc().PID, TID: uint32(tid), Addr: pc}
	s.mu.Lock()
	defer s.mu.Unlock()
	return fail(op, s.locked(func(m *stream.Mem, w *stream.Writer) error { return f(m, w, e) }), syscall.EINVAL)
}

// locked takes the stream's lock and runs f. The caller holds s.mu.
func (s *Stream) locked(f func(m *stream.Mem, w *stream.Writer) error) error {
	defer runtime.KeepAlive(s)
	return s.lockedBy(s.c.lock, f)
}

// tryLocked takes s.mu and the stream's lock, without waiting for either, and runs f.
func (s *Stream) tryLocked(f func(m *stream.Mem, w *stream.Writer) error) error {
	defer runtime.KeepAlive(s)
	if !s.mu.TryLock() {
		return syscall.EAGAIN
	}
	defer s.mu.Unlock()
	return s.lockedBy(s.c.tryLock, f)
}

func (s *Stream) lockedBy(lock func() (func(), error), f func(m *stream.Mem, w *stream.Writer) error) error {
	defer runtime.KeepAlive(s)
	if s.isClosed() {
		return s.whyClosed()
	}
	unlock, err := lock()
	if err != nil {
		return err
	}
	defer unlock()
	if s.isClosed() {
		return s.whyClosed()
	}
	if s.ctl == nil {
		s.c.sweepSelf(true)
		slot, ok := s.c.takeSlot(gone)
		if !ok {
			return errSlots
		}
		w, err := s.c.mem.NewWriter(slot, sys.SelfProc().PID, 1)
		if err != nil {
			s.c.freeSlot(slot)
			return err
		}
		s.ctl = &attachment{c: s.c, w: w}
	}
	return f(s.c.mem, s.ctl.w)
}

// openNames opens the names of the stream's family. The caller holds s.mu.
func (s *Stream) openNames() (*registry.Names, error) {
	defer runtime.KeepAlive(s)
	if s.isClosed() {
		return nil, s.whyClosed()
	}
	if s.names == nil {
		n, err := openNames(s.c.dir, s.c.mem.Family())
		if err != nil {
			return nil, err
		}
		s.names = n
	}
	return s.names, nil
}

// Info describes the stream as List does. Extension.
func (s *Stream) Info() (StreamInfo, error) {
	defer runtime.KeepAlive(s)
	if s.isClosed() {
		return StreamInfo{}, fail("Info", s.whyClosed(), syscall.EINVAL)
	}
	return s.c.info(), nil
}

// Close gives up this connection to the stream without shutting it down, which
// goes on as long as its owner lives: if that is this process, it still flushes the stream to
// the log, if there is one. Blocked reader calls fail with EINVAL. Extension.
func (s *Stream) Close() error {
	defer runtime.KeepAlive(s)
	defer s.lockAll()()
	select {
	case <-s.closed:
		return fail("Close", s.whyClosed(), syscall.EINVAL)
	default:
	}
	if s.log != nil {
		if !s.c.dead() && s.log.passOn() {
			return nil
		}
		go s.log.halt() // it may wait for us
	}
	s.close()
	return nil
}

// lockAll waits for everything that this process does with the stream, the reader calls
// last: with s.read.mu they only try s.mu, so that they need not wait for what else waits.
func (s *Stream) lockAll() (unlock func()) {
	s.mu.Lock()
	s.read.mu.Lock()
	return func() {
		s.read.mu.Unlock()
		s.mu.Unlock()
	}
}

// closeLocked is close for a caller that holds s.mu and, whatever it has waited for, has kept no
// reader call waiting.
func (s *Stream) closeLocked() bool {
	s.read.mu.Lock()
	defer s.read.mu.Unlock()
	return s.close()
}

// close gives everything up that this process has of the stream, once. The caller has
// called lockAll.
func (s *Stream) close() bool {
	defer runtime.KeepAlive(s)
	select {
	case <-s.closed:
		return false
	default:
	}
	s.closeHandle()
	if s.log != nil {
		s.log.close()
	}
	s.c.unpin()
	s.c.f.Close()
	return true
}

// closeHandle ends the use of s and leaves its connection and its log alone. The caller holds s.mu.
func (s *Stream) closeHandle() {
	defer runtime.KeepAlive(s)
	close(s.closed)
	if s.ctl != nil {
		s.ctl.close()
	}
	if s.names != nil {
		s.names.Close()
	}
}

// Start makes a suspended stream record (posix_trace_start).
func (s *Stream) Start() error {
	return s.control("posix_trace_start", func(m *stream.Mem, w *stream.Writer, e stream.Event) error {
		m.Start(w, e)
		return nil
	})
}

// Stop suspends a stream (posix_trace_stop). When it returns no event of a
// traced process is recorded any more.
func (s *Stream) Stop() error {
	return s.control("posix_trace_stop", func(m *stream.Mem, w *stream.Writer, e stream.Event) error {
		m.Stop(w, e)
		return nil
	})
}

// Clear discards all recorded events and the filter; the stream keeps running
// if it was (posix_trace_clear).
func (s *Stream) Clear() error {
	defer runtime.KeepAlive(s)
	if !s.isClosed() && s.c.mem.HasLog && s.log == nil && s.c.mem.LogPolicy != stream.Append {
		// The log is emptied too, which only its owner has.
		const op = "posix_trace_clear"
		err := s.waitServed(op, s.c.mem.AskClear())
		if err == nil && s.isClosed() {
			return fail(op, s.whyClosed(), syscall.EINVAL) // it was shut down instead
		}
		return err
	}
	return s.control("posix_trace_clear", func(m *stream.Mem, w *stream.Writer, e stream.Event) error {
		// From then on no new name has a say in the filter.
		s.whileUnnamed(func() { m.SetPatterns(nil) })
		m.Clear()
		if s.log != nil && s.log.log != nil {
			if err := s.log.log.Clear(); err != nil {
				return err
			}
			s.log.replaced, s.log.marks = 0, 0
		}
		return nil
	})
}
