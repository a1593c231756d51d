package stream

import (
	"math/bits"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// Status is the state of the stream at one instant.
type Status struct {
	Running    bool
	Full       bool
	Overrun    bool
	Flushing   bool
	FlushErr   uint32
	LogOverrun bool
	LogFull    bool
	Lost       uint64
	LogLost    uint64
	Missed     uint32 // processes that could not become writers
	MissedErr  uint32
}

// Status returns the state (posix_trace_get_status); reset resets the members that the standard
// resets when the status is read.
func (m *Mem) Status(reset bool) (s Status) {
	h := m.h
	m.fill()
	// Values read while the state changes are of no single instant; read them again.
	st := h.state.Load()
	for range 1000 {
		m.readStatus(&s, st)
		now := h.state.Load()
		if now == st {
			break
		}
		st = now
	}
	if reset {
		h.readLost(s.Lost)
		if m.HasLog {
			s.FlushErr = h.flushErr.Swap(0)
			s.LogOverrun = h.logOverrun.Swap(0) != 0
		}
	}
	return
}

// readLost notes the total of lost events that the status has reported.
func (h *header) readLost(total uint64) {
	for {
		n := h.lostRead.Load()
		if n >= total || h.lostRead.CompareAndSwap(n, total) {
			return
		}
	}
}

// readStatus reads the status under the state st.
func (m *Mem) readStatus(s *Status, st uint64) {
	h := m.h
	s.Running = st&Running != 0
	switch m.Policy {
	case Loop:
		s.Full = h.loopFull.Load() != 0 || m.spent()
	default:
		s.Full = st&Full != 0 && !m.hasSpace()
	}
	s.FlushErr = h.flushErr.Load()
	s.LogOverrun = h.logOverrun.Load() != 0
	s.Flushing = h.flushing.Load() != 0
	s.LogFull = h.logFull.Load() != 0
	s.Lost, s.LogLost = m.Lost(), h.logLost.Load()
	s.Missed, s.MissedErr = h.missed.Load(), h.missedErr.Load()
	// Overrun follows from Lost, so the two agree.
	s.Overrun = s.Lost > h.lostRead.Load()
}

// Lost is the total of events lost by the stream.
func (m *Mem) Lost() uint64 {
	n := m.h.lossTotal()
	for i := range m.Chunks {
		n += m.at(i).lostTotal()
	}
	return n
}

// room returns how many chunks are free.
func (m *Mem) room() (chunks int) {
	for i := range m.Chunks {
		if ctl(m.at(i).ctl.Load()).state() == free {
			chunks++
		}
	}
	return
}

// newest returns the tick of the last event that the stream holds.
func (m *Mem) newest() (tick uint64) {
	for i := range m.Chunks {
		d := m.at(i)
		if c := ctl(d.ctl.Load()); c.count() > 0 && c.state() >= owned {
			_, last := span(m.bytes(i)[:min(c.off(), m.ChunkSize)], d.base.Load(), 0, 0)
			tick = max(tick, last)
		}
	}
	return
}

// hasSpace reports whether the largest event fits.
func (m *Mem) hasSpace() bool { return m.Policy == Loop || m.room() > 0 }

// Used returns how many chunks are not free, and how many there are.
func (m *Mem) Used() (used, all int) { return m.Chunks - m.room(), m.Chunks }

// Filled is Used, roughly as long as less than half of the chunks are in use. The owner calls it many
// times a second: it does not look at each chunk, whose control word is in the cache of a writer.
func (m *Mem) Filled() (used, all int) {
	used = m.Chunks
	for i := range m.freeMap {
		used -= bits.OnesCount64(m.freeMap[i].Load())
	}
	// The map may lack free chunks.
	if 2*used >= m.Chunks {
		return m.Used()
	}
	return max(used, 0), m.Chunks
}

// spent reports whether not even the smallest event has room.
func (m *Mem) spent() bool {
	for i := range m.Chunks {
		need := chunk.FullSize
		c := ctl(m.at(i).ctl.Load())
		switch c.state() {
		case free, claiming:
			return false
		case owned:
			need = chunk.Overhead
		case full, leaving:
			continue
		}
		if c.off()+need <= m.ChunkSize {
			return false
		}
	}
	return true
}

// fill stops a stream that has become exactly full: no event is lost yet, but no event fits any
// more (FUL-11).
func (m *Mem) fill() {
	st := m.h.state.Load()
	if m.Policy == Loop || st&(Running|Dead) != Running || !m.spent() {
		return
	}
	if m.h.state.CompareAndSwap(st, st&^(Running|StopReported|NoRestart)|Full+stateGen) {
		m.h.autoStop.Store(m.now() + skew)
	}
}
