package posixtrace

import (
	"runtime"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
)

// RunStatus tells whether a stream records (posix_stream_status).
type RunStatus uint8

// The two run states.
const (
	StatusSuspended RunStatus = iota // POSIX_TRACE_SUSPENDED
	StatusRunning                    // POSIX_TRACE_RUNNING
)

// String returns "running" or "suspended".
func (s RunStatus) String() string {
	if s == StatusRunning {
		return "running"
	}
	return "suspended"
}

// FullStatus tells whether a stream or a log is full.
type FullStatus uint8

// The two full states.
const (
	StatusNotFull FullStatus = iota // POSIX_TRACE_NOT_FULL
	StatusFull                      // POSIX_TRACE_FULL
)

// String returns "full" or "not-full".
func (s FullStatus) String() string {
	if s == StatusFull {
		return "full"
	}
	return "not-full"
}

// OverrunStatus tells whether events were lost since it was last read.
type OverrunStatus uint8

// The two overrun states.
const (
	StatusNoOverrun OverrunStatus = iota // POSIX_TRACE_NO_OVERRUN
	StatusOverrun                        // POSIX_TRACE_OVERRUN
)

// String returns "overrun" or "no-overrun".
func (s OverrunStatus) String() string {
	if s == StatusOverrun {
		return "overrun"
	}
	return "no-overrun"
}

// FlushStatus tells whether a flush is under way.
type FlushStatus uint8

// The two flush states.
const (
	StatusNotFlushing FlushStatus = iota // POSIX_TRACE_NOT_FLUSHING
	StatusFlushing                       // POSIX_TRACE_FLUSHING
)

// String returns "flushing" or "not-flushing".
func (s FlushStatus) String() string {
	if s == StatusFlushing {
		return "flushing"
	}
	return "not-flushing"
}

// Status is the state of a stream at one instant (posix_trace_status_info).
type Status struct {
	StreamStatus        RunStatus     // posix_stream_status
	StreamFullStatus    FullStatus    // posix_stream_full_status
	StreamOverrunStatus OverrunStatus // posix_stream_overrun_status
	StreamFlushStatus   FlushStatus   // posix_stream_flush_status
	StreamFlushError    syscall.Errno // posix_stream_flush_error; 0 if none
	LogOverrunStatus    OverrunStatus // posix_log_overrun_status
	LogFullStatus       FullStatus    // posix_log_full_status

	// Lost counts the events that the stream lost since it was created, LogLost
	// those that reached the stream but not the log. Extension; never reset.
	Lost    uint64
	LogLost uint64

	// Missed counts the processes that the stream traces and that could not connect to
	// it, for want of a descriptor say; MissedError is why the last of them could not. A
	// process tries again after a second, then more and more rarely, at least
	// once a minute; its events until then are not counted. It is counted as soon as it can
	// reach the stream at all. Of a log both are 0. Extension; never reset.
	Missed      uint64
	MissedError syscall.Errno
}

// Status returns the state of the stream and resets what the standard resets by
// reading: the overrun states and the flush error (posix_trace_get_status).
func (s *Stream) Status() (Status, error) {
	return s.status("posix_trace_get_status", true)
}

func (s *Stream) status(op string, reset bool) (Status, error) {
	defer runtime.KeepAlive(s)
	if s.isClosed() {
		return Status{}, fail(op, s.whyClosed(), syscall.EINVAL)
	}
	st := s.c.mem.Status(reset)
	if s.c.cut() { // what was read may be zeros
		return Status{}, fail(op, errCut, syscall.EINVAL)
	}
	return toStatus(st), nil
}

// PeekStatus is Status without the resets. Extension.
func (s *Stream) PeekStatus() (Status, error) { return s.status("PeekStatus", false) }

func runStatus(on bool) RunStatus {
	if on {
		return StatusRunning
	}
	return StatusSuspended
}

func fullStatus(full bool) FullStatus {
	if full {
		return StatusFull
	}
	return StatusNotFull
}

func overrunStatus(over bool) OverrunStatus {
	if over {
		return StatusOverrun
	}
	return StatusNoOverrun
}

func toStatus(s stream.Status) Status {
	st := Status{
		StreamStatus: runStatus(s.Running), StreamFullStatus: fullStatus(s.Full),
		StreamOverrunStatus: overrunStatus(s.Overrun), StreamFlushError: syscall.Errno(s.FlushErr),
		LogOverrunStatus: overrunStatus(s.LogOverrun), LogFullStatus: fullStatus(s.LogFull),
		Lost: s.Lost, LogLost: s.LogLost, Missed: uint64(s.Missed), MissedError: syscall.Errno(s.MissedErr),
	}
	if s.Flushing {
		st.StreamFlushStatus = StatusFlushing
	}
	return st
}
