package stream

import "time"

// Hooks for the tests of package posixtrace, which cannot reach the header and the shards. No
// production code calls them.

// Late returns how many events consuming readers have reported out of order: the writer of each
// was held up for longer than a reader waits.
func (m *Mem) Late() uint64 { return m.h.late.Load() }

// LeaveBusy sets the busy bit of a chunk that w owns and leaves it set, like a process that dies
// in the middle of an event. It reports false if w owns no chunk.
func (w *Writer) LeaveBusy() bool {
	for i := range w.mask + 1 {
		if tag := w.shard(i).tag.Load(); tag != noChunk {
			d := w.m.at(int(tag & idxMask))
			c := ctl(d.ctl.Load())
			return (uint64(c)^tag)&tagMask == 0 && d.seize(c)
		}
	}
	return false
}

// SetPatience changes how long readers wait for a writer in the middle of an event, and returns a
// function that changes it back. No reader may run meanwhile.
func SetPatience(d time.Duration) (restore func()) {
	usual := patience
	patience = d
	return func() { patience = usual }
}

// Busy returns how many chunks are busy.
func (m *Mem) Busy() (n int) {
	for i := range m.Chunks {
		if ctl(m.at(i).ctl.Load()).busy() {
			n++
		}
	}
	return n
}
