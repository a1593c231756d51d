package posixtrace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracelog"
)

// shutdownOrphan shuts down a stream whose owner is dead, as Shutdown by the owner would have done
// (SHU-06). locked reports that the caller holds the directory's lock: the stream has no log then, and
// shutdownOrphan fails with EAGAIN rather than wait for the stream's lock.
func shutdownOrphan(c *conn, locked bool) error {
	if locked {
		return shutdownOrphanBy(c, c.tryLock, true)
	}
	return shutdownOrphanBy(c, c.lock, false)
}

// shutdownOrphanSoon is shutdownOrphan with a bounded wait for the stream's lock, for a call that can go on
// without the stream.
func shutdownOrphanSoon(c *conn) error {
	return shutdownOrphanBy(c, func() (func(), error) { return c.lockWithin(orphanWait) }, false)
}

// shutdownOrphanBy is shutdownOrphan with a function that takes the stream's lock.
func shutdownOrphanBy(c *conn, lock func() (func(), error), locked bool) error {
	c.checkCut() // a truncated stream is dead
	recordLastEvents(c)
	if err := finishOrphan(c, lock); err != nil {
		return err
	}
	return removeStream(c, locked)
}

// finishOrphan stops a stream whose owner is dead, completes its log if there is one, and marks it dead.
// lock takes the stream's lock.
func finishOrphan(c *conn, lock func() (func(), error)) error {
	var names *registry.Names
	if c.mem.HasLog {
		// The names come before the stream's lock, so that a failure leaves the stream alone.
		n, err := openNames(c.dir, c.mem.Family())
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
	m := c.mem
	if c.dead() {
		return nil // another process was faster
	}
	c.sweepSelf(true)
	c.recoverWriters()
	slot, ok := c.takeSlot(true)
	if !ok {
		return errSlots
	}
	defer c.freeSlot(slot)
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
func completeLog(c *conn, names *registry.Names, slot uint64) error {
	m := c.mem
	f, err := c.reopenLog(os.O_RDWR)
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
func resumeLog(c *conn, names *registry.Names, f *os.File) (*tracelog.Writer, *tracelog.Recovered, error) {
	st, err := f.Stat()
	if err != nil || st.Size() > 0 && !c.mem.LogHeld() {
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
func hasTraced(c *conn) bool {
	var rec chunk.Record
	for s := c.mem.Snapshot(); s.Next(&rec); {
		if rec.Event.User() || rec.Event >= event.ProcFork {
			return true
		}
	}
	return c.mem.Lost() > 0
}

// reopenLog opens the log by its path. It returns nil if the path leads to no file or to another one.
func (c *conn) reopenLog(flags int) (*os.File, error) {
	m := c.mem
	if m.LogPath == "" {
		return nil, nil
	}
	f, err := sys.OpenChecked(nil, m.LogPath, flags|syscall.O_NONBLOCK, 0, func(st *sys.FileStat) error {
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
