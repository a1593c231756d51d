package posixtrace

import (
	"runtime"
	"sync/atomic"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// table is what a trace point goes through: the streams that trace this process
// while its word has this value. It never changes once it is published.
type table struct {
	word    uint32 // 0 while an attempt to connect is to be made again: of no page that is traced
	seen    uint32 // what word would be otherwise
	again   int64  // and when, in the nanoseconds of sys.Monotonic
	none    bool   // there is no page, or no directory for it
	fast    bool   // sys.Self can be used
	outline uint64 // where record returns to in an Event that was not inlined
	outer   bool   // sys.Outer can be used
	streams []*attachment
	only    *stream.Writer // of a single stream, as it mostly is
}

// count notes whether there is a single stream.
func (t *table) count() {
	t.only = nil
	if len(t.streams) == 1 {
		t.only = t.streams[0].w
	}
	runtime.KeepAlive(t)
}

// wants reports whether any stream would do something with an event of this type.
//
//go:noinline
func (t *table) wants(id event.ID) bool {
	defer runtime.KeepAlive(t)
	for _, a := range t.streams {
		if a.w.Wants(id) {
			return true
		}
	}
	return false
}

func (t *table) find(id uint64) *attachment {
	defer runtime.KeepAlive(t)
	if t != nil {
		for _, a := range t.streams {
			if a.c.id == id {
				return a
			}
		}
	}
	return nil
}

// pending reports whether t stands for a failure that it is not yet time to try again
// after.
func (t *table) pending() bool {
	return t != nil && t.again != 0 && t.seen == atomic.LoadUint32(loadWord()) && int64(sys.Monotonic()) < t.again
}
