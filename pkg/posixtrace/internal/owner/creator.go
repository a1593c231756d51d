package owner

import (
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Creator is the process that a stream is created for.
type Creator struct {
	Proc    sys.Proc // its death shuts the stream down
	Command string
	PID     uint32 // if another process controls the stream through this one: its number
}

// end is the trace point of the STOP event when this process shuts the stream down because a process asks
// for it that does not own the stream.
func (c Creator) end() stream.Event {
	if c.PID != 0 {
		return stream.Event{PID: c.PID}
	}
	tid, pc := sys.SlowSelf(1)
	return stream.Event{PID: sys.SelfProc().PID, TID: uint32(tid), Addr: pc}
}
