package conn

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// ErrSlots is the error of a stream whose slots are all taken by living writers.
var ErrSlots = sys.Wrap("too many writers on one stream", syscall.EAGAIN)

// Attachment is this process as a writer of a stream. Its finalizer, which runs when no trace point
// uses it any more, gives up its chunks.
type Attachment struct {
	Conn   *Conn
	Writer *stream.Writer
}

// Attach connects the process p to a stream as one of its writers.
func Attach(c *Conn, p sys.Proc, shards int) (*Attachment, error) {
	slot, err := takeSlot(c)
	if err != nil {
		return nil, err
	}
	if c.Mem.Crowded() {
		// Dead writers may hold chunks. Do not wait for the lock.
		if unlock, err := c.TryLock(); err == nil {
			c.RecoverWriters()
			unlock()
		}
	}
	w, err := c.Mem.NewWriter(slot, p.PID, shards)
	if err != nil {
		c.FreeSlot(slot)
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
	return &Attachment{Conn: c, Writer: w}, nil
}

// AttachLocked makes this process a writer, of one goroutine at a time, for a caller that holds the stream's
// lock.
func AttachLocked(c *Conn) (*Attachment, error) {
	slot, ok := c.TakeSlot(true)
	if !ok {
		return nil, ErrSlots
	}
	w, err := c.Mem.NewWriter(slot, sys.SelfProc().PID, 1)
	if err != nil {
		c.FreeSlot(slot)
		return nil, err
	}
	return &Attachment{Conn: c, Writer: w}, nil
}

// crowdedPause is the least time between two recoveries by a writer.
const crowdedPause = 100 * time.Millisecond

// TakeSlot takes a slot among the writers for this process, which may write on behalf of another.
func takeSlot(c *Conn) (uint64, error) {
	c.SweepSelf(false)
	if slot, ok := c.TakeSlot(false); ok {
		return slot, nil
	}
	// All slots are taken, perhaps some by dead writers. A trace point does not wait for the lock.
	unlock, err := c.TryLock()
	if err != nil {
		return 0, ErrSlots
	}
	defer unlock()
	if slot, ok := c.TakeSlot(true); ok {
		return slot, nil
	}
	return 0, ErrSlots
}

// Close gives up the chunks and the slot. No Record may be under way.
func (a *Attachment) Close() {
	defer runtime.KeepAlive(a)
	slot := a.Writer.Slot()
	a.Writer.Close()
	a.Conn.FreeSlot(slot)
}

// TakeSlot takes a slot among the writers, as stream.Mem.TakeSlot does. It also holds a lock for
// the slot, which an exec drops; it goes without where the kernel offers no such lock. locked reports that
// the caller holds the stream's lock: if all slots are taken, TakeSlot recovers those of ended writers then.
func (c *Conn) TakeSlot(locked bool) (slot uint64, ok bool) {
	c.holds.Lock()
	defer c.holds.Unlock()
	take := func() (uint64, bool) {
		return c.Mem.TakeSlotHeld(sys.SelfProc(), nil, func(slot uint64) (let func()) {
			sys.HoldSharedAs(c.File, slotHeld+slot)
			return func() { sys.ReleaseAs(c.File, slotHeld+slot) }
		})
	}
	if slot, ok = take(); !ok && locked {
		c.RecoverWriters()
		slot, ok = take()
	}
	return slot, ok
}

// FreeSlot frees the slot of a writer that is closed.
func (c *Conn) FreeSlot(slot uint64) {
	c.holds.Lock()
	defer c.holds.Unlock()
	c.Mem.FreeSlot(slot)
	sys.ReleaseAs(c.File, slotHeld+slot)
}

// slotHeld is the first of the numbers that a connection holds (sys.HoldSharedAs) for its slots.
// The numbers of readers are lower. Process and start time do not identify the writer of a slot: an
// earlier program of the same process may have left the slot, whose lock the kernel has dropped
// then; or another Go runtime in this program, such as that of a c-shared library, may be writing.
const slotHeld = 1 << 62

// SweepSelf frees the slots and chunks that an earlier program of this process has left behind. It
// does so once, before this program becomes a writer itself. locked reports that the caller holds
// the stream's lock; otherwise SweepSelf does not wait for it, because the caller may be a trace
// point.
func (c *Conn) SweepSelf(locked bool) {
	swept.mu.Lock()
	defer swept.mu.Unlock()
	if c.swept {
		return
	}
	if swept.conns == nil {
		swept.conns = make(map[uint64]int)
	}
	c.swept = true
	swept.conns[c.ID]++
	runtime.AddCleanup(c, unswept, c.ID)
	if swept.conns[c.ID] > 1 {
		return
	}
	self := sys.SelfProc()
	if !c.Mem.Writes(self) {
		return
	}
	if !locked {
		unlock, err := c.TryLock()
		if err != nil {
			return
		}
		defer unlock()
	}
	c.Mem.RecoverSlots(func(slot uint64, p sys.Proc) bool {
		if p != self {
			return false
		}
		held, err := sys.FindHeldAs(c.File, slotHeld+slot)
		return err != nil || !held
	})
	c.RecoverWriters()
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
