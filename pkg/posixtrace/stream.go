package posixtrace

import (
	"runtime"
	"sync"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/owner"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Stream is an active trace stream (the trace_id_t of posix_trace_create and
// posix_trace_create_withlog). All methods are safe for concurrent use. After Close or Shutdown,
// and after another process has shut the stream down, each method fails with EINVAL and
// os.ErrClosed. Signals do not interrupt the calls of a Go program: only a call whose context is
// done fails with EINTR.
type Stream struct {
	c   *conn.Conn
	log *owner.Log // if this process owns the stream and it has a log

	mu     sync.Mutex       // one control call of this process at a time
	ctl    *conn.Attachment // the writer of control calls
	closed chan struct{}
	passed bool // the owner of the log goes on with another Stream
	orphan bool // its owner is dead, and this process completes its log

	// A call that needs the names alone does not wait for a control call. Held within mu.
	naming sync.Mutex
	names  *registry.Names
	types  int // position of NextEventType

	madeRoom []StreamInfo // see MadeRoom

	read reading
}

func newStream(c *conn.Conn) *Stream {
	return &Stream{c: c, closed: make(chan struct{})}
}

var errClosed = closedError("the stream is closed")

// whyClosed is the error of a call if isClosed.
func (s *Stream) whyClosed() error {
	defer runtime.KeepAlive(s)
	if s.c.Cut() {
		return conn.ErrCut
	}
	return errClosed
}

// isClosed reports whether this process has closed s, or the stream is dead.
func (s *Stream) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
	}
	dead := s.c.Dead()
	runtime.KeepAlive(s)
	return dead
}

// control runs a control call with the locks and a writer. e is the event that f records for the call.
func (s *Stream) control(op string, f func(m *stream.Mem, w *stream.Writer, e stream.Event) error) error {
	// The trace point of the event is the caller of the method (EVT-09).
	tid, pc := sys.SlowSelf(2)
	return s.controlAt(op, stream.Event{PID: sys.SelfProc().PID, TID: uint32(tid), Addr: pc}, f)
}

// controlAt controls the stream. The event is e.
func (s *Stream) controlAt(op string, e stream.Event, f func(m *stream.Mem, w *stream.Writer, e stream.Event) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fail(op, s.locked(func(m *stream.Mem, w *stream.Writer) error { return f(m, w, e) }), syscall.EINVAL)
}

// locked takes the stream's lock and runs f. The caller holds s.mu.
func (s *Stream) locked(f func(m *stream.Mem, w *stream.Writer) error) error {
	defer runtime.KeepAlive(s)
	return s.lockedBy(s.c.Lock, f)
}

// tryLocked takes s.mu and the stream's lock and runs f. It fails with EAGAIN rather than wait.
func (s *Stream) tryLocked(f func(m *stream.Mem, w *stream.Writer) error) error {
	defer runtime.KeepAlive(s)
	if !s.mu.TryLock() {
		return syscall.EAGAIN
	}
	defer s.mu.Unlock()
	return s.lockedBy(s.c.TryLock, f)
}

// lockedBy runs f with the stream's lock, which lock takes, and with the writer of control calls.
// The caller holds s.mu.
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
		s.c.SweepSelf(true)
		if s.ctl, err = conn.AttachLocked(s.c); err != nil {
			return err
		}
	}
	return f(s.c.Mem, s.ctl.Writer)
}

// openNames returns the names of the stream's family.
func (s *Stream) openNames() (*registry.Names, error) {
	s.naming.Lock()
	defer s.naming.Unlock()
	return s.openNamesLocked()
}

// openNamesLocked opens the names. The caller holds s.naming.
func (s *Stream) openNamesLocked() (*registry.Names, error) {
	defer runtime.KeepAlive(s)
	if s.isClosed() {
		return nil, s.whyClosed()
	}
	if s.names == nil {
		n, err := conn.OpenNames(s.c.Dir, s.c.Mem.Family())
		if err != nil {
			return nil, err
		}
		s.names = n
	}
	return s.names, nil
}

// Info describes the stream as List does. Errors: EINVAL the stream is closed. Extension.
func (s *Stream) Info() (StreamInfo, error) {
	defer runtime.KeepAlive(s)
	if s.isClosed() {
		return StreamInfo{}, fail("Info", s.whyClosed(), syscall.EINVAL)
	}
	return infoOf(s.c), nil
}

// Close ends the use of s and leaves the stream active: its owner's death shuts it down. If this
// process is the owner of a stream with log, it keeps flushing the stream. Blocked reader calls
// fail with EINVAL. Errors: EINVAL s is closed. Extension.
func (s *Stream) Close() error {
	defer runtime.KeepAlive(s)
	defer s.lockAll()()
	select {
	case <-s.closed:
		return fail("Close", s.whyClosed(), syscall.EINVAL)
	default:
	}
	if s.log != nil {
		if !s.c.Dead() {
			s.handOver() // a Shutdown that has halted the owner goes on with the other Stream
			return nil
		}
		go s.log.Halt() // the owner's loop may wait for a lock that we hold
	}
	s.close()
	return nil
}

// handOver closes the application's Stream. The owner of the log continues with another one, unknown to the
// application. The caller has called lockAll.
func (s *Stream) handOver() {
	successor := newStream(s.c)
	s.naming.Lock()
	defer s.naming.Unlock()
	successor.log, successor.ctl, successor.names = s.log, s.ctl, s.names
	s.ctl, s.names = nil, nil
	s.log.PassTo(successor.ownerCalls())
	s.passed = true
	close(s.closed)
	runtime.KeepAlive(s)
}

// ownerCalls returns the calls that the owner of the log makes.
func (s *Stream) ownerCalls() *owner.Calls {
	return &owner.Calls{
		Flush: s.flushLocked, Clear: s.Clear, Recover: s.recoverDead,
		Shutdown: s.shutdownAt,
	}
}

// lockAll waits for all calls of this process on the stream. Reader calls come last: while they
// hold s.read.mu they only try s.mu.
func (s *Stream) lockAll() (unlock func()) {
	s.mu.Lock()
	s.read.mu.Lock()
	return func() {
		s.read.mu.Unlock()
		s.mu.Unlock()
	}
}

// closeLocked closes the Stream. The caller holds s.mu, and reader calls have not waited for it.
func (s *Stream) closeLocked() bool {
	s.read.mu.Lock()
	defer s.read.mu.Unlock()
	return s.close()
}

// close frees the resources of s, once. It reports whether this call did. The caller has called lockAll.
func (s *Stream) close() bool {
	defer runtime.KeepAlive(s)
	select {
	case <-s.closed:
		return false
	default:
	}
	s.closeHandle()
	if s.log != nil {
		s.log.Close()
	}
	s.c.Unpin()
	s.c.File.Close()
	return true
}

// closeHandle ends the use of s and leaves its connection and its log alone. The caller holds s.mu.
func (s *Stream) closeHandle() {
	defer runtime.KeepAlive(s)
	close(s.closed)
	if s.ctl != nil {
		s.ctl.Close()
	}
	s.naming.Lock()
	defer s.naming.Unlock()
	if s.names != nil {
		s.names.Close()
	}
}

// Start starts a suspended stream (posix_trace_start). Errors: EINVAL the stream is closed.
func (s *Stream) Start() error {
	return s.control("posix_trace_start", start)
}

func start(m *stream.Mem, w *stream.Writer, e stream.Event) error {
	m.Start(w, e)
	return nil
}

// Stop suspends a stream (posix_trace_stop). Once it returns, the stream records no event of a
// traced process. Errors: EINVAL the stream is closed.
func (s *Stream) Stop() error {
	return s.control("posix_trace_stop", stop)
}

func stop(m *stream.Mem, w *stream.Writer, e stream.Event) error {
	m.Stop(w, e)
	return nil
}

// Clear discards all recorded events, also those in a log with the policy PolicyLoop or
// PolicyUntilFull, and the filter (posix_trace_clear). A running stream keeps running. Errors:
// EINVAL the stream is closed; those of the log.
func (s *Stream) Clear() error { return s.clearAround(func(discard func()) { discard() }) }

// clearAround is tool.Clear.
func (s *Stream) clearAround(around func(discard func())) error {
	defer runtime.KeepAlive(s)
	if !s.isClosed() && s.c.Mem.HasLog && s.log == nil && s.c.Mem.LogFullPolicy != stream.Append {
		// Clear empties the log, too, and only the owner has the log.
		const op = "posix_trace_clear"
		err := s.waitServed(op, s.c.Mem.AskClear())
		if err == nil && s.isClosed() {
			return fail(op, s.whyClosed(), syscall.EINVAL) // the owner shut the stream down instead
		}
		return err
	}
	return s.control("posix_trace_clear", func(m *stream.Mem, w *stream.Writer, e stream.Event) error {
		// From then on no pattern decides on new names.
		s.whileUnnamed(func() { m.SetPatterns(nil) })
		around(m.Clear)
		if s.log != nil {
			return s.log.Clear()
		}
		return nil
	})
}
