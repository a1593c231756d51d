package posixtrace

import (
	"errors"
	"io/fs"
	"os"
	"reflect"
	"runtime"
	"sync/atomic"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracee"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool/early"
)

// Event is a trace point: it records an event in every running stream that traces the calling
// process and does not reject id (posix_trace_event). Event copies data. It never blocks and never
// fails, and costs about a nanosecond in a process that no stream traces. It ignores unknown and
// system ids. Event is safe for concurrent use.
func Event(id EventID, data []byte) {
	if atomic.LoadUint32(tracee.LoadWord()) != 0 {
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
func Enabled(id EventID) bool { return atomic.LoadUint32(tracee.LoadWord()) != 0 && enabled(id) }

//go:noinline
func enabled(id EventID) bool {
	t := tracee.Self.Table.Load()
	if t.Stale(event.ID(id)) {
		if t = tracee.Self.Renewed(event.ID(id)); t == nil {
			return false
		}
	}
	return t.Wants(event.ID(id))
}

//go:noinline
func record(id EventID, data []byte) {
	if uint32(id)-uint32(event.Unnamed) >= tracee.Self.Known.Load() {
		if id == probe && len(data) == len(probeMark) && &data[0] == &probeMark[0] {
			_, pc, _, _ := sys.Self()
			probed.Store(pc)
			_, caller := sys.SlowSelf(2)
			probedOuter.Store(sys.Outer() == caller)
		}
		if !event.ID(id).User() || tracee.Self.Sync() == nil || !tracee.Self.Knows(event.ID(id)) {
			return
		}
	}
	t := tracee.Self.Table.Load()
	if t == nil || t.Word != atomic.LoadUint32(tracee.LoadWord()) {
		if t = tracee.Self.Sync(); t == nil {
			return
		}
	}
	w := t.Only
	if w != nil {
		if !w.Wants(event.ID(id)) {
			runtime.KeepAlive(t)
			return
		}
	} else if !t.Wants(event.ID(id)) {
		return
	}
	// Thread, caller, processor and counter are the same for all streams.
	var tid, addr, ticks uint64
	var processor int
	if t.Fast {
		if tid, addr, processor, ticks = sys.Self(); addr == t.Outline {
			// Event itself was not inlined; the trace point is one call farther up.
			if t.Outer {
				addr = sys.Outer()
			} else {
				_, addr = sys.SlowSelf(2)
			}
		}
	} else {
		tid, addr = slowSelf()
		processor = sys.Processor()
		ticks = t.Now()
	}
	if w != nil {
		w.Append(processor, event.ID(id), stream.Who(w.PID(), uint32(tid)), addr, ticks, data)
	} else {
		for _, a := range t.Streams {
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

// outline returns the address in the body of Event, where the compiler did not inline it, that
// record returns to. To find it, outline calls Event without inlining. The call reaches record only
// while the process is traced: until then outline returns 0 and retries at the next call.
func outline() (pc uint64, outer bool) {
	if sys.FastSelf() && probed.Load() == 0 {
		call := Event
		if reflect.ValueOf(&call).Elem().CanSet() { // prevents inlining of the call
			call(probe, probeMark[:])
		}
	}
	return probed.Load(), probedOuter.Load()
}

// probe is no event type. With probeMark as its data it asks record for its return address.
const probe = ^EventID(0)

var probeMark [1]byte

var (
	probed      atomic.Uint64
	probedOuter atomic.Bool // sys.Outer finds the caller of that Event
)

// Connect a program that $PTRACE_STREAM leads to a stream before main: main may enter a sandbox
// (seccomp(2)) that kills the program for the system calls of a connection.
func init() {
	tracee.Self.Outline, tracee.Self.OwnMaps = outline, ownMaps
	if early.Refused {
		return
	}
	path := os.Getenv("PTRACE_STREAM")
	if _, ok := registry.StreamIDOfPath(path); !ok || path[0] != '/' || sys.Secure() {
		return
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return // the stream is gone; do not make a page for it
	}
	if _, err := tracee.Self.Open(); err == nil {
		tracee.Self.ConnectNow()
	}
}
