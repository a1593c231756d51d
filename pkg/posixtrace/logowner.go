package posixtrace

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracelog"
)

// logWriter moves a stream's events to its log.
type logWriter struct {
	c     *conn
	names *registry.Names
	log   *tracelog.Writer // nil: it has not begun
	super *tracelog.Super
	held  atomic.Bool // it must not begin yet

	moved   atomic.Uint64 // rises when the log takes something
	timeout atomic.Int64  // of a write that makes no progress; 0: none

	f *os.File
	// logged tells which chunks a log already has that is taken up again.
	logged func(chunk, gen uint32, base uint64) bool
	// How many events that the log has replaced, and of them marks, are accounted for.
	replaced, marks uint64
}

// dupLog duplicates the application's descriptor and notes which file it is.
func dupLog(log *os.File, cfg *stream.Config) (*os.File, error) {
	dup, err := sys.DupForWriting(log)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	st, err := sys.Fstat(dup)
	if err != nil {
		dup.Close()
		return nil, err
	}
	cfg.LogDev, cfg.LogIno, cfg.LogFile = st.Dev, st.Ino, st.Regular()
	if path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dup.Fd())); err == nil && filepath.IsAbs(path) {
		cfg.LogPath = path
	}
	return dup, nil
}

func newLogWriter(c *conn, f *os.File, hold bool) (*logWriter, error) {
	m := c.mem
	host, _ := os.Hostname()
	w := &logWriter{c: c, f: f, super: &tracelog.Super{
		ID: m.ID, CreateSec: m.CreatedAt / 1e9, CreateNsec: uint32(m.CreatedAt % 1e9),
		Clock: tracelog.ClockAnchors, Resolution: uint64(m.ClockRes),
		StreamSize: uint64(m.MinSize), MaxData: uint64(m.MaxData), LogSize: uint64(m.LogMax),
		StreamPolicy: tracelog.Policy(m.Policy), LogPolicy: tracelog.Policy(m.LogPolicy), Inherited: m.Inherit,
		ChunkSize: uint32(m.ChunkSize), PID: m.Target().PID,
		Owner: m.Owner().PID, OwnerStart: m.Owner().Start, Name: m.Name, Generation: m.GenVersion,
		Host: host, BootID: m.BootID, StreamPath: c.path, Command: splitCommand(m.Command),
	}}
	w.held.Store(hold)
	var err error
	if hold {
		err = tracelog.Suits(f, w.super.LogPolicy)
	} else {
		if w.log, err = tracelog.Create(f, w.super); err == nil {
			w.log.BeforeWrite(w.beforeWrite)
		}
	}
	if err != nil {
		return nil, err
	}
	// Before the stream's lock: who registers a name takes the two the other way round.
	if w.names, err = openNames(c.dir, m.Family()); err != nil {
		return nil, err
	}
	if hold {
		return w, nil
	}
	if err = w.meta(); err != nil {
		w.names.Close()
		return nil, err
	}
	return w, nil
}

// errHeld is why a log that is held back is not flushed to.
var errHeld = fmt.Errorf("the log is held back: %w", syscall.EAGAIN)

// begin begins the log unless it has begun, or is held back.
func (w *logWriter) begin() error {
	if w.log != nil {
		return nil
	}
	if w.held.Load() {
		return errHeld
	}
	log, err := tracelog.Create(w.f, w.super)
	if err != nil {
		return err
	}
	w.log = log
	w.log.BeforeWrite(w.beforeWrite)
	if err = w.meta(); err != nil {
		w.log = nil
	}
	return err
}

// beforeWrite is called before each write to a log that may block.
func (w *logWriter) beforeWrite() {
	w.moved.Add(1)
	if d := w.timeout.Load(); d > 0 {
		w.f.SetWriteDeadline(time.Now().Add(time.Duration(d)))
	}
}

// setTimeout bounds how long a write waits, one that is under way included.
func (w *logWriter) setTimeout(d time.Duration) error {
	w.timeout.Store(int64(d))
	if d > 0 {
		return w.f.SetWriteDeadline(time.Now().Add(d))
	}
	return w.f.SetWriteDeadline(time.Time{})
}

// meta brings the log's types and clock up to date.
func (w *logWriter) meta() error {
	all := w.names.All()
	defs := make([]tracelog.TypeDef, len(all))
	for i, t := range all {
		defs[i] = tracelog.TypeDef{ID: t.ID, Name: t.Name}
	}
	if err := w.log.Types(defs); err != nil {
		return err
	}
	return w.log.Anchors(w.c.mem.FreshClock().Anchors())
}

// errUnsynced is wrapped by the error of a flush that has moved everything to the log,
// but not to its device.
var errUnsynced = errors.New("the log is not on its device")

// flush moves everything that the stream holds to the log. The caller holds the
// stream's lock, and a slot.
func (w *logWriter) flush(slot uint64) (err error) {
	m := w.c.mem
	m.SetFlushing(true)
	defer m.SetFlushing(false)
	defer func() {
		if w.log != nil {
			w.account()
		}
		if err != nil {
			m.FlushFailed(uint32(errnoOf(err, syscall.EIO)))
		}
	}()
	if err := w.begin(); err != nil {
		return err
	}
	if err := w.meta(); err != nil {
		return err
	}
	full := false
	to := stream.Sink{Room: w.log.Room(), Logged: w.logged}
	to.Lost = func(n int) {
		full = true
		m.LogLost(n)
	}
	to.Put = func(b *stream.Block) error {
		e := w.put(b, false)
		if errors.Is(e, tracelog.ErrFull) {
			full = true
			if b.Index >= 0 {
				m.LogLost(b.Count)
			}
			return nil
		}
		return e
	}
	watermark, err := m.Drain(slot, &to)
	if err == nil {
		err = w.meta()
	}
	if err == nil {
		err = w.log.GroupEnd(watermark)
	}
	if err != nil {
		return err
	}
	if full {
		m.SetLogFull(true)
		if e := w.put(m.LogFullMark(), true); e != nil && !errors.Is(e, tracelog.ErrFull) {
			return e
		}
	}
	return nil
}

// sync returns when the log is on its device. That may take long: control calls wait for
// the stream's lock, so it is better not held.
func (w *logWriter) sync() error {
	if w.log == nil {
		return nil
	}
	err := w.log.Sync()
	if err != nil {
		no := uint32(errnoOf(err, syscall.EIO))
		w.c.mem.SyncFailed(no)
		w.c.mem.FlushFailed(no)
		err = fmt.Errorf("%w: %w", errUnsynced, err)
	}
	return err
}

// syncName brings the log's entry in its directory to the device, without which a new
// log would be gone after a loss of power. One that has no name any more needs none.
func (c *conn) syncName() error {
	if c.mem.LogPath == "" {
		return nil
	}
	dir, err := sys.OpenFile(filepath.Dir(c.mem.LogPath), os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// syncLog brings the log of a stream that is over to the device.
func (c *conn) syncLog() error {
	f, err := c.reopenLog(os.O_RDONLY)
	if f == nil || err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// account notes what a LOOP log has given up for newer events since last time.
func (w *logWriter) account() {
	m := w.c.mem
	all, marks := w.log.Replaced(), w.log.ReplacedMarks()
	if all > w.replaced {
		if w.replaced == 0 {
			m.LogOverrun() // LOG-08: by the first replacement
			m.SetLogFull(false)
		}
		// From then on by every loss; but marks of earlier flushes are none.
		m.LogLost(int(all - w.replaced - (marks - w.marks)))
	}
	w.replaced, w.marks = all, marks
}

func (w *logWriter) put(b *stream.Block, final bool) error {
	e := tracelog.EventsBlock{Payload: b.Payload, Base: b.Base, Chunk: uint32(b.Index), Gen: b.Gen, Final: final}
	if b.Index < 0 {
		e.Chunk = tracelog.MarkChunk
	}
	if b.Index >= 0 && w.logged != nil && w.logged(e.Chunk, e.Gen, e.Base) {
		return nil
	}
	if w.c.probe(); w.c.cut() {
		return errCut // what is in b may be zeros
	}
	err := w.log.Events(e)
	w.moved.Add(1)
	if errors.Is(err, chunk.ErrMalformed) {
		// Somebody has scribbled over the stream; what is sound is in the log.
		w.c.mem.Damaged(b)
		return nil
	}
	return err
}

// seal completes the log after a last flush. One that is held back stays as it was.
func (w *logWriter) seal(slot uint64) error {
	if w.held.Load() {
		return nil
	}
	err := w.flush(slot)
	if err == nil && w.c.mem.Sync() {
		err = w.sync() // the events before the seal
	}
	return w.finish(err)
}

// finish completes the log after a flush that failed with err, or did not.
func (w *logWriter) finish(err error) error {
	m := w.c.mem
	written := err == nil || errors.Is(err, errUnsynced)
	if !written {
		// What could not be written is lost, and the log says so.
		m.LogLost(m.Unflushed())
	}
	if w.log == nil {
		return err // it could not even begin
	}
	if b := m.LastMarks(); b != nil && written {
		if e := w.put(b, false); e != nil && !errors.Is(e, tracelog.ErrFull) {
			err = cmp.Or(err, e)
		}
		w.account()
	}
	st := m.Status(false)
	if w.c.probe(); w.c.cut() {
		return errCut // without a seal nobody takes the log for the whole
	}
	e := w.log.Seal(tracelog.Status{
		Running: st.Running, Full: st.Full, Overrun: st.Overrun, FlushError: cmp.Or(st.FlushErr, m.SyncErr()),
		LogOverrun: st.LogOverrun, LogFull: st.LogFull, Lost: st.Lost, LogLost: st.LogLost,
	}, false)
	if e == nil && m.Sync() {
		e = w.sync()
	}
	return cmp.Or(err, e)
}

func (w *logWriter) close() {
	w.f.Close()
	w.names.Close()
}

func errnoOf(err error, def syscall.Errno) syscall.Errno {
	var no syscall.Errno
	if errors.As(err, &no) {
		return no
	}
	return def
}

// logOwner flushes the log of a stream that this process owns: when asked, and
// under the policy PolicyFlush when the stream is half full and every second.
type logOwner struct {
	*logWriter
	s     atomic.Pointer[Stream]
	alarm *sys.Alarm
	stop  chan struct{}
	done  chan struct{}
	once  sync.Once
	late  atomic.Int32 // flushes that a Recorder does not wait for any more
	stall time.Duration
}

func newLogOwner(s *Stream, f *os.File, hold bool) (*logOwner, error) {
	a, err := sys.NewAlarm()
	if err != nil {
		return nil, err
	}
	w, err := newLogWriter(s.c, f, hold)
	if err != nil {
		a.Close()
		return nil, err
	}
	o := &logOwner{logWriter: w, alarm: a, stop: make(chan struct{}), done: make(chan struct{})}
	o.s.Store(s)
	if o.stall = logStall; s.c.mem.LogFile {
		o.stall = deviceStall
	}
	return o, nil
}

// How long a Recorder waits for a flush to a log that takes nothing: one that a reader is to
// take, and one on a device.
const (
	logStall    = 2 * time.Second
	deviceStall = 10 * time.Second
)

var errStalled = fmt.Errorf("the log takes nothing: %w", syscall.ETIMEDOUT)

// tryFlush flushes as long as the log takes something, however slowly. A flush that it leaves
// goes on; until that is over the next ones fail at once.
func (o *logOwner) tryFlush() error {
	if o.late.Load() > 0 {
		return errStalled
	}
	done := make(chan error, 1)
	go func() { done <- o.do(func(s *Stream) error { return s.flushLocked(false) }) }()
	tick := time.NewTicker(o.stall / 8)
	defer tick.Stop()
	moved, since := o.moved.Load(), time.Now()
	for {
		select {
		case err := <-done:
			return err
		case now := <-tick.C:
			if n := o.moved.Load(); n != moved {
				moved, since = n, now
			} else if now.Sub(since) >= o.stall {
				o.late.Add(1)
				go func() {
					<-done
					o.late.Add(-1)
				}()
				return errStalled
			}
		}
	}
}

// passOn closes the handle of the stream, and goes on with another that the application does
// not have. It returns false after halt. The caller has called lockAll.
func (o *logOwner) passOn() bool {
	select {
	case <-o.stop:
		return false
	default:
	}
	s := o.s.Load()
	heir := newStream(s.c)
	heir.log, heir.ctl, heir.names = o, s.ctl, s.names
	s.ctl, s.names = nil, nil
	o.s.Store(heir)
	close(s.closed)
	return true
}

// do calls f with the stream, and again if its handle was closed meanwhile.
func (o *logOwner) do(f func(*Stream) error) error {
	for {
		s := o.s.Load()
		if err := f(s); o.s.Load() == s {
			return err
		}
	}
}

// abandon gives up a log whose owner never ran.
func (o *logOwner) abandon() {
	o.alarm.Close()
	o.close()
}

// How often the owner looks at the stream: the writers make no system call to
// wake it. A stream in use is looked at often, an idle one seldom.
const (
	pollBusy = time.Millisecond
	pollIdle = 16 * time.Millisecond
)

// pollUsed is when the owner looks next at a stream in use, of which used of all bytes are
// taken. A writer at full speed records about a byte in a nanosecond; of the last quarter it
// is to get nothing until then.
func pollUsed(used, all int) time.Duration {
	return min(max(pollBusy, time.Duration(all-all/4-used)), pollIdle)
}

func (o *logOwner) run() {
	defer close(o.done)
	defer o.alarm.Close()
	m := o.c.mem
	wait := pollBusy
	seq := m.Seq()
	last, recovered := time.Now(), time.Time{}
	failed := false
	for o.alarm.Wait(wait) {
		if o.c.probe(); m.ShutdownWanted() || o.c.cut() {
			// Shutdown stops this loop, so it cannot run in it.
			go o.s.Load().Shutdown()
			<-o.stop
			return
		}
		if o.held.Load() {
			continue // a flush that was asked for comes when the log has begun
		}
		used, all := m.Used()
		if n := m.Seq(); n != seq {
			seq, wait = n, pollUsed(used*m.ChunkSize, all*m.ChunkSize)
		} else {
			wait = min(wait*2, pollIdle)
		}
		if m.Crowded() && time.Since(recovered) >= time.Second {
			recovered = time.Now()
			o.s.Load().recover()
		}
		ticket, asked := m.FlushWanted()
		due := false
		if m.Policy == stream.Flush {
			old := time.Since(last) >= time.Second
			stopped := m.State()&stream.Full != 0
			due = old && m.Pending() || !failed && (2*used >= all || stopped)
		}
		if !asked && !due {
			continue
		}
		var err error
		if asked && m.ClearWanted() {
			err = o.do((*Stream).Clear)
		} else {
			sync := asked && m.SyncWanted()
			sync = sync || m.Sync()
			if err = o.do(func(s *Stream) error { return s.flushLocked(sync) }); err == nil && sync && asked {
				m.SyncServed(ticket)
			}
		}
		failed = err != nil
		if failed && !asked {
			m.AutoFlushFailed(uint32(errnoOf(err, syscall.EIO)))
		}
		last = time.Now()
		if asked {
			m.FlushServed(ticket, uint32(errnoOf0(err)))
		}
	}
}

func errnoOf0(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	return errnoOf(err, syscall.EIO)
}

// halt ends run and waits for it.
func (o *logOwner) halt() {
	o.once.Do(func() {
		close(o.stop)
		o.alarm.Ring()
	})
	<-o.done
}

// complete shuts down a stream whose owner is dead, as the owner's call would
// have done (SHU-06). locked tells that the caller holds the directory's lock.
func complete(c *conn, locked bool) error {
	c.probe() // one that was cut short is dead
	lastWords(c)
	if err := finishOrphan(c); err != nil {
		return err
	}
	return bury(c, locked)
}

func finishOrphan(c *conn) error {
	var names *registry.Names
	if c.mem.HasLog {
		// Before the stream's lock, so that what fails fails early.
		n, err := openNames(c.dir, c.mem.Family())
		if err != nil {
			return err
		}
		defer n.Close()
		names = n
	}
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	m := c.mem
	if c.dead() {
		return nil // somebody else was faster
	}
	c.sweepSelf(true)
	m.Recover(gone)
	slot, ok := c.takeSlot(nil)
	if !ok {
		return errSlots
	}
	defer c.freeSlot(slot)
	w, err := m.NewWriter(slot, sys.SelfProc().PID, 1)
	if err != nil {
		return err
	}
	m.Stop(w, stream.Event{})
	w.Close()
	if owner := m.Owner(); owner.Alive() {
		// Another program has taken its place, and if it writes at all, it has turned
		// away by now.
		self := sys.SelfProc()
		m.Recover(func(p sys.Proc) bool { return p == owner && p != self || gone(p) })
	}
	if m.HasLog {
		if err := completeLog(c, names, slot); err != nil {
			return err
		}
	}
	m.Kill()
	return nil
}

// completeLog finishes the log of a dead owner. A log that is gone, or is
// another file now, cannot be finished; that is no error. One that we may not write,
// now or at all, is an error: what it lacks stays in the stream, where those who
// read the log find it.
func completeLog(c *conn, names *registry.Names, slot uint64) error {
	m := c.mem
	f, err := c.reopenLog(os.O_RDWR)
	if f == nil || err != nil {
		return err
	}
	defer f.Close()
	log, rec, err := tracelog.Resume(f)
	switch {
	case errors.Is(err, tracelog.ErrSealed) && m.Sync():
		f.Sync() // of a failure nobody could be told
		return nil
	case errors.Is(err, tracelog.ErrSealed), errors.Is(err, tracelog.ErrNotLog):
		return nil
	case err != nil:
		return err
	case rec.Super.ID != m.ID:
		return nil
	}
	w := &logWriter{c: c, names: names, log: log, logged: rec.Logged}
	if err := w.flush(slot); err != nil {
		return err // the next who comes may find room
	}
	// A device that fails does not keep the dead from being buried; the log's status tells.
	if err := w.finish(nil); !errors.Is(err, errUnsynced) {
		return err
	}
	return nil
}

// reopenLog opens the log by its path, nil if it is gone or another file now.
func (c *conn) reopenLog(flags int) (*os.File, error) {
	m := c.mem
	if m.LogPath == "" {
		return nil, nil
	}
	f, err := sys.OpenLooked(nil, m.LogPath, flags|syscall.O_NONBLOCK, 0, func(st *sys.FileStat) error {
		if !st.Regular() || st.Dev != m.LogDev || st.Ino != m.LogIno {
			return errNotFile
		}
		return nil
	})
	if errors.Is(err, errNotFile) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) ||
		errors.Is(err, syscall.EISDIR) {
		return nil, nil
	}
	return f, err
}

// bury removes the files of a stream that is shut down. locked tells that the
// caller holds the directory's lock, which is taken before that of a stream, never after.
func bury(c *conn, locked bool) error {
	if c.dir.Gone() {
		// Its file went with the directory, and pages with it. Processes that were given a new page
		// took the stream along.
		keeping.Delete(c.id)
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
	keeping.Delete(c.id)
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

// applyPatterns lets the filters of a family's streams decide about a new name.
func applyPatterns(d *registry.Dir, family uint64, id event.ID, name string) {
	for _, c := range familyStreams(d, family) {
		c.decide(id, name)
		c.release()
	}
}

// familyStreams opens the streams that use the names of a family.
func familyStreams(d *registry.Dir, family uint64) (conns []*conn) {
	ids, err := d.StreamIDs()
	if err != nil {
		return nil
	}
	for _, sid := range ids {
		c, err := openStream(d, sid)
		switch {
		case err != nil:
		case c.mem.Family() != family:
			c.release()
		default:
			conns = append(conns, c)
		}
	}
	return conns
}

// decide lets the patterns of a stream's filter decide on a new event type.
func (c *conn) decide(id event.ID, name string) {
	if len(c.mem.Patterns()) == 0 {
		return
	}
	c.mem.Decide(id, name)
}
