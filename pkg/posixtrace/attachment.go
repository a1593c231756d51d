package posixtrace

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// attachment is a stream that this process writes to. When nothing refers to it
// any more, and no trace point is using it, its chunks are given up.
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
		// The dead may be in the way. If the lock is taken, its holder is not waited for.
		if unlock, err := c.tryLock(); err == nil {
			c.mem.Recover(gone)
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
		// Looking for the dead takes a while, and the living go on soon.
		now, then := time.Now().UnixNano(), last.Load()
		if now-then < int64(crowdedPause) || !last.CompareAndSwap(then, now) {
			return
		}
		if unlock, err := c.tryLock(); err == nil {
			c.mem.Recover(gone)
			unlock()
		}
	}
	return &attachment{c: c, w: w}, nil
}

// crowdedPause is how often a writer looks for the dead at most.
const crowdedPause = 100 * time.Millisecond

// takeSlot gives this process, which may write for another, a place among the writers.
func takeSlot(c *conn) (uint64, error) {
	c.sweepSelf(false)
	if slot, ok := c.takeSlot(nil); ok {
		return slot, nil
	}
	// All taken, some of them perhaps by the dead. A trace point does not wait for the lock.
	unlock, err := c.tryLock()
	if err != nil {
		return 0, errSlots
	}
	defer unlock()
	if slot, ok := c.takeSlot(gone); ok {
		return slot, nil
	}
	return 0, errSlots
}

// close gives everything up. No Record may be under way.
func (a *attachment) close() {
	defer runtime.KeepAlive(a)
	slot := a.w.Slot()
	a.w.Close()
	a.c.freeSlot(slot)
}

// takeSlot gives this process a place among the writers, as stream.Mem.TakeSlot does. It marks it as one of a
// program that has not executed another since; where that cannot be had it goes without.
func (c *conn) takeSlot(dead func(sys.Proc) bool) (uint64, bool) {
	c.holds.Lock()
	defer c.holds.Unlock()
	return c.mem.TakeSlotHeld(sys.SelfProc(), dead, func(slot uint64) (let func()) {
		sys.HoldSharedAs(c.f, slotHeld+slot)
		return func() { sys.ReleaseAs(c.f, slotHeld+slot) }
	})
}

// freeSlot gives back what takeSlot gave. Its writer must be closed.
func (c *conn) freeSlot(slot uint64) {
	c.holds.Lock()
	defer c.holds.Unlock()
	c.mem.FreeSlot(slot)
	sys.ReleaseAs(c.f, slotHeld+slot)
}

// slotHeld is what a connection holds (sys.HoldSharedAs) of the slots that it has taken, from here on. The numbers
// of readers are below. Process and start do not tell whose a slot is: an earlier program of the
// process has left it, which the kernel has let go of, or another Go runtime in this program, such
// as that of a c-shared library, is writing.
const slotHeld = 1 << 62

// sweepSelf gives back what an earlier program of this very process has left
// behind as a writer of the stream. It does so once, before this program becomes
// a writer itself. locked tells that the caller holds the stream's lock, which is
// not waited for: a trace point may be what waits.
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
	c.mem.Recover(gone)
}

// swept counts, by stream, the connections through which this program has become a writer or
// is about to. With the last of them its writers are gone, and the stream may be forgotten.
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
