package stream

import "github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"

// Requests for flushes, clears, syncs and shutdowns, which the owner serves, and their results.

// FlushWanted reports whether a flush is requested and not yet served, and its ticket.
func (m *Mem) FlushWanted() (ticket uint32, wanted bool) {
	a := m.h.flushAsk.Load()
	return a, a != m.h.flushDone.Load()
}

// AskFlush requests a flush of the owner and returns the ticket to wait for.
func (m *Mem) AskFlush() uint32 { return m.h.flushAsk.Add(1) }

// AskClear requests a clear of the owner, the only process that has the log. The ticket is one of a
// flush.
func (m *Mem) AskClear() uint32 {
	m.h.clearAsk.Store(1)
	return m.AskFlush()
}

// ClearWanted consumes a request to clear the stream.
func (m *Mem) ClearWanted() bool { return m.h.clearAsk.Swap(0) != 0 }

// FlushServed stores the result of the requests up to ticket.
func (m *Mem) FlushServed(ticket, errno uint32) {
	m.h.flushRes.Store(errno)
	if s := m.h.syncDone.Load(); ticket-s > farBack {
		// On a stream that is never synced the ticket must not seem to be ahead. No process waits
		// for a ticket so old any more.
		m.h.syncDone.CompareAndSwap(s, ticket-farBack)
	}
	m.h.flushDone.Store(ticket)
}

// farBack is half of the distance at which a ticket is older than another.
const farBack = 1 << 30

// FlushDone reports whether ticket has been served, and the errno of the last flush.
func (m *Mem) FlushDone(ticket uint32) (errno uint32, done bool) {
	done = int32(m.h.flushDone.Load()-ticket) >= 0
	return m.h.flushRes.Load(), done
}

// The bits of header.sync.
const (
	syncEach = 1 << iota // each flush ends with the log on its device
	logHeld              // the owner has not started the log
)

// SetSync sets whether each flush ends with the log on its device.
func (m *Mem) SetSync(on bool) { m.setSync(syncEach, on) }

// Sync reports whether each flush does.
func (m *Mem) Sync() bool { return m.h.sync.Load()&syncEach != 0 }

// SetLogHeld notes whether the owner holds the log back.
func (m *Mem) SetLogHeld(on bool) { m.setSync(logHeld, on) }

// LogHeld reports whether the owner holds the log back, or died when it did.
func (m *Mem) LogHeld() bool { return m.h.sync.Load()&logHeld != 0 }

func (m *Mem) setSync(bit uint32, on bool) {
	if on {
		m.h.sync.Or(bit)
	} else {
		m.h.sync.And(^bit)
	}
}

// AskSync asks for a flush that ends with the log on its device.
func (m *Mem) AskSync() uint32 {
	m.h.syncAsk.Store(1)
	return m.AskFlush()
}

// SyncWanted consumes such a request. A flush that was requested earlier may consume it; then Synced
// is false for the ticket, and the process that asked asks again.
func (m *Mem) SyncWanted() bool { return m.h.syncAsk.Swap(0) != 0 }

// SyncServed notes that requests up to ticket are done, with the log on its device.
func (m *Mem) SyncServed(ticket uint32) { m.h.syncDone.Store(ticket) }

// Synced reports whether ticket was served that way.
func (m *Mem) Synced(ticket uint32) bool { return int32(m.h.syncDone.Load()-ticket) >= 0 }

// SyncFailed stores the first error of syncing the log. The data of that sync may never reach the
// device, even if later syncs succeed.
func (m *Mem) SyncFailed(errno uint32) { m.h.syncErr.CompareAndSwap(0, errno) }

// SyncErr returns that error, 0 if there was none.
func (m *Mem) SyncErr() uint32 { return m.h.syncErr.Load() }

// AskShutdown requests a shutdown of the owner, ShutdownWanted reports the request.
func (m *Mem) AskShutdown()         { m.h.shutAsk.Store(1) }
func (m *Mem) ShutdownWanted() bool { return m.h.shutAsk.Load() != 0 }

// ShutdownFailed stores, before the stream is dead, why its log could not be completed.
func (m *Mem) ShutdownFailed(errno uint32) { m.h.shutRes.Store(errno) }

// ShutdownErr returns the errno of completing the log, 0 if it succeeded.
func (m *Mem) ShutdownErr() uint32 { return m.h.shutRes.Load() }

// SetFlushing sets whether a flush is under way.
func (m *Mem) SetFlushing(on bool) {
	v := uint32(0)
	if on {
		v = 1
	}
	m.h.flushing.Store(v)
}

// FlushFailed stores the first error of a flush since the status was read.
func (m *Mem) FlushFailed(errno uint32) { m.h.flushErr.CompareAndSwap(0, errno) }

// AutoFlushFailed notes that an automatic flush failed. The next flush that succeeds reports it by
// an ERROR event.
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

// LogOverrun notes that the log overwrites.
func (m *Mem) LogOverrun() { m.h.logOverrun.Store(1) }

// SetLogFull notes that the log is full. stop also suspends the stream: events generated from then
// on count as lost, unless the stream was suspended already.
func (m *Mem) SetLogFull(stop bool) {
	m.h.logFull.Store(1)
	if stop && m.change(LogFull, Running|Full)&(Running|Full|LogFull) == 0 {
		m.change(NoRestart, 0)
	}
}

// Seq counts claims and leaves of chunks since the stream was created, a measure of how busy it is.
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

// Unflushed counts the events that the stream still holds after a flush to a sink, less those that the
// flush has put and left to their writers. to may be nil.
func (m *Mem) Unflushed(to *Sink) (n int) {
	for i := range m.Chunks {
		c := ctl(m.at(i).ctl.Load())
		if c.state() < owned {
			continue
		}
		done := m.clearedOf(i, c)
		if to != nil {
			done = max(done, to.left[i])
		}
		n += max(c.count()-done, 0)
	}
	return
}

// Damaged counts a damaged chunk. The log has the events before the damage and lacks the others.
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
