package owner

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracelog"
)

// logWriter moves a stream's events to its log.
type logWriter struct {
	c     *conn.Conn
	names *registry.Names
	log   *tracelog.Writer // nil before Begin
	super *tracelog.Super
	held  atomic.Bool // the log must not start yet (Attr.HoldLog)
	// replace says that the log starts in place of the contents of the file.
	replace bool

	moved   atomic.Uint64 // grows with each write that makes progress
	timeout atomic.Int64  // of a write without progress, in nanoseconds; 0 means none

	f *os.File
	// logged reports, for a log that is resumed, whether the log has a chunk already.
	logged func(chunk, gen uint32, base uint64) bool
	// The numbers of replaced events, and of marks among them, that the stream's status has.
	replaced, marks uint64

	recovered time.Time    // when a flush last recovered the dead
	to        *stream.Sink // of the last flush
}

// DupLog duplicates the application's descriptor, whose file must suit the policy. enter enters the file
// into a configuration.
func DupLog(log *os.File, policy tracelog.Policy) (dup *os.File, enter func(*stream.Config), err error) {
	dup, err = sys.DupForWriting(log)
	if err != nil {
		return nil, nil, fmt.Errorf("log: %w", err)
	}
	st, err := sys.Fstat(dup)
	if err == nil {
		err = tracelog.Suits(dup, policy)
	}
	if err != nil {
		dup.Close()
		return nil, nil, err
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dup.Fd()))
	if err != nil || !filepath.IsAbs(path) {
		path = ""
	}
	return dup, func(cfg *stream.Config) {
		cfg.LogDev, cfg.LogIno, cfg.LogFile, cfg.LogPath = st.Dev, st.Ino, st.Regular(), path
	}, nil
}

// newSuper describes a stream in the head of its log.
func newSuper(c *conn.Conn) *tracelog.Super {
	m := c.Mem
	host, _ := os.Hostname()
	return &tracelog.Super{
		Attributes: m.Attributes, ID: m.ID, Clock: tracelog.ClockAnchors, ChunkSize: uint32(m.ChunkSize),
		PID: m.Target().PID, Owner: m.Owner().PID, OwnerStart: m.Owner().Start,
		Host: host, BootID: m.BootID, StreamPath: c.Path, Command: c.Command(),
	}
}

// newLogWriter returns the writer of a log that has not started: see Begin.
func newLogWriter(c *conn.Conn, f *os.File, hold bool) (*logWriter, error) {
	w := &logWriter{c: c, f: f, super: newSuper(c), replace: hold}
	w.held.Store(hold)
	// Open the names before taking the stream's lock: registering a name takes the locks in the
	// other order.
	var err error
	if w.names, err = conn.OpenNames(c.Dir, c.Mem.Family()); err != nil {
		return nil, err
	}
	return w, nil
}

// errHeld is the error of a flush to a log that is held back.
var errHeld = sys.Wrap("the log is held back", syscall.EAGAIN)

// Begin starts the log unless it has started. It fails for a log that is held back.
func (w *logWriter) Begin() error {
	if w.log != nil {
		return nil
	}
	if w.held.Load() {
		return errHeld
	}
	create := tracelog.Create
	if w.replace {
		create = tracelog.Replace
	}
	log, err := create(w.f, w.super)
	if err != nil {
		return err
	}
	w.log = log
	w.log.BeforeWrite(w.beforeWrite)
	if err = w.writeMeta(); err != nil {
		w.log = nil
		return err
	}
	w.replace = false
	w.c.Mem.SetLogHeld(false)
	return nil
}

// BeginHeld starts a log that was held back.
func (w *logWriter) BeginHeld() error {
	w.held.Store(false)
	return w.Begin()
}

// Held reports whether the log is held back.
func (w *logWriter) Held() bool { return w.held.Load() }

// SyncFile syncs the file of a log that is held back.
func (w *logWriter) SyncFile() error { return w.f.Sync() }

// beforeWrite runs before each write that may block.
func (w *logWriter) beforeWrite() {
	w.moved.Add(1)
	if d := w.timeout.Load(); d > 0 {
		w.f.SetWriteDeadline(time.Now().Add(time.Duration(d)))
	}
}

// SetTimeout bounds how long a write waits, also one under way.
func (w *logWriter) SetTimeout(d time.Duration) error {
	w.timeout.Store(int64(d))
	if d > 0 {
		return w.f.SetWriteDeadline(time.Now().Add(d))
	}
	return w.f.SetWriteDeadline(time.Time{})
}

// writeMeta writes new event types and clock anchors to the log.
func (w *logWriter) writeMeta() error {
	all := w.names.All()
	defs := make([]tracelog.TypeDef, len(all))
	for i, t := range all {
		defs[i] = tracelog.TypeDef{ID: t.ID, Name: t.Name}
	}
	if err := w.log.Types(defs); err != nil {
		return err
	}
	return w.log.Anchors(w.c.Mem.FreshClock().Anchors())
}

// errUnsynced is in the chain of the error of a flush that wrote everything to the log but failed
// to sync it.
var errUnsynced = errors.New("the log is not on its device")

// Flush moves all events of the stream to the log, but for those of a chunk whose writer is stopped in
// the middle of an event. If no flush follows, last is set, and they follow, too. The caller holds the
// stream's lock and the slot.
func (w *logWriter) Flush(slot uint64, last bool) (err error) {
	m := w.c.Mem
	m.SetFlushing(true)
	defer m.SetFlushing(false)
	defer func() {
		if w.log != nil {
			w.countReplaced()
		}
		if err != nil {
			m.FlushFailed(uint32(errnoOf(err, syscall.EIO)))
		}
	}()
	if err := w.Begin(); err != nil {
		return err
	}
	if err := w.writeMeta(); err != nil {
		return err
	}
	full := false
	to := w.sink(&full)
	to.Last, w.to = last, to
	watermark, err := m.Flush(slot, to)
	if err == nil {
		err = w.writeMeta()
	}
	if err == nil {
		err = w.log.GroupEnd(watermark)
	}
	if err != nil {
		return err
	}
	if full {
		m.SetLogFull(true)
		if e := w.writeBlock(m.LogFullMark(), true); e != nil && !errors.Is(e, tracelog.ErrFull) {
			return e
		}
	}
	return nil
}

// sink returns the log as the destination of a flush. It sets full if the log lacks room.
func (w *logWriter) sink(full *bool) *stream.Sink {
	m := w.c.Mem
	// The writers get no room back while blocks are in the queue.
	w.log.SetQueue(max(min(m.Chunks*m.ChunkSize/16, queueSize), m.ChunkSize+1024))
	to := &stream.Sink{Room: w.log.Room(), Logged: w.logged, Space: w.log.Space}
	to.Lost = func(n int) {
		*full = true
		m.LogLost(n)
	}
	if now := time.Now(); now.Sub(w.recovered) >= conn.RecoverPause {
		to.Recover = func() {
			w.recovered = now
			w.c.RecoverWriters()
		}
	}
	to.Put = func(b *stream.Block) (bool, error) {
		queued, err := w.putBlock(b, false)
		if errors.Is(err, tracelog.ErrFull) {
			*full = true
			if b.Index >= 0 {
				m.LogLost(b.Count)
			}
			return false, nil
		}
		return queued, err
	}
	to.Commit = func() (int, error) {
		if w.c.CheckCut(); w.c.Cut() {
			return w.log.Discard(), conn.ErrCut // the blocks may consist of zeros
		}
		n, err := w.log.Commit()
		w.moved.Add(1)
		return n, err
	}
	return to
}

// queueSize is how many bytes of a large stream a flush writes at once. More gains little, and takes
// room in the processor's cache.
const queueSize = 260 << 10

// countReplaced adds the events that a LOOP log has replaced since the last call to the stream's status.
func (w *logWriter) countReplaced() {
	m := w.c.Mem
	all, marks := w.log.Replaced(), w.log.ReplacedMarks()
	if all > w.replaced {
		if w.replaced == 0 {
			m.LogOverrun() // LOG-08: the first replacement is an overrun
			m.SetLogFull(false)
		}
		// From then on each lost event is; the marks of earlier flushes are no events.
		m.LogLost(int(all - w.replaced - (marks - w.marks)))
	}
	w.replaced, w.marks = all, marks
}

// writeBlock writes a block of events unless the log has it. final marks the STOP that ends a full log.
func (w *logWriter) writeBlock(b *stream.Block, final bool) error {
	_, err := w.putBlock(b, final)
	return err
}

// putBlock writes a block, or leaves it to the next Commit of the log.
func (w *logWriter) putBlock(b *stream.Block, final bool) (queued bool, err error) {
	e := tracelog.EventsBlock{Payload: b.Payload, Base: b.Base, Chunk: uint32(b.Index), Gen: b.Gen, Final: final}
	if b.Index < 0 {
		e.Chunk = tracelog.MarkChunk
	}
	if b.Index >= 0 && w.logged != nil && w.logged(e.Chunk, e.Gen, e.Base) {
		return false, nil
	}
	if w.c.CheckCut(); w.c.Cut() {
		return false, conn.ErrCut // b may consist of zeros
	}
	if b.Later {
		queued, err = w.log.Queue(e)
	} else {
		err = w.log.Events(e)
	}
	w.moved.Add(1)
	if errors.Is(err, chunk.ErrMalformed) {
		// Another process overwrote part of the stream. The sound part is in the log.
		w.c.Mem.Damaged(b)
		return queued, nil
	}
	return queued, err
}

// Seal flushes and completes the log. It leaves a log that is held back alone. The stream is stopped.
func (w *logWriter) Seal(slot uint64) error {
	if w.held.Load() {
		return nil
	}
	err := w.lastFlush(slot)
	if err == nil && w.c.Mem.Sync() {
		err = w.Sync() // the events before the seal
	}
	if err = w.finish(err); err != nil {
		w.c.Mem.ShutdownFailed(uint32(errnoOf(err, syscall.EIO)))
	}
	return err
}

// lastFlush is the flush of each completion of a log, by whichever process. The stream is stopped.
func (w *logWriter) lastFlush(slot uint64) error {
	w.c.RecoverWriters()
	w.recovered = time.Time{} // again, if one dies meanwhile
	return w.Flush(slot, true)
}

// finish completes the log after the last flush. err is the error of that flush.
func (w *logWriter) finish(err error) error {
	m := w.c.Mem
	written := err == nil || errors.Is(err, errUnsynced)
	// The events that were not written are lost. The log reports it.
	m.LogLost(m.Unflushed(w.to))
	if w.log == nil {
		return err // the log has not started
	}
	if b := m.LastMarks(); b != nil && written {
		if e := w.writeBlock(b, false); e != nil && !errors.Is(e, tracelog.ErrFull) {
			err = cmp.Or(err, e)
		}
		w.countReplaced()
	}
	st := m.Status(false)
	st.Lost += m.LostInClaims()
	if w.c.CheckCut(); w.c.Cut() {
		return conn.ErrCut // a reader does not take a log without a seal for the whole
	}
	e := w.log.Seal(tracelog.Status{
		Running: st.Running, Full: st.Full, Overrun: st.Overrun, FlushError: cmp.Or(st.FlushErr, m.SyncErr()),
		LogOverrun: st.LogOverrun, LogFull: st.LogFull, Lost: st.Lost, LogLost: st.LogLost,
	}, false)
	if e == nil && m.Sync() {
		e = w.Sync()
	}
	return cmp.Or(err, e)
}

// Clear empties the log.
func (w *logWriter) Clear() error {
	if w.log == nil {
		return nil
	}
	if err := w.log.Clear(); err != nil {
		return err
	}
	w.replaced, w.marks = 0, 0
	return nil
}

// Close ends the use of the file and of the names.
func (w *logWriter) Close() {
	w.f.Close()
	w.names.Close()
}

// Sync returns when the log is on its device. It may take long: the caller does not hold the
// stream's lock, which control calls wait for.
func (w *logWriter) Sync() error {
	if w.log == nil {
		return nil
	}
	err := w.log.Sync()
	if err != nil {
		no := uint32(errnoOf(err, syscall.EIO))
		w.c.Mem.SyncFailed(no)
		w.c.Mem.FlushFailed(no)
		err = fmt.Errorf("%w: %w", errUnsynced, err)
	}
	return err
}

// errnoOf returns the error number in err, or def.
func errnoOf(err error, def syscall.Errno) syscall.Errno {
	var no syscall.Errno
	if errors.As(err, &no) {
		return no
	}
	return def
}
