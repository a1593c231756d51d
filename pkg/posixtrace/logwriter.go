package posixtrace

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
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
	if err = w.writeMeta(); err != nil {
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
	if err = w.writeMeta(); err != nil {
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
func (w *logWriter) writeMeta() error {
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
			w.countReplaced()
		}
		if err != nil {
			m.FlushFailed(uint32(errnoOf(err, syscall.EIO)))
		}
	}()
	if err := w.begin(); err != nil {
		return err
	}
	if err := w.writeMeta(); err != nil {
		return err
	}
	full := false
	to := stream.Sink{Room: w.log.Room(), Logged: w.logged}
	to.Lost = func(n int) {
		full = true
		m.LogLost(n)
	}
	to.Put = func(b *stream.Block) error {
		e := w.writeBlock(b, false)
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

// account notes what a LOOP log has given up for newer events since last time.
func (w *logWriter) countReplaced() {
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

func (w *logWriter) writeBlock(b *stream.Block, final bool) error {
	e := tracelog.EventsBlock{Payload: b.Payload, Base: b.Base, Chunk: uint32(b.Index), Gen: b.Gen, Final: final}
	if b.Index < 0 {
		e.Chunk = tracelog.MarkChunk
	}
	if b.Index >= 0 && w.logged != nil && w.logged(e.Chunk, e.Gen, e.Base) {
		return nil
	}
	if w.c.checkCut(); w.c.cut() {
		return errCut // what is in b may be zeros
	}
	err := w.log.Events(e)
	w.moved.Add(1)
	if errors.Is(err, chunk.ErrMalformed) {
		// Another process overwrote part of the stream. The sound part is in the log.
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
		if e := w.writeBlock(b, false); e != nil && !errors.Is(e, tracelog.ErrFull) {
			err = cmp.Or(err, e)
		}
		w.countReplaced()
	}
	st := m.Status(false)
	if w.c.checkCut(); w.c.cut() {
		return errCut // a reader does not take a log without a seal for the whole
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

func errnoOf(err error, def syscall.Errno) syscall.Errno {
	var no syscall.Errno
	if errors.As(err, &no) {
		return no
	}
	return def
}
