package posixtrace

import (
	"cmp"
	"runtime"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/owner"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
)

// Flush writes the recorded events to the log (posix_trace_flush). If another process owns the
// stream, Flush asks the owner, waits, and returns the owner's error. Errors: EINVAL a stream
// without log, or closed; ENOSPC, EFBIG or EIO from the log's file.
func (s *Stream) Flush() error {
	defer runtime.KeepAlive(s)
	const op = "posix_trace_flush"
	if s.isClosed() {
		return fail(op, s.whyClosed(), syscall.EINVAL)
	}
	m := s.c.Mem
	if !m.HasLog {
		return einval(op, "a stream without log")
	}
	if s.log != nil {
		return fail(op, s.flushLocked(false), syscall.EIO)
	}
	return s.waitServed(op, m.AskFlush())
}

// RequestFlush asks the owner of a stream with log for a flush and does not wait for it. If this
// process is the owner it flushes. Errors: those of Flush. Extension.
func (s *Stream) RequestFlush() error {
	defer runtime.KeepAlive(s)
	const op = "RequestFlush"
	if s.isClosed() {
		return fail(op, s.whyClosed(), syscall.EINVAL)
	}
	if !s.c.Mem.HasLog {
		return einval(op, "a stream without log")
	}
	if s.log != nil {
		return s.Flush()
	}
	if s.c.Orphaned() {
		return fail(op, s.shutdownOrphan(), syscall.EIO)
	}
	s.c.Mem.AskFlush()
	return nil
}

// flushLocked flushes the log of this process, and syncs it if sync is set or the stream requires
// it (SetSync).
func (s *Stream) flushLocked(sync bool) error {
	defer runtime.KeepAlive(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.locked(func(m *stream.Mem, w *stream.Writer) error {
		if err := s.log.Flush(w.Slot(), false); err != nil {
			return err
		}
		m.Restart(w)
		return nil
	})
	if err == nil && (sync || s.c.Mem.Sync()) {
		err = s.log.Sync()
	}
	return err
}

// waitServed waits until the owner has served the request with that ticket.
func (s *Stream) waitServed(op string, ticket uint32) error {
	defer runtime.KeepAlive(s)
	m := s.c.Mem
	for wait := owner.PollBusy; ; wait = min(2*wait, owner.PollIdle) {
		if no, done := m.FlushDone(ticket); done {
			if no == 0 {
				return nil
			}
			return &Error{Op: op, Err: syscall.Errno(no)}
		}
		// The owner may have noticed a truncated file that this process has not.
		if s.c.CheckCut(); s.c.Cut() {
			return fail(op, conn.ErrCut, syscall.EIO)
		}
		if s.c.Dead() {
			return nil // a shutdown flushes
		}
		if s.c.Orphaned() {
			return fail(op, s.shutdownOrphan(), syscall.EIO)
		}
		select {
		case <-s.closed:
			return fail(op, s.whyClosed(), syscall.EINVAL)
		case <-time.After(wait):
		}
	}
}

// Sync flushes, and returns when the log is on its device (fsync(2)): events recorded before the
// call survive a loss of power. After the device has failed once, every later Sync fails, because
// the kernel does not write the lost pages again. Errors: those of Flush; EINVAL the log is not a
// regular file. Extension.
func (s *Stream) Sync() error {
	defer runtime.KeepAlive(s)
	const op = "Sync"
	if err := s.syncable(op); err != nil {
		return err
	}
	if s.log != nil {
		err := s.flushLocked(true)
		return fail(op, cmp.Or(err, s.c.SyncName()), syscall.EIO)
	}
	var err error
	for again := true; again && err == nil; {
		ticket := s.c.Mem.AskSync()
		err = s.waitServed(op, ticket)
		again = !s.c.Mem.Synced(ticket) && !s.isClosed()
	}
	if err == nil && s.isClosed() {
		err = s.c.SyncLog() // the owner shut the stream down instead
	}
	return fail(op, cmp.Or(err, s.c.SyncName()), syscall.EIO)
}

// SetSync sets whether each later flush, of any process, and Shutdown return only when the log is on its
// device, as after Sync. With StreamFullPolicy PolicyFlush, which flushes every second, a loss of power
// then costs about a second of events. Writers never wait for the device, but a stream too small for the
// events that arrive meanwhile loses events earlier. Errors: those of Sync. Extension.
func (s *Stream) SetSync(on bool) error {
	defer runtime.KeepAlive(s)
	if err := s.syncable("SetSync"); err != nil {
		return err
	}
	s.c.Mem.SetSync(on)
	if !on {
		return nil
	}
	if s.log != nil && s.log.Held() {
		// BeginLog syncs. A device that fails shows now.
		s.mu.Lock()
		defer s.mu.Unlock()
		return fail("SetSync", s.log.SyncFile(), syscall.EIO)
	}
	return s.Sync()
}

// syncable checks that the stream has a log in a regular file.
func (s *Stream) syncable(op string) error {
	defer runtime.KeepAlive(s)
	switch {
	case s.isClosed():
		return fail(op, errClosed, syscall.EINVAL)
	case !s.c.Mem.HasLog:
		return einval(op, "a stream without log")
	case !s.c.Mem.LogFile:
		return einval(op, "the log is not a regular file")
	}
	return nil
}

// BeginLog starts the log of a stream that this process has created with Attr.HoldLog, in place of
// the contents of the file. Until then the package leaves the file alone: events stay in the stream,
// Flush fails with EAGAIN, and Shutdown writes nothing. A Shutdown by another process starts the log. If BeginLog fails, each later flush retries. After SetSync it
// returns when the log is on its device. Errors: EINVAL this process does not own the stream, or
// the stream has no log; those of Flush and Sync. Extension.
func (s *Stream) BeginLog() error {
	const op = "BeginLog"
	defer runtime.KeepAlive(s)
	if s.log == nil {
		return einval(op, "this process owns no log of the stream")
	}
	s.mu.Lock()
	err := s.locked(func(*stream.Mem, *stream.Writer) error {
		return s.log.BeginHeld()
	})
	s.mu.Unlock()
	if err == nil && s.c.Mem.Sync() {
		return s.Sync()
	}
	return fail(op, err, syscall.EIO)
}

// SetLogTimeout bounds how long a write to the log, also one under way, waits for the reader of a
// pipe. After d the write fails with ETIMEDOUT, the log ends there, and the rest of the events
// counts as lost. 0, the default, means no bound. Only the owner may call it. The log must be a
// pipe, FIFO, socket or terminal that was in non-blocking mode when the stream was created. Errors:
// EINVAL otherwise. Extension.
func (s *Stream) SetLogTimeout(d time.Duration) error {
	const op = "SetLogTimeout"
	defer runtime.KeepAlive(s)
	if s.log == nil || d < 0 {
		return einval(op, "this process owns no log of the stream")
	}
	if s.log.SetTimeout(d) != nil {
		return einval(op, "the log supports no deadline")
	}
	return nil
}
