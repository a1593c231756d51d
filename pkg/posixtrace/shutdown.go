package posixtrace

import (
	"cmp"
	"runtime"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/owner"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Shutdown stops tracing, flushes and completes the log if there is one, and frees the stream
// (posix_trace_shutdown). The log has, or counts as lost, each event whose call returned before; an event
// that is under way, whose process perhaps is stopped, may be in neither. Shutdown frees the stream even if
// completing the log fails with ENOSPC, EFBIG or EIO. If another process owns a stream with log, Shutdown asks the owner, waits, and returns
// the owner's error. Errors: EINVAL the stream is closed; EIO its file was truncated, or those of
// the log.
func (s *Stream) Shutdown() error {
	// The caller of Shutdown is the trace point of the STOP event.
	tid, pc := sys.SlowSelf(1)
	return s.shutdownAt(stream.Event{PID: sys.SelfProc().PID, TID: uint32(tid), Addr: pc})
}

// shutdownAt shuts the stream down. e becomes its STOP event.
func (s *Stream) shutdownAt(e stream.Event) error {
	defer runtime.KeepAlive(s)
	const op = "posix_trace_shutdown"
	s.c.CheckCut()
	if s.isClosed() {
		if s.c.Cut() {
			return fail(op, s.shutdownCut(), syscall.EIO)
		}
		s.removeDead()
		return fail(op, s.whyClosed(), syscall.EINVAL)
	}
	if f := beforeShutdown.Load(); f != nil {
		(*f)(s, 0)
	}
	if s.c.Mem.HasLog && s.log == nil {
		return fail(op, s.shutdownByOwner(), syscall.EIO)
	}
	return fail(op, s.shutdownOwn(e), syscall.EIO)
}

// removeDead waits for a concurrent Shutdown to remove the file, because the process may exit when the
// caller returns. If the handle is not closed, removeDead removes the file itself: the shutdown was
// another process's, which may have been killed before, or a process has written into the header.
func (s *Stream) removeDead() {
	defer runtime.KeepAlive(s)
	defer s.lockAll()()
	select {
	case <-s.closed:
	default:
		conn.Remove(s.c, false)
	}
}

// shutdownOwn shuts down a stream without log, or one whose log this process owns. e is the STOP event.
func (s *Stream) shutdownOwn(e stream.Event) error {
	defer runtime.KeepAlive(s)
	if s.log != nil {
		s.log.Halt()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.passed { // by a Close since Halt
		return s.log.Shutdown(e)
	}
	var sealed error
	err := s.locked(func(m *stream.Mem, w *stream.Writer) error {
		s.c.RecoverWriters() // a stream that is stopped counts no event that a dead writer owes
		m.Stop(w, e)
		if s.log != nil {
			sealed = s.log.Seal(w.Slot())
		}
		m.Kill()
		return nil
	})
	if err != nil && s.c.Cut() {
		return s.removeCut()
	}
	if err != nil {
		return fail("", err, syscall.EINVAL)
	}
	err = conn.Remove(s.c, false)
	s.closeLocked()
	switch {
	case sealed != nil:
		return sealed
	case s.log == nil && s.c.Cut(): // since the first look
		return cmp.Or(err, error(conn.ErrCut))
	}
	return err
}

// shutdownByOwner has the owner of a stream with log shut it down, since only the owner has the
// log. If the owner is dead, this process takes its place.
func (s *Stream) shutdownByOwner() error {
	defer runtime.KeepAlive(s)
	m := s.c.Mem
	m.AskShutdown()
	for wait := owner.PollBusy; !s.c.Dead(); wait = min(2*wait, owner.PollIdle) {
		if s.c.Orphaned() {
			if err := s.shutdownOrphan(); err != nil {
				return err
			}
			break
		}
		time.Sleep(wait)
		s.c.CheckCut()
	}
	if s.c.Cut() {
		return s.shutdownCut()
	}
	// The owner may not have removed the file yet.
	err := conn.Remove(s.c, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeLocked()
	if no := m.ShutdownErr(); no != 0 {
		return &Error{Err: syscall.Errno(no)}
	}
	return err
}

// shutdownCut shuts down a stream whose file was truncated: there is nothing left to flush. The log
// keeps its contents and gets no seal, so that no reader takes it for the whole. shutdownCut
// returns conn.ErrCut if it succeeds.
func (s *Stream) shutdownCut() error {
	defer runtime.KeepAlive(s)
	if s.log != nil {
		s.log.Halt()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		if s.passed {
			return s.log.Shutdown(stream.Event{})
		}
		return conn.ErrCut
	default:
	}
	return s.removeCut()
}

// removeCut removes and closes a stream whose file was truncated. The caller holds s.mu, and has halted the
// owner of the log.
func (s *Stream) removeCut() error {
	defer runtime.KeepAlive(s)
	// Remove the files first: after the close another process would take the stream for that of a dead
	// owner.
	err := conn.Remove(s.c, false)
	s.closeLocked()
	if err != nil {
		return err
	}
	return conn.ErrCut
}

// shutdownOrphan shuts the stream down in place of its dead owner. Calls of other goroutines that
// find the stream dead wait for it.
func (s *Stream) shutdownOrphan() error {
	defer runtime.KeepAlive(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return nil // the next process that finds the stream completes it
	default:
	}
	return completeOrphan(s.c, false)
}

// completeOrphan shuts down a stream whose owner is dead, as Shutdown by the owner would have done
// (SHU-06). locked reports that the caller holds the directory's lock: the stream has no log then, and
// completeOrphan fails with EAGAIN rather than wait for the stream's lock.
func completeOrphan(c *conn.Conn, locked bool) error {
	if locked {
		return owner.ShutdownOrphan(c, c.TryLock, true, recordLastEvents)
	}
	return owner.ShutdownOrphan(c, c.Lock, false, recordLastEvents)
}

// completeOrphanSoon completes the log of an orphan. It waits a bounded time for the stream's lock: the call
// can go on without the stream.
func completeOrphanSoon(c *conn.Conn) error {
	lock := func() (func(), error) { return c.LockWithin(orphanWait) }
	return owner.ShutdownOrphan(c, lock, false, recordLastEvents)
}

// orphanWait bounds how long a call for other streams waits for the lock of an orphan. The process that
// holds it may be stopped.
var orphanWait = 2 * time.Second

// shutdownOrphans shuts down the streams of dead owners and completes their logs. The caller does not hold
// the directory's lock.
func shutdownOrphans(d *registry.Dir) {
	ids, err := d.StreamIDs()
	if err != nil {
		return
	}
	for _, id := range ids {
		c, err := conn.Open(d, id)
		if err != nil {
			continue
		}
		if c.Orphaned() {
			completeOrphanSoon(c)
		}
		c.Release()
	}
}

// recordLastEvents calls the function that tool.BeforeShutdown has set, for a stream whose owner is
// dead. The caller holds no lock of the stream, and keeps the connection.
func recordLastEvents(c *conn.Conn) {
	f := beforeShutdown.Load()
	if f == nil || c.Dead() {
		return
	}
	c.Lent = true
	s := newStream(c)
	s.orphan = true
	(*f)(s, c.Mem.OwnClock().Nanos(c.Mem.LastLife()))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeHandle()
}
