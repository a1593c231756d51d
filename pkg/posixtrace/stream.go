package posixtrace

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/hook"
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

// cut reports whether the stream was lost because somebody has cut its file short. It
// is then a dead one, and empty, to those who have come upon that.
func (c *conn) cut() bool { return c.guard.Cut() }

// dead reports whether the stream is over. In this order: whoever comes upon the cut sees
// zeros a moment before it is marked, and may be interrupted in between.
func (c *conn) dead() bool { return c.mem.State()&stream.Dead != 0 || c.cut() }

// probe comes upon it if the file was cut short, also where this process would otherwise
// touch nothing of what is gone.
func (c *conn) probe() {
	b := c.mem.Bytes()
	(*atomic.Uint32)(unsafe.Pointer(&b[(len(b)-1)&^3])).Load()
}

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

// Adopt makes pid, a child started since CreateForChild, the process the stream
// traces. Errors: ESRCH, EPERM, EINVAL when the stream already has a process. Extension.
func (s *Stream) Adopt(pid int) error {
	defer runtime.KeepAlive(s)
	const op = "Adopt"
	p, err := sys.Lookup(pid)
	if err == nil {
		err = sys.MayTrace(p)
	}
	if err != nil {
		return fail(op, err, syscall.ESRCH)
	}
	if s.isClosed() {
		return fail(op, s.whyClosed(), syscall.EINVAL)
	}
	m := s.c.mem
	if m.Target().PID != 0 {
		return einval(op, "the stream traces process %d already", m.Target().PID)
	}
	unlock, err := s.c.dir.Lock()
	if err != nil {
		return fail(op, err, syscall.EINVAL)
	}
	defer unlock()
	m.SetTarget(p)
	flags := registry.Self
	if m.Inherit {
		flags |= registry.Inherit
	}
	// The child has its page before the entry it may inherit from goes away.
	page, err := s.c.dir.Page(p, true)
	if err == nil {
		// A child started by way of another process inherits nothing of a stream
		// that is not inherited, and would name its events in a family of its
		// own. One that has named some already stays where it is.
		page.SetFamily(m.Family())
		err = page.Attach(s.c.id, flags)
		page.Close()
	}
	if own, e := s.c.dir.Page(sys.SelfProc(), false); e == nil {
		own.Detach(s.c.id)
		own.Close()
	}
	return fail(op, err, syscall.EAGAIN)
}

// Attach connects to an active stream of the same user by name or, when it
// contains a slash, by the path of its file (StreamInfo.Path). Streams that a process
// which is gone has left behind count only if there is no other of that name. The
// caller does not become its owner. Errors: ENOENT no such stream; EEXIST several of that
// name; EACCES not ours; EINVAL not a stream. Extension.
func Attach(nameOrPath string) (*Stream, error) {
	const op = "Attach"
	if strings.Contains(nameOrPath, "/") {
		c, err := openPath(nameOrPath)
		if err != nil {
			return nil, fail(op, err, syscall.EINVAL)
		}
		if c.dead() {
			cut := c.cut()
			c.release()
			if cut {
				return nil, fail(op, errCut, syscall.EIO)
			}
			return nil, &Error{Op: op, Err: syscall.ENOENT, Cause: errDead}
		}
		if c.orphaned() {
			err := complete(c, false)
			c.release()
			if err != nil {
				return nil, fail(op, err, syscall.EIO)
			}
			return nil, &Error{Op: op, Err: syscall.ENOENT, Cause: errDead}
		}
		return newStream(c), nil
	}
	var living, stale []*conn
	err := eachStream(func(c *conn) error {
		switch {
		case c.mem.Name != nameOrPath:
			c.release()
		case c.stale():
			stale = append(stale, c)
		default:
			living = append(living, c)
		}
		return nil
	})
	found := living
	if len(found) == 0 {
		found = stale
	}
	switch {
	case err != nil:
	case len(found) == 0:
		err = syscall.ENOENT
	case len(found) > 1:
		err = syscall.EEXIST
	}
	for _, c := range append(living, stale...) {
		if err != nil || c != found[0] {
			c.release()
		}
	}
	if err != nil {
		return nil, fail(op, err, syscall.EIO)
	}
	return newStream(found[0]), nil
}

// eachStream calls f for every active stream of the user, which takes it over,
// and shuts down those whose owner is dead on the way.
func eachStream(f func(c *conn) error) error {
	d, err := openDir()
	if err != nil {
		return err
	}
	ids, err := d.StreamIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		c, err := openStream(d, id)
		if errors.Is(err, stream.ErrFormat) {
			discard(d, id)
		}
		if err != nil {
			continue // gone meanwhile, or no stream at all
		}
		if c.dead() || c.orphaned() {
			// One that cannot be completed now, on a full disk say, is left to the next who comes.
			complete(c, false)
			c.release()
			continue
		}
		if err := f(c); err != nil {
			return err
		}
	}
	return nil
}

// discard removes what is left of a stream whose file was cut short or overwritten:
// nobody can come to it any more.
func discard(d *registry.Dir, id uint64) {
	unlock, err := d.Lock()
	if err != nil {
		return
	}
	defer unlock()
	d.DetachAll(id)
	d.RemoveStream(id)
}

// StreamInfo describes an active stream in a list. Extension.
type StreamInfo struct {
	Name       string
	Path       string // of the stream's file
	PID        int    // the traced process; 0 when there is none yet
	Owner      int    // the process whose death shuts the stream down
	LogPath    string // "" without log
	Status     RunStatus
	Full       FullStatus
	CreateTime time.Time
	Stale      bool // handed over without log, and its process is gone: see Stream.Handover
}

// List returns the active streams of the user, oldest first. Streams whose
// owner died are shut down on the way, their logs completed. Extension.
func List() ([]StreamInfo, error) {
	var list []StreamInfo
	err := eachStream(func(c *conn) error {
		list = append(list, c.info())
		c.release()
		return nil
	})
	slices.SortFunc(list, func(a, b StreamInfo) int {
		if n := a.CreateTime.Compare(b.CreateTime); n != 0 {
			return n
		}
		return strings.Compare(a.Path, b.Path)
	})
	return list, fail("List", err, syscall.EIO)
}

func (c *conn) info() StreamInfo {
	m := c.mem
	st := m.Status(false)
	i := StreamInfo{
		Name: m.Name, Path: c.path, PID: int(m.Target().PID), Owner: int(m.Owner().PID),
		LogPath: m.LogPath, CreateTime: m.Created(), Stale: c.stale(),
	}
	i.Status, i.Full = runStatus(st.Running), fullStatus(st.Full)
	return i
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
	close(s.closed)
	if s.ctl != nil {
		s.ctl.close()
	}
	if s.log != nil {
		s.log.close()
	}
	if s.names != nil {
		s.names.Close()
	}
	s.c.let()
	s.c.f.Close()
	return true
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
		err := s.served(op, s.c.mem.AskClear())
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
	return s.served(op, m.AskFlush())
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
		err = s.served(op, ticket)
		again = !s.c.mem.Synced(ticket) && !s.isClosed()
	}
	if err == nil && s.isClosed() {
		err = s.c.syncLog() // it was shut down instead
	}
	return fail(op, cmp.Or(err, s.c.syncName()), syscall.EIO)
}

// SetSync says whether from now on each flush, whoever asks for it, and Shutdown return
// only when the log is on its device, as after Sync. With StreamFullPolicy PolicyFlush, which
// flushes every second, a loss of power then costs about a second of events.
// Writers never wait for the device, but a stream that is too small for the time that it
// takes loses events earlier. Errors: those of Sync. Extension.
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

// served waits until the owner has done what was asked for.
func (s *Stream) served(op string, ticket uint32) error {
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
		if s.c.probe(); s.c.cut() {
			return fail(op, errCut, syscall.EIO)
		}
		if s.c.dead() {
			return nil // a shutdown flushes
		}
		if s.c.orphaned() {
			return fail(op, s.complete(), syscall.EIO)
		}
		select {
		case <-s.closed:
			return fail(op, s.whyClosed(), syscall.EINVAL)
		case <-time.After(wait):
		}
	}
}

// complete shuts the stream down in the place of its owner, which is dead. Calls of other
// goroutines that find it dead, too, wait for that.
func (s *Stream) complete() error {
	defer runtime.KeepAlive(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return nil // and so does the next process that comes
	default:
	}
	return complete(s.c, false)
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
		return fail(op, s.complete(), syscall.EIO)
	}
	s.c.mem.AskFlush()
	return nil
}

// Shutdown stops tracing, flushes and completes the log if there is one, and
// frees everything (posix_trace_shutdown). Resources are freed even when
// completing the log fails with ENOSPC, EFBIG or EIO.
func (s *Stream) Shutdown() error {
	defer runtime.KeepAlive(s)
	const op = "posix_trace_shutdown"
	s.c.probe()
	if s.isClosed() {
		if s.c.cut() {
			return fail(op, s.giveUp(), syscall.EIO)
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
				if err := s.complete(); err != nil {
					return fail(op, err, syscall.EIO)
				}
				break
			}
			time.Sleep(wait)
			s.c.probe()
		}
		if s.c.cut() {
			return fail(op, s.giveUp(), syscall.EIO)
		}
		// Its owner is about to remove it, but need not have come to it.
		err := bury(s.c, false)
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
	err = bury(s.c, false)
	s.closeLocked()
	switch {
	case sealed != nil:
		err = sealed
	case s.log == nil && s.c.cut(): // since the first look
		err = cmp.Or(err, error(errCut))
	}
	return fail(op, err, syscall.EIO)
}

// giveUp is the shutdown of a stream whose file was cut short: there is nothing left to
// flush. The log keeps what it has and is not sealed, so that nobody takes it for
// the whole. It returns errCut when all went well.
func (s *Stream) giveUp() error {
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
	// First the files: whoever found them after the close would take the stream for one
	// whose owner is dead.
	err := bury(s.c, false)
	s.closeLocked()
	if err != nil {
		return err
	}
	return errCut
}

// Handover makes pid the owner of the stream: its death, not the caller's,
// shuts a stream with log down. One without log stays then, to be read, until it is shut down
// or its room is needed for another (Stream.MadeRoom). Errors: ESRCH, EPERM. Extension.
func (s *Stream) Handover(pid int) error {
	defer runtime.KeepAlive(s)
	const op = "Handover"
	p, err := sys.Lookup(pid)
	if err == nil && p != sys.SelfProc() {
		err = sys.MayTrace(p)
	}
	if err != nil {
		return fail(op, err, syscall.ESRCH)
	}
	return s.control(op, func(m *stream.Mem, w *stream.Writer, e stream.Event) error {
		s.c.let()
		m.SetHeld(false)
		m.SetOwner(p)
		if !m.HasLog {
			m.SetHandedOver()
		}
		return nil
	})
}

// Status returns the state of the stream and resets what the standard resets by
// reading: the overrun states and the flush error (posix_trace_get_status).
func (s *Stream) Status() (Status, error) {
	return s.status("posix_trace_get_status", true)
}

func (s *Stream) status(op string, reset bool) (Status, error) {
	defer runtime.KeepAlive(s)
	if s.isClosed() {
		return Status{}, fail(op, s.whyClosed(), syscall.EINVAL)
	}
	st := s.c.mem.Status(reset)
	if s.c.cut() { // what was read may be zeros
		return Status{}, fail(op, errCut, syscall.EINVAL)
	}
	return toStatus(st), nil
}

// PeekStatus is Status without the resets. Extension.
func (s *Stream) PeekStatus() (Status, error) { return s.status("PeekStatus", false) }

// Attr returns the stream's attributes with the sizes and policies really used
// (posix_trace_get_attr).
func (s *Stream) Attr() (StreamAttr, error) {
	defer runtime.KeepAlive(s)
	if s.isClosed() {
		return StreamAttr{}, fail("posix_trace_get_attr", s.whyClosed(), syscall.EINVAL)
	}
	return s.c.attr(), nil
}

func (c *conn) attr() StreamAttr {
	m := c.mem
	a := StreamAttr{
		Name: m.Name, StreamFullPolicy: policy(m.Policy), LogFullPolicy: policy(m.LogPolicy),
		StreamSize: m.MinSize, MaxDataSize: m.MaxData, LogSize: m.LogMax,
		GenerationVersion: m.GenVersion, CreateTime: m.Created(), ClockResolution: time.Duration(m.ClockRes),
	}
	if m.Inherit {
		a.Inheritance = InheritChildren
	}
	return a
}

// policy turns a stored policy into a FullPolicy.
func policy(p uint8) FullPolicy {
	switch p {
	case stream.Loop:
		return PolicyLoop
	case stream.UntilFull:
		return PolicyUntilFull
	case stream.Flush:
		return PolicyFlush
	case stream.Append:
		return PolicyAppend
	}
	return PolicyDefault
}

// FilterHow says how SetFilter combines a set with the filter.
type FilterHow uint8

// The ways to change a filter.
const (
	FilterSet FilterHow = iota // POSIX_TRACE_SET_EVENTSET: the filter becomes the set
	FilterAdd                  // POSIX_TRACE_ADD_EVENTSET: reject the set too
	FilterSub                  // POSIX_TRACE_SUB_EVENTSET: accept the set again
)

// SetFilter changes which event types the stream rejects
// (posix_trace_set_filter). Patterns set before (see FilterOps) are dropped by
// SetEventSet and kept by the others. Errors: EINVAL no such how.
func (s *Stream) SetFilter(set EventSet, how FilterHow) error {
	const op = "posix_trace_set_filter"
	if how > FilterSub {
		return einval(op, "no such way to change a filter: %d", how)
	}
	return s.control(op, func(m *stream.Mem, w *stream.Writer, e stream.Event) error {
		s.whileUnnamed(func() {
			f := m.Filter()
			combine(&f, &set.s, how)
			if how == FilterSet {
				m.SetPatterns(nil)
			}
			m.SetFilter(w, e, &f)
		})
		return nil
	})
}

// whileNamed runs f, which changes the filter, with the event types of the stream's family
// while none is added. Who registers a name lets the patterns decide on it under the
// lock of the names and without that of the stream: names come last among the locks. The
// caller holds s.mu and the stream's lock.
func (s *Stream) whileNamed(f func(known []registry.Type) error) error {
	names, err := s.openNames()
	if err != nil {
		return err
	}
	return names.While(f)
}

// whileUnnamed is whileNamed for what needs no names. If they cannot be had, as a rule none
// can be added either.
func (s *Stream) whileUnnamed(f func()) {
	done := false
	s.whileNamed(func([]registry.Type) error {
		f()
		done = true
		return nil
	})
	if !done {
		f()
	}
}

func combine(f, set *event.Set, how FilterHow) {
	switch how {
	case FilterSet:
		*f = *set
	case FilterAdd:
		f.Or(set)
	case FilterSub:
		f.AndNot(set)
	}
}

// Filter returns the set of rejected event types (posix_trace_get_filter).
func (s *Stream) Filter() (EventSet, error) {
	defer runtime.KeepAlive(s)
	if s.isClosed() {
		return EventSet{}, fail("posix_trace_get_filter", s.whyClosed(), syscall.EINVAL)
	}
	return EventSet{s.c.mem.Filter()}, nil
}

// FilterOp is one step of FilterOps: reject or accept again the types of Set
// and the types whose name matches a pattern, also those registered later.
// A pattern is a literal name or a glob with * and ?.
type FilterOp struct {
	How      FilterHow
	Set      EventSet
	Patterns []string
}

// FilterOps applies the steps in order and records one FILTER event for all of
// them. Of several patterns that match a new name the last decides. Errors:
// EINVAL a malformed pattern, or more than 64 of them. Extension.
func (s *Stream) FilterOps(ops []FilterOp) error {
	const op = "FilterOps"
	return s.control(op, func(m *stream.Mem, w *stream.Writer, e stream.Event) error {
		return s.whileNamed(func(known []registry.Type) error {
			f, ps := m.Filter(), m.Patterns()
			for _, o := range ops {
				set := o.Set.s
				for _, glob := range o.Patterns {
					if len(glob) > stream.MaxPattern {
						return einval(op, "pattern of %d bytes", len(glob))
					}
					for _, t := range known {
						if stream.Match(glob, t.Name) {
							set.Add(t.ID)
						}
					}
				}
				combine(&f, &set, o.How)
				if o.How == FilterSet {
					ps = nil
				}
				for _, glob := range o.Patterns {
					ps = append(ps, stream.Pattern{Reject: o.How != FilterSub, Glob: glob})
				}
				if o.How > FilterSub {
					return einval(op, "no such way to change a filter: %d", o.How)
				}
			}
			if len(ps) > stream.MaxPatterns {
				return einval(op, "%d patterns; %d is the most", len(ps), stream.MaxPatterns)
			}
			m.SetPatterns(ps)
			m.SetFilter(w, e, &f)
			return nil
		})
	})
}

// EventID returns the id of a user event name in the traced process, which need
// not have registered it (posix_trace_trid_eventid_open). Errors: ENAMETOOLONG.
func (s *Stream) EventID(name string) (EventID, error) {
	defer runtime.KeepAlive(s)
	const op = "posix_trace_trid_eventid_open"
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := s.openNames()
	if err != nil {
		return 0, fail(op, err, syscall.EINVAL)
	}
	if len(name) > EventNameMax {
		return 0, &Error{Op: op, Err: syscall.ENAMETOOLONG}
	}
	// The name counts against the limit of the traced process (MAP-09).
	may := func() bool { return true }
	if p := s.c.mem.Target(); p.PID != 0 {
		if page, err := s.c.dir.Page(p, false); err == nil {
			defer page.Close()
			pr := &proc{dir: s.c.dir, page: page, names: names}
			id, err := pr.eventID(name)
			return id, fail(op, err, syscall.ENOMEM)
		}
	}
	id, _, err := names.Open(name, false, may)
	return EventID(id), fail(op, err, syscall.ENOMEM)
}

// OpenSystemEventIDs returns the ids of system event types, such as syscall.openat,
// that a tracer in the role of the stream's controller records (see Recorder); they are
// added to the stream if need be. It takes locks that a traced process may hold, so it has
// to come before anything that could stop one. Errors: ENAMETOOLONG; ENOSPC there are
// too many. Extension.
func (s *Stream) OpenSystemEventIDs(list ...string) ([]EventID, error) {
	defer runtime.KeepAlive(s)
	const op = "OpenSystemEventIDs"
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := s.openNames()
	if err != nil {
		return nil, fail(op, err, syscall.EINVAL)
	}
	d, family := s.c.dir, s.c.mem.Family()
	// Hundreds of names are decided on by the same few streams, which are opened once.
	var conns []*conn
	opened := false
	names.BeforePublish(func(id event.ID, name string) {
		if !opened { // under the lock of the names: those that come later have no patterns yet
			conns, opened = familyStreams(d, family), true
		}
		for _, c := range conns {
			c.decide(id, name)
		}
	})
	defer func() {
		names.BeforePublish(func(id event.ID, name string) { applyPatterns(d, family, id, name) })
		for _, c := range conns {
			c.release()
		}
	}()
	found, err := names.OpenSystem(list)
	if err != nil {
		return nil, fail(op, err, syscall.ENOMEM)
	}
	ids := make([]EventID, len(found))
	for i, id := range found {
		ids[i] = EventID(id)
	}
	return ids, nil
}

// EventName returns the name of an event type (posix_trace_eventid_get_name).
// Errors: EINVAL the id has no name.
func (s *Stream) EventName(id EventID) (string, error) {
	const op = "posix_trace_eventid_get_name"
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := s.openNames()
	if err != nil {
		return "", fail(op, err, syscall.EINVAL)
	}
	name, ok := names.Lookup(event.ID(id))
	if !ok {
		return "", einval(op, "no event type has id %d", id)
	}
	return name, nil
}

// NextEventType returns the next type of the stream's type list, false at its
// end (posix_trace_eventtypelist_getnext_id). The position belongs to s.
func (s *Stream) NextEventType() (EventID, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := s.openNames()
	if err != nil {
		return 0, false, fail("posix_trace_eventtypelist_getnext_id", err, syscall.EINVAL)
	}
	all := names.All()
	if s.types >= len(all) {
		return 0, false, nil
	}
	s.types++
	return EventID(all[s.types-1].ID), true, nil
}

// RewindEventTypes goes back to the first type (posix_trace_eventtypelist_rewind).
func (s *Stream) RewindEventTypes() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed() {
		return fail("posix_trace_eventtypelist_rewind", s.whyClosed(), syscall.EINVAL)
	}
	s.types = 0
	return nil
}

// EventTypes returns all event types of the stream, in the order of NextEventType, whose position it
// leaves alone. Error: EINVAL the stream is closed. Extension.
func (s *Stream) EventTypes() ([]EventType, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := s.openNames()
	if err != nil {
		return nil, fail("EventTypes", err, syscall.EINVAL)
	}
	return eventTypes(names), nil
}

// eventTypes returns the event types of a family.
func eventTypes(names *registry.Names) []EventType {
	all := names.All()
	types := make([]EventType, len(all))
	for i, t := range all {
		types[i] = EventType{EventID(t.ID), t.Name}
	}
	return types
}

func runStatus(on bool) RunStatus {
	if on {
		return StatusRunning
	}
	return StatusSuspended
}

func fullStatus(full bool) FullStatus {
	if full {
		return StatusFull
	}
	return StatusNotFull
}

func overrunStatus(over bool) OverrunStatus {
	if over {
		return StatusOverrun
	}
	return StatusNoOverrun
}

func toStatus(s stream.Status) Status {
	st := Status{
		StreamStatus: runStatus(s.Running), StreamFullStatus: fullStatus(s.Full),
		StreamOverrunStatus: overrunStatus(s.Overrun), StreamFlushError: syscall.Errno(s.FlushErr),
		LogOverrunStatus: overrunStatus(s.LogOverrun), LogFullStatus: fullStatus(s.LogFull),
		Lost: s.Lost, LogLost: s.LogLost, Missed: uint64(s.Missed), MissedError: syscall.Errno(s.MissedErr),
	}
	if s.Flushing {
		st.StreamFlushStatus = StatusFlushing
	}
	return st
}
