package posixtrace

import (
	"runtime"
	"sync/atomic"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// table lists the streams that trace this process while the word of its page has this value. A
// published table never changes.
type table struct {
	word    uint32 // 0 while a failed connection awaits a retry: no page of a traced process has that value
	seen    uint32 // the value that word would have otherwise
	again   int64  // the time of the retry, in the nanoseconds of sys.Monotonic
	none    bool   // there is no page, or no directory for it
	fast    bool   // sys.Self can be used
	ticks   bool   // a stream's clock is the processor's counter
	outline uint64 // where record returns to in an Event that was not inlined
	outer   bool   // sys.Outer can be used
	streams []*conn.Attachment
	only    *stream.Writer // of a single stream, the common case
}

// count sets what depends on the streams as a whole.
func (t *table) count() {
	t.only, t.ticks = nil, false
	for _, a := range t.streams {
		t.ticks = t.ticks || a.Writer.Ticks()
	}
	if len(t.streams) == 1 {
		t.only = t.streams[0].Writer
	}
	runtime.KeepAlive(t)
}

// now reads the processor's counter if a stream needs it.
func (t *table) now() uint64 {
	if t.ticks {
		return sys.Ticks()
	}
	return 0
}

// wants reports whether a stream would record an event of this type.
//
//go:noinline
func (t *table) wants(id event.ID) bool {
	defer runtime.KeepAlive(t)
	for _, a := range t.streams {
		if a.Writer.Wants(id) {
			return true
		}
	}
	return false
}

// find returns the attachment to a stream, or nil.
func (t *table) find(id uint64) *conn.Attachment {
	defer runtime.KeepAlive(t)
	if t != nil {
		for _, a := range t.streams {
			if a.Conn.ID == id {
				return a
			}
		}
	}
	return nil
}

// pending reports whether t is the table of a failure whose retry is not due yet.
func (t *table) pending() bool {
	return t != nil && t.again != 0 && t.seen == atomic.LoadUint32(loadWord()) && int64(sys.Monotonic()) < t.again
}
