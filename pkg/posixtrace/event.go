package posixtrace

import (
	"runtime"
	"sync/atomic"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// word points to the word of the process page, which is 0 while no stream traces this process.
// Until the first trace point it points to a 1 of our own, which leads to the lookup of the page.
var (
	word           = &unasked
	unasked uint32 = 1
)

// Event is a trace point: it records an event in every running stream that traces the calling
// process and does not reject id (posix_trace_event). Event copies data. It never blocks and never
// fails, and costs about a nanosecond in a process that no stream traces. It ignores unknown and
// system ids. Event is safe for concurrent use.
func Event(id EventID, data []byte) {
	if atomic.LoadUint32(loadWord()) != 0 {
		record(id, data)
	}
}

// Enabled reports whether Event would record an event of type id now: whether a running stream traces the
// calling process and does not reject id. A trace point whose data is expensive to make asks first:
//
//	if posixtrace.Enabled(id) {
//		posixtrace.Event(id, fmt.Appendf(nil, "%v", request))
//	}
//
// Enabled never blocks, and costs about a nanosecond in a process that no stream traces. It is safe for
// concurrent use. Extension.
func Enabled(id EventID) bool { return atomic.LoadUint32(loadWord()) != 0 && enabled(id) }

//go:noinline
func enabled(id EventID) bool {
	t := traced.table.Load()
	if t.stale(id) {
		if t = traced.renewed(id); t == nil {
			return false
		}
	}
	return t.wants(event.ID(id))
}

//go:noinline
func record(id EventID, data []byte) {
	if uint32(id)-uint32(event.Unnamed) >= traced.known.Load() {
		if id == probe && len(data) == len(probeMark) && &data[0] == &probeMark[0] {
			_, pc, _, _ := sys.Self()
			probed.Store(pc)
			_, caller := sys.SlowSelf(2)
			probedOuter.Store(sys.Outer() == caller)
		}
		if !event.ID(id).User() || traced.sync() == nil || !traced.knows(id) {
			return
		}
	}
	t := traced.table.Load()
	if t == nil || t.word != atomic.LoadUint32(loadWord()) {
		if t = traced.sync(); t == nil {
			return
		}
	}
	w := t.only
	if w != nil {
		if !w.Wants(event.ID(id)) {
			runtime.KeepAlive(t)
			return
		}
	} else if !t.wants(event.ID(id)) {
		return
	}
	// Thread, caller, processor and counter are the same for all streams.
	var tid, addr, ticks uint64
	var processor int
	if t.fast {
		if tid, addr, processor, ticks = sys.Self(); addr == t.outline {
			// Event itself was not inlined; the trace point is one call farther up.
			if t.outer {
				addr = sys.Outer()
			} else {
				_, addr = sys.SlowSelf(2)
			}
		}
	} else {
		tid, addr = slowSelf()
		processor = sys.Processor()
		ticks = t.now()
	}
	if w != nil {
		w.Append(processor, event.ID(id), stream.Who(w.PID(), uint32(tid)), addr, ticks, data)
	} else {
		for _, a := range t.streams {
			a.Writer.Append(processor, event.ID(id), stream.Who(a.Writer.PID(), uint32(tid)), addr, ticks, data)
		}
	}
	runtime.KeepAlive(t)
}

// slowSelf returns thread and caller where record cannot trust the fast ways. It skips itself,
// record and Event, which the stack walk reports even if it is inlined.
//
//go:noinline
func slowSelf() (tid, pc uint64) { return sys.SlowSelf(3) }
