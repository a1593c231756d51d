package stream

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
	m.h.flushDone.Store(ticket)
}

// FlushDone reports whether ticket has been served, and how.
func (m *Mem) FlushDone(ticket uint32) (errno uint32, done bool) {
	done = int32(m.h.flushDone.Load()-ticket) >= 0
	return m.h.flushRes.Load(), done
}

// AskShutdown asks the owner to shut the stream down.
func (m *Mem) AskShutdown()         { m.h.shutAsk.Store(1) }
func (m *Mem) ShutdownWanted() bool { return m.h.shutAsk.Load() != 0 }

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
	if m.h.errTick.Load() == 0 {
		m.h.errNo.Store(uint64(errno))
		m.h.errTick.Store(max(m.now(), 1))
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

// Damaged counts a chunk that did not make sense.
func (m *Mem) Damaged() { m.h.damage.Add(1) }
