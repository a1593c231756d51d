package stream

import "github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"

// The words by which a flush is asked for and told about.

// FlushWanted reports a request that has not been served.
func (m *Mem) FlushWanted() (ticket uint32, wanted bool) {
	a := m.h.flushAsk.Load()
	return a, a != m.h.flushDone.Load()
}

// AskFlush asks the owner for a flush and returns the ticket to wait for.
func (m *Mem) AskFlush() uint32 { return m.h.flushAsk.Add(1) }

// AskClear asks the owner, who alone has the log, to clear the stream; the ticket
// is one of a flush.
func (m *Mem) AskClear() uint32 {
	m.h.clearAsk.Store(1)
	return m.AskFlush()
}

// ClearWanted takes a request to clear the stream.
func (m *Mem) ClearWanted() bool { return m.h.clearAsk.Swap(0) != 0 }

// FlushServed tells that requests up to ticket are done with result errno.
func (m *Mem) FlushServed(ticket, errno uint32) {
	m.h.flushRes.Store(errno)
	if s := m.h.syncDone.Load(); ticket-s > farBack {
		// A stream that is never synced: it must not look as if it were ahead. Tickets so old
		// are waited for no more.
		m.h.syncDone.CompareAndSwap(s, ticket-farBack)
	}
	m.h.flushDone.Store(ticket)
}

// farBack is half of the distance at which a ticket is older than another.
const farBack = 1 << 30

// FlushDone reports whether ticket has been served, and how.
func (m *Mem) FlushDone(ticket uint32) (errno uint32, done bool) {
	done = int32(m.h.flushDone.Load()-ticket) >= 0
	return m.h.flushRes.Load(), done
}

// SetSync says whether a flush is over only when the log is on its device.
func (m *Mem) SetSync(on bool) { m.h.sync.Store(uint32(b2u(on))) }

// Sync reports whether it is.
func (m *Mem) Sync() bool { return m.h.sync.Load() != 0 }

// AskSync is AskFlush for a flush that ends with the log on its device.
func (m *Mem) AskSync() uint32 {
	m.h.syncAsk.Store(1)
	return m.AskFlush()
}

// SyncWanted takes such a request. A flush that was asked for before may take it; then
// Synced tells who asked to ask again.
func (m *Mem) SyncWanted() bool { return m.h.syncAsk.Swap(0) != 0 }

// SyncServed tells that requests up to ticket are done, and the log on its device.
func (m *Mem) SyncServed(ticket uint32) { m.h.syncDone.Store(ticket) }

// Synced reports whether ticket was served that way.
func (m *Mem) Synced(ticket uint32) bool { return int32(m.h.syncDone.Load()-ticket) >= 0 }

// SyncFailed keeps the first error of bringing the log to its device: what was to be
// written then may never be there, whatever comes later.
func (m *Mem) SyncFailed(errno uint32) { m.h.syncErr.CompareAndSwap(0, errno) }

// SyncErr returns that error, 0 if there was none.
func (m *Mem) SyncErr() uint32 { return m.h.syncErr.Load() }

// AskShutdown asks the owner to shut the stream down.
func (m *Mem) AskShutdown()         { m.h.shutAsk.Store(1) }
func (m *Mem) ShutdownWanted() bool { return m.h.shutAsk.Load() != 0 }

// ShutdownFailed tells, before the stream is dead, that its log could not be completed.
func (m *Mem) ShutdownFailed(errno uint32) { m.h.shutRes.Store(errno) }

// ShutdownErr returns why, 0 if it could.
func (m *Mem) ShutdownErr() uint32 { return m.h.shutRes.Load() }

// SetFlushing marks that a flush is under way, or over.
func (m *Mem) SetFlushing(on bool) {
	v := uint32(0)
	if on {
		v = 1
	}
	m.h.flushing.Store(v)
}

// FlushFailed keeps the first error of a flush since the status was read.
func (m *Mem) FlushFailed(errno uint32) { m.h.flushErr.CompareAndSwap(0, errno) }

// AutoFlushFailed is for flushes that nobody has asked for: the first that does
// not fail tells of those before by an ERROR event.
func (m *Mem) AutoFlushFailed(errno uint32) {
	if m.h.failTick.Load() == 0 {
		m.h.failErrno.Store(uint64(errno))
		m.h.failTick.Store(max(m.now(), 1))
	}
}

// LogLost accounts for events that the log did not take.
func (m *Mem) LogLost(n int) {
	if n > 0 {
		m.h.logLost.Add(uint64(n))
		m.h.logOverrun.Store(1)
	}
}

// LogOverrun notes that a log has begun to overwrite.
func (m *Mem) LogOverrun() { m.h.logOverrun.Store(1) }

// SetLogFull notes that the log is full; stop also suspends the stream. What is
// generated from then on counts as lost, unless the stream was suspended
// already.
func (m *Mem) SetLogFull(stop bool) {
	m.h.logFull.Store(1)
	if stop && m.change(LogFull, Running|Full)&(Running|Full|LogFull) == 0 {
		m.change(NoRestart, 0)
	}
}

// Seq counts the chunks claimed since the stream was created: how busy it is.
func (m *Mem) Seq() uint64 { return m.h.seq.Load() }

// Pending reports whether there is anything to flush.
func (m *Mem) Pending() bool {
	for i := range m.Chunks {
		c := ctl(m.at(i).ctl.Load())
		if c.count() > 0 && c.state() >= owned {
			return true
		}
	}
	return false
}

// Unflushed counts the events that the stream still holds.
func (m *Mem) Unflushed() (n int) {
	for i := range m.Chunks {
		if c := ctl(m.at(i).ctl.Load()); c.state() >= owned {
			n += c.count()
		}
	}
	return
}

// Damaged counts a chunk that did not make sense. The log has as much of it as did, and
// lacks the others of its events.
func (m *Mem) Damaged(b *Block) {
	m.h.damage.Add(1)
	var cur chunk.Cursor
	var rec chunk.Record
	cur.Reset(b.Payload, b.Base)
	left := b.Count
	for ok, err := cur.Next(&rec); ok && err == nil; ok, err = cur.Next(&rec) {
		left--
	}
	m.LogLost(left)
}
