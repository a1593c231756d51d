package conn

import (
	"os"
	"sync"
	"sync/atomic"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Hooks for the tests of package posixtrace. No production code calls them.

// CollectAt returns the number of mapped streams that starts the next garbage collection, how many are
// mapped, and collectEvery.
func CollectAt() (at, now *atomic.Int64, every int64) { return &collectAt, &mapped, collectEvery }

// Mutex returns the mutex within Lock.
func (c *Conn) Mutex() *sync.Mutex { return &c.mu }

// HoldSlot holds the lock of a slot, as its writer does. f is the stream's file.
func HoldSlot(f *os.File, slot uint64) error { return sys.HoldSharedAs(f, slotHeld+slot) }

// SweptStreams returns the number of streams that this program is counted as a writer of.
func SweptStreams() int {
	swept.mu.Lock()
	defer swept.mu.Unlock()
	return len(swept.conns)
}

// AnotherRuntime calls f as another Go runtime of this process would, without the connections
// of the first. It leaves those of f recorded as streams that it writes to. Connections of the first
// that the garbage collector finds meanwhile count down in the other map.
func AnotherRuntime(f func()) {
	swept.mu.Lock()
	ours := swept.conns
	swept.conns = make(map[uint64]int)
	swept.mu.Unlock()
	f()
	swept.mu.Lock()
	defer swept.mu.Unlock()
	for id, n := range ours {
		if swept.conns[id] += n; swept.conns[id] == 0 {
			delete(swept.conns, id)
		}
	}
}
