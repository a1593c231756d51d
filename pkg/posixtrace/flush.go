package posixtrace

import (
	"cmp"
	"runtime"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
)

// Flush writes the recorded events to the log (posix_trace_flush). On a stream
// of another living owner it asks the owner, waits and returns the owner's error.
// Errors: EINVAL a stream without log; ENOSPC, EFBIG, EIO as the log's file says.
func (s *Stream) Flush() error {
	defer runtime.KeepAlive(s)
	const op = "posix_trace_flush"
	if s.isClosed() {
		return fail(op, s.whyClosed(), syscall.EINVAL)
	}
	m := s.c.mem
	if !m.HasLog {
		return einval(op, "a stream without log")
	}
	if s.log != nil {
		return fail(op, s.flushLocked(false), syscall.EIO)
	}
	return s.waitServed(op, m.AskFlush())
}

// RequestFlush asks the owner of a stream with log for a flush and does not
// wait. Extension.
func (s *Stream) RequestFlush() error {
	defer runtime.KeepAlive(s)
	const op = "RequestFlush"
	if s.isClosed() {
		return fail(op, s.whyClosed(), syscall.EINVAL)
	}
	if !s.c.mem.HasLog {
		return einval(op, "a stream without log")
	}
	if s.log != nil {
		return s.Flush()
	}
	if s.c.orphaned() {
		return fail(op, s.shutdownOrphan(), syscall.EIO)
	}
	s.c.mem.AskFlush()
	return nil
}

// flushLocked is a flush by the owner, and with sync, or if the stream says so, on to the
// device.
func (s *Stream) flushLocked(sync bool) error {
	defer runtime.KeepAlive(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.locked(func(m *stream.Mem, w *stream.Writer) error {
		if err := s.log.flush(w.Slot()); err != nil {
			return err
		}
		m.Restart(w)
		return nil
	})
	if err == nil && (sync || s.c.mem.Sync()) {
		err = s.log.sync()
	}
	return err
}

// served waits until the owner has done what was asked for.
func (s *Stream) waitServed(op string, ticket uint32) error {
	defer runtime.KeepAlive(s)
	m := s.c.mem
	for wait := pollBusy; ; wait = min(2*wait, pollIdle) {
		if no, done := m.FlushDone(ticket); done {
			if no == 0 {
				return nil
			}
			return &Error{Op: op, Err: syscall.Errno(no)}
		}
		// The owner, whom we ask, may know already that the file was cut short.
		if s.c.checkCut(); s.c.cut() {
			return fail(op, errCut, syscall.EIO)
		}
		if s.c.dead() {
			return nil // a shutdown flushes
		}
		if s.c.orphaned() {
			return fail(op, s.shutdownOrphan(), syscall.EIO)
		}
		select {
		case <-s.closed:
			return fail(op, s.whyClosed(), syscall.EINVAL)
		case <-time.After(wait):
		}
	}
}

// Sync is Flush, and returns when the log is on its device (fsync(2)): what was recorded
// before outlives a loss of power. Once the device has failed to take something every
// later Sync fails, too, because that is not made good. Errors: those of Flush;
// EINVAL also a log that is no regular file. Extension.
func (s *Stream) Sync() error {
	defer runtime.KeepAlive(s)
	const op = "Sync"
	if err := s.syncable(op); err != nil {
		return err
	}
	if s.log != nil {
		err := s.flushLocked(true)
		return fail(op, cmp.Or(err, s.c.syncName()), syscall.EIO)
	}
	var err error
	for again := true; again && err == nil; {
		ticket := s.c.mem.AskSync()
		err = s.waitServed(op, ticket)
		again = !s.c.mem.Synced(ticket) && !s.isClosed()
	}
	if err == nil && s.isClosed() {
		err = s.c.syncLog() // it was shut down instead
	}
	return fail(op, cmp.Or(err, s.c.syncName()), syscall.EIO)
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
	s.c.mem.SetSync(on)
	if !on {
		return nil
	}
	if s.log != nil && s.log.held.Load() {
		// BeginLog does it. Whether the device takes anything at all shows now.
		s.mu.Lock()
		defer s.mu.Unlock()
		return fail("SetSync", s.log.f.Sync(), syscall.EIO)
	}
	return s.Sync()
}

// syncable checks that the stream has a log that can be brought to a device.
func (s *Stream) syncable(op string) error {
	defer runtime.KeepAlive(s)
	switch {
	case s.isClosed():
		return fail(op, errClosed, syscall.EINVAL)
	case !s.c.mem.HasLog:
		return einval(op, "a stream without log")
	case !s.c.mem.LogFile:
		return einval(op, "the log is not a regular file")
	}
	return nil
}

// BeginLog begins the log of a stream that was created with Attr.HoldLog, by its owner. Until
// then nothing is written to the log's file: events stay in the stream, Flush fails
// with EAGAIN, and Shutdown leaves the file as it is. Where BeginLog fails, each flush tries
// again. After SetSync the log is on its device, as after Sync. Errors: EINVAL this process
// does not own a log; those of Flush and Sync. Extension.
func (s *Stream) BeginLog() error {
	const op = "BeginLog"
	defer runtime.KeepAlive(s)
	if s.log == nil {
		return einval(op, "no log of this process's")
	}
	s.mu.Lock()
	err := s.locked(func(*stream.Mem, *stream.Writer) error {
		s.log.held.Store(false)
		return s.log.begin()
	})
	s.mu.Unlock()
	if err == nil && s.c.mem.Sync() {
		return s.Sync()
	}
	return fail(op, err, syscall.EIO)
}

// SetLogTimeout bounds how long a write to the log waits for a reader that takes nothing, one that
// is under way included, in the process that owns the stream. Then the write fails with
// ETIMEDOUT, the log ends there, and what it lacks counts as lost. 0, the default, is no bound. The log
// must be a pipe, FIFO, socket or terminal that was in non-blocking mode when the stream was
// created. It may be called while another call waits. Errors: EINVAL it is not. Extension.
func (s *Stream) SetLogTimeout(d time.Duration) error {
	const op = "SetLogTimeout"
	defer runtime.KeepAlive(s)
	if s.log == nil || d < 0 {
		return einval(op, "no log of this process's")
	}
	if s.log.setTimeout(d) != nil {
		return einval(op, "the log knows no deadline")
	}
	return nil
}
