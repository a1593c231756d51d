package owner

import (
	"errors"
	"os"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracelog"
)

// ShutdownOrphan shuts down a stream whose owner is dead, as Shutdown by the owner would have done
// (SHU-06). lock takes the stream's lock. locked reports that the caller holds the directory's lock: then
// lock does not wait. Before the stream ends, ShutdownOrphan calls last, for the last events.
func ShutdownOrphan(c *conn.Conn, lock func() (func(), error), locked bool, last func(*conn.Conn)) error {
	c.CheckCut() // a truncated stream is dead
	last(c)
	if err := finishOrphan(c, lock); err != nil {
		return err
	}
	return conn.Remove(c, locked)
}

var errOwned = sys.Wrap("the stream has a new owner", syscall.EAGAIN)

// finishOrphan stops a stream whose owner is dead, completes its log if there is one, and marks it dead.
// lock takes the stream's lock.
func finishOrphan(c *conn.Conn, lock func() (func(), error)) error {
	var names *registry.Names
	if c.Mem.HasLog {
		// The names come before the stream's lock, so that a failure leaves the stream alone.
		n, err := conn.OpenNames(c.Dir, c.Mem.Family())
		if err != nil {
			return err
		}
		defer n.Close()
		names = n
	}
	unlock, err := lock()
	if err != nil {
		return err
	}
	defer unlock()
	m := c.Mem
	if c.Dead() {
		return nil // another process was faster
	}
	if !c.Orphaned() && !c.Stale() {
		return errOwned
	}
	c.SweepSelf(true)
	c.RecoverWriters()
	slot, ok := c.TakeSlot(true)
	if !ok {
		return conn.ErrSlots
	}
	defer c.FreeSlot(slot)
	w, err := m.NewWriter(slot, sys.SelfProc().PID, 1)
	if err != nil {
		return err
	}
	m.StopOrphan(w)
	w.Close()
	if m.HasLog {
		if err := completeLog(c, names, slot); err != nil {
			return err
		}
	}
	m.Kill()
	return nil
}

// completeLog finishes the log of a dead owner. A log that was removed, or replaced by another
// file, cannot be finished; that is no error. A log that this process cannot write is an error: the
// rest of the events stay in the stream, where a reader of the log finds them.
func completeLog(c *conn.Conn, names *registry.Names, slot uint64) error {
	m := c.Mem
	f, err := c.ReopenLog(os.O_RDWR)
	if f == nil || err != nil {
		return err
	}
	defer f.Close()
	log, rec, err := resumeLog(c, names, f)
	switch {
	case errors.Is(err, tracelog.ErrSealed) && m.Sync():
		f.Sync() // no caller is left to report a failure to
		return nil
	case errors.Is(err, tracelog.ErrSealed), errors.Is(err, tracelog.ErrNotLog):
		return nil
	case err != nil:
		return err
	case rec.Super.ID != m.ID:
		return nil
	}
	w := &logWriter{c: c, names: names, log: log, logged: rec.Logged}
	if err := w.lastFlush(slot); err != nil {
		return err // the next process may find room
	}
	// A device that fails does not keep the stream alive. The log's status reports it.
	if err := w.finish(nil); !errors.Is(err, errUnsynced) {
		return err
	}
	return nil
}

// resumeLog continues the log in f. If the owner died before it started the log, the stream has
// everything: then resumeLog starts the log in an empty file, and in place of other contents if a
// process was traced. Otherwise the contents stay, as at a Shutdown by the owner.
func resumeLog(c *conn.Conn, names *registry.Names, f *os.File) (*tracelog.Writer, *tracelog.Recovered, error) {
	st, err := f.Stat()
	if err != nil || st.Size() > 0 && !c.Mem.LogHeld() {
		return tracelog.Resume(f)
	}
	if st.Size() > 0 && !hasTraced(c) {
		return nil, nil, tracelog.ErrNotLog
	}
	super := newSuper(c)
	log, err := tracelog.Replace(f, super)
	if err == nil {
		err = (&logWriter{c: c, names: names, log: log}).writeMeta()
	}
	return log, &tracelog.Recovered{Super: super}, err
}

// hasTraced reports whether a stream has events of a process, and not only those of the trace system.
func hasTraced(c *conn.Conn) bool {
	var rec chunk.Record
	for s := c.Mem.Snapshot(); s.Next(&rec); {
		if rec.Event.User() || rec.Event >= event.ProcFork {
			return true
		}
	}
	return c.Mem.Lost() > 0
}
