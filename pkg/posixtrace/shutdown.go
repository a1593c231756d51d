package posixtrace

import (
	"cmp"
	"errors"
	"io/fs"
	"runtime"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/hook"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Shutdown stops tracing, flushes and completes the log if there is one, and
// frees everything (posix_trace_shutdown). Resources are freed even when
// completing the log fails with ENOSPC, EFBIG or EIO.
func (s *Stream) Shutdown() error {
	defer runtime.KeepAlive(s)
	const op = "posix_trace_shutdown"
	s.c.checkCut()
	if s.isClosed() {
		if s.c.cut() {
			return fail(op, s.shutdownCut(), syscall.EIO)
		}
		// Who ends because the stream has does not take a shutdown of another goroutine along
		// that has not removed its file yet.
		s.lockAll()()
		return fail(op, s.whyClosed(), syscall.EINVAL)
	}
	if f := hook.BeforeShutdown.Load(); f != nil {
		(*f)(s, false)
	}
	m := s.c.mem
	if m.HasLog && s.log == nil {
		// Only its owner has the log.
		m.AskShutdown()
		for wait := pollBusy; !s.c.dead(); wait = min(2*wait, pollIdle) {
			if s.c.orphaned() {
				if err := s.shutdownOrphan(); err != nil {
					return fail(op, err, syscall.EIO)
				}
				break
			}
			time.Sleep(wait)
			s.c.checkCut()
		}
		if s.c.cut() {
			return fail(op, s.shutdownCut(), syscall.EIO)
		}
		// Its owner is about to remove it, but need not have come to it.
		err := removeStream(s.c, false)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closeLocked()
		if no := m.ShutdownErr(); no != 0 {
			return &Error{Op: op, Err: syscall.Errno(no)}
		}
		return fail(op, err, syscall.EIO)
	}
	if s.log != nil {
		s.log.halt()
	}
	tid, pc := sys.SlowSelf(1)
	e := stream.Event{PID: sys.SelfProc().PID, TID: uint32(tid), Addr: pc}
	s.mu.Lock()
	defer s.mu.Unlock()
	var sealed error
	err := s.locked(func(m *stream.Mem, w *stream.Writer) error {
		m.Stop(w, e)
		if s.log != nil {
			if sealed = s.log.seal(w.Slot()); sealed != nil {
				m.ShutdownFailed(uint32(errnoOf(sealed, syscall.EIO)))
			}
		}
		m.Kill()
		return nil
	})
	if err != nil {
		return fail(op, err, syscall.EINVAL)
	}
	err = removeStream(s.c, false)
	s.closeLocked()
	switch {
	case sealed != nil:
		err = sealed
	case s.log == nil && s.c.cut(): // since the first look
		err = cmp.Or(err, error(errCut))
	}
	return fail(op, err, syscall.EIO)
}

// giveUp shuts down a stream whose file was truncated: there is nothing left to flush. The log keeps
// its contents and gets no seal, so that no reader takes it for the whole. giveUp returns errCut if it
// succeeds.
func (s *Stream) shutdownCut() error {
	defer runtime.KeepAlive(s)
	if s.log != nil {
		s.log.halt()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return errCut
	default:
	}
	// Remove the files first: after the close another process would take the stream for that of a dead
	// owner.
	err := removeStream(s.c, false)
	s.closeLocked()
	if err != nil {
		return err
	}
	return errCut
}

// complete shuts the stream down in the place of its owner, which is dead. Calls of other
// goroutines that find it dead, too, wait for that.
func (s *Stream) shutdownOrphan() error {
	defer runtime.KeepAlive(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return nil // and so does the next process that comes
	default:
	}
	return shutdownOrphan(s.c, false)
}

// bury removes the files of a stream that is shut down. locked tells that the
// caller holds the directory's lock, which is taken before that of a stream, never after.
func removeStream(c *conn, locked bool) error {
	if c.dir.Gone() {
		// Its file went with the directory, and pages with it. Processes that were given a new page
		// took the stream along.
		pinned.Delete(c.id)
		d, err := openDir()
		if err != nil || locked {
			return nil
		}
		unlock, err := d.Lock()
		if err != nil {
			return nil
		}
		defer unlock()
		d.DetachAll(c.id)
		return nil
	}
	if !locked {
		unlock, err := c.dir.Lock()
		if err != nil {
			return err
		}
		defer unlock()
	}
	pinned.Delete(c.id)
	c.dir.DetachAll(c.id)
	if !c.cut() {
		// The traced process keeps the file mapped until it next passes a trace point and then
		// collects its garbage, which may be hours.
		c.mem.Spare(func(off, n int64) { sys.Punch(c.f, off, n) })
	}
	err := c.dir.RemoveStream(c.id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// lastWords calls the function that tool.BeforeShutdown has set for a stream whose owner is dead. The
// caller holds no lock of the stream.
func recordLastEvents(c *conn) {
	f := hook.BeforeShutdown.Load()
	if f == nil || c.dead() {
		return
	}
	c.lent = true
	s := newStream(c)
	(*f)(s, true)
	// The connection stays the caller's.
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.closed)
	if s.ctl != nil {
		s.ctl.close()
	}
	if s.names != nil {
		s.names.Close()
	}
}
