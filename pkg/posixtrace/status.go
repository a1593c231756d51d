package posixtrace

import (
	"runtime"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
)

// RunStatus is whether a stream records (posix_stream_status).
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

// FullStatus is whether a stream or a log is full (posix_stream_full_status, posix_log_full_status).
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

// OverrunStatus is whether events were lost since Stream.Status last returned it
// (posix_stream_overrun_status, posix_log_overrun_status).
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

// FlushStatus is whether a flush is under way (posix_stream_flush_status).
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

	// Lost is the number of events that the stream has lost since its creation, LogLost the number
	// of events that reached the stream but not the log. Never reset. Extension.
	Lost    uint64
	LogLost uint64

	// Missed is the number of traced processes that failed to connect to the stream, for example
	// for lack of a descriptor, and MissedError the error of the last of them: EPROTONOSUPPORT for
	// a program built with a package whose streams have another version. A process retries
	// after a second, then with longer pauses of up to a minute; its events until then are not
	// counted. The stream counts a process once that can reach the stream's file. Both are 0 for a
	// log. Never reset. Extension.
	Missed      uint64
	MissedError syscall.Errno
}

// Status returns the state of the stream (posix_trace_get_status). As the standard asks, it resets
// the overrun states and the flush error. Errors: EINVAL the stream is closed; EIO its file was
// truncated.
func (s *Stream) Status() (Status, error) {
	return s.status("posix_trace_get_status", true)
}

func (s *Stream) status(op string, reset bool) (Status, error) {
	defer runtime.KeepAlive(s)
	if s.isClosed() {
		return Status{}, fail(op, s.whyClosed(), syscall.EINVAL)
	}
	st := s.c.Mem.Status(reset)
	if s.c.Cut() { // st may consist of zeros
		return Status{}, fail(op, conn.ErrCut, syscall.EIO)
	}
	return toStatus(st), nil
}

// PeekStatus returns the status and resets nothing. Extension.
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
