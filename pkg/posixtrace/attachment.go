package posixtrace

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// attachment is this process as a writer of a stream. Its finalizer, which runs when no trace point
// uses it any more, gives up its chunks.
type attachment struct {
	c *conn
	w *stream.Writer
}

// attach connects the process p to a stream as one of its writers.
func attach(c *conn, p sys.Proc, shards int) (*attachment, error) {
	slot, err := takeSlot(c)
	if err != nil {
		return nil, err
	}
	if c.mem.Crowded() {
		// Dead writers may hold chunks. Do not wait for the lock.
		if unlock, err := c.tryLock(); err == nil {
			c.recoverWriters()
			unlock()
		}
	}
	w, err := c.mem.NewWriter(slot, p.PID, shards)
	if err != nil {
		c.freeSlot(slot)
		return nil, err
	}
	var last atomic.Int64
	w.OnCrowded = func() {
		// Recovery takes a while, and living writers free their chunks soon.
		now, then := time.Now().UnixNano(), last.Load()
		if now-then < int64(crowdedPause) || !last.CompareAndSwap(then, now) {
			return
		}
		c.recoverCrowded()
	}
	return &attachment{c: c, w: w}, nil
}

// crowdedPause is the least time between two recoveries by a writer.
const crowdedPause = 100 * time.Millisecond

// takeSlot takes a slot among the writers for this process, which may write on behalf of another.
func takeSlot(c *conn) (uint64, error) {
	c.sweepSelf(false)
	if slot, ok := c.takeSlot(false); ok {
		return slot, nil
	}
	// All slots are taken, perhaps some by dead writers. A trace point does not wait for the lock.
	unlock, err := c.tryLock()
	if err != nil {
		return 0, errSlots
	}
	defer unlock()
	if slot, ok := c.takeSlot(true); ok {
		return slot, nil
	}
	return 0, errSlots
}

// close gives up the chunks and the slot. No Record may be under way.
func (a *attachment) close() {
	defer runtime.KeepAlive(a)
	slot := a.w.Slot()
	a.w.Close()
	a.c.freeSlot(slot)
}

// takeSlot takes a slot among the writers, as stream.Mem.TakeSlot does. It also holds a lock for
// the slot, which an exec drops; it goes without where the kernel offers no such lock. locked reports that
// the caller holds the stream's lock: if all slots are taken, takeSlot recovers those of ended writers then.
func (c *conn) takeSlot(locked bool) (slot uint64, ok bool) {
	c.holds.Lock()
	defer c.holds.Unlock()
	take := func() (uint64, bool) {
		return c.mem.TakeSlotHeld(sys.SelfProc(), nil, func(slot uint64) (let func()) {
			sys.HoldSharedAs(c.f, slotHeld+slot)
			return func() { sys.ReleaseAs(c.f, slotHeld+slot) }
		})
	}
	if slot, ok = take(); !ok && locked {
		c.recoverWriters()
		slot, ok = take()
	}
	return slot, ok
}

// freeSlot frees the slot of a writer that is closed.
func (c *conn) freeSlot(slot uint64) {
	c.holds.Lock()
	defer c.holds.Unlock()
	c.mem.FreeSlot(slot)
	sys.ReleaseAs(c.f, slotHeld+slot)
}

// slotHeld is the first of the numbers that a connection holds (sys.HoldSharedAs) for its slots.
// The numbers of readers are lower. Process and start time do not identify the writer of a slot: an
// earlier program of the same process may have left the slot, whose lock the kernel has dropped
// then; or another Go runtime in this program, such as that of a c-shared library, may be writing.
const slotHeld = 1 << 62

// sweepSelf frees the slots and chunks that an earlier program of this process has left behind. It
// does so once, before this program becomes a writer itself. locked reports that the caller holds
// the stream's lock; otherwise sweepSelf does not wait for it, because the caller may be a trace
// point.
func (c *conn) sweepSelf(locked bool) {
	swept.mu.Lock()
	defer swept.mu.Unlock()
	if c.swept {
		return
	}
	if swept.conns == nil {
		swept.conns = make(map[uint64]int)
	}
	c.swept = true
	swept.conns[c.id]++
	runtime.AddCleanup(c, unswept, c.id)
	if swept.conns[c.id] > 1 {
		return
	}
	self := sys.SelfProc()
	if !c.mem.Writes(self) {
		return
	}
	if !locked {
		unlock, err := c.tryLock()
		if err != nil {
			return
		}
		defer unlock()
	}
	c.mem.RecoverSlots(func(slot uint64, p sys.Proc) bool {
		if p != self {
			return false
		}
		held, err := sys.FindHeldAs(c.f, slotHeld+slot)
		return err != nil || !held
	})
	c.recoverWriters()
}

// swept counts this program's writers by stream, including those that are about to write. The last
// writer to close deletes the stream's entry.
var swept struct {
	mu    sync.Mutex
	conns map[uint64]int
}

func unswept(id uint64) {
	swept.mu.Lock()
	defer swept.mu.Unlock()
	if swept.conns[id]--; swept.conns[id] == 0 {
		delete(swept.conns, id)
	}
}
