package posixtrace

import (
	"runtime"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/attr"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
)

// Limits of this implementation (limits.h).
const (
	EventNameMax = 255  // TRACE_EVENT_NAME_MAX: bytes in the name of an event type
	NameMax      = 255  // TRACE_NAME_MAX: bytes in the name of a stream
	SysMax       = 1024 // TRACE_SYS_MAX: active streams of one user
	UserEventMax = 1024 // TRACE_USER_EVENT_MAX: user event types of one process, the unnamed one included
	StreamsMax   = 64   // active streams that trace one process
)

// POSIXVersion is the value of the feature test macros _POSIX_TRACE, _POSIX_TRACE_LOG,
// _POSIX_TRACE_INHERIT and _POSIX_TRACE_EVENT_FILTER: the package supports all four options.
const POSIXVersion = 200809

// FullPolicy is what a stream or a log does when it is full.
type FullPolicy uint8

// The policies. PolicyLoop and PolicyUntilFull serve streams and logs alike.
const (
	// PolicyDefault is PolicyLoop for a stream without log, PolicyFlush for a stream with
	// log, and PolicyLoop for the log itself.
	PolicyDefault FullPolicy = iota
	// PolicyLoop (POSIX_TRACE_LOOP): new events overwrite the oldest ones.
	PolicyLoop
	// PolicyUntilFull (POSIX_TRACE_UNTIL_FULL): recording stops until there is room.
	PolicyUntilFull
	// PolicyFlush (POSIX_TRACE_FLUSH), only for streams with log: as PolicyUntilFull, and the owner
	// flushes the stream to its log whenever it is half full and every second.
	PolicyFlush
	// PolicyAppend (POSIX_TRACE_APPEND), only for logs: the log grows without limit.
	PolicyAppend
)

// String returns "loop", "until-full", "flush", "append" or "default".
func (p FullPolicy) String() string {
	switch p {
	case PolicyLoop:
		return "loop"
	case PolicyUntilFull:
		return "until-full"
	case PolicyFlush:
		return "flush"
	case PolicyAppend:
		return "append"
	}
	return "default"
}

// Inheritance is whether a stream also traces the children of its process.
type Inheritance uint8

// The values of the inheritance attribute.
const (
	InheritNone     Inheritance = iota // POSIX_TRACE_CLOSE_FOR_CHILD
	InheritChildren                    // POSIX_TRACE_INHERITED
)

// String returns "close-for-child" or "inherited".
func (i Inheritance) String() string {
	if i == InheritChildren {
		return "inherited"
	}
	return "close-for-child"
}

// Defaults of the size attributes, in bytes.
const (
	DefaultStreamSize       = 64 << 10 // of a stream without log
	DefaultLoggedStreamSize = 1 << 20  // of a stream with a log that is no smaller: it holds a burst of 3,000 events until the next flush
	DefaultMaxDataSize      = 1024
	DefaultLogSize          = 1 << 20
)

// Attr holds the settings of a trace stream to be created, the settable part of a trace_attr_t. The zero
// value is the result of posix_trace_attr_init: each attribute has its default. A create function copies
// the settings. It may adjust sizes; Stream.Attr returns the sizes in use.
type Attr struct {
	// Name is the trace-name (posix_trace_attr_setname). A create function cuts a name of more than
	// NameMax bytes. The default is the empty string.
	Name string
	// Inheritance (posix_trace_attr_setinherited).
	Inheritance Inheritance
	// StreamFullPolicy (posix_trace_attr_setstreamfullpolicy).
	StreamFullPolicy FullPolicy
	// LogFullPolicy (posix_trace_attr_setlogfullpolicy).
	LogFullPolicy FullPolicy
	// StreamSize is the stream-min-size in bytes (posix_trace_attr_setstreamsize): the stream
	// records any events without loss whose greatest sizes (MaxUserEventSize, MaxSystemEventSize) add up
	// to no more. 0 means DefaultStreamSize for a stream without log; for one with a log
	// DefaultLoggedStreamSize, or the size of a log that is smaller.
	StreamSize int64
	// MaxDataSize is the max-data-size (posix_trace_attr_setmaxdatasize): how many bytes of an
	// event's data the stream keeps. nil means DefaultMaxDataSize, new(0) no data at all.
	MaxDataSize *int
	// LogSize is the log-max-size in bytes (posix_trace_attr_setlogsize): how many bytes of events a log
	// holds under the policies PolicyLoop and PolicyUntilFull. 0 means DefaultLogSize. A log has at least
	// the size of its stream.
	LogSize int64
	// LeastStreamSize, in bytes, allows a smaller stream where the trace directory has little room:
	// the create function quarters StreamSize, down to LeastStreamSize, until the stream takes no
	// more than a quarter of the room that is free or can be freed (Stream.MadeRoom). 0 allows no
	// smaller stream. Extension.
	LeastStreamSize int64
	// Exclusive makes the create functions fail with EEXIST if an active stream of the user has this
	// Name. Streams that an ended process has left behind (StreamInfo.Stale) do not count. Of several
	// calls at a time, of any processes, one succeeds. Extension.
	Exclusive bool
	// HoldLog leaves the log's file unchanged until Stream.BeginLog, so that a program whose start fails
	// after it created the stream does not destroy the contents of the file. Extension.
	HoldLog bool
}

// StreamAttr holds the attributes of a stream that exists, with the sizes and policies in use
// (posix_trace_get_attr). Stream.Attr, Log.Attr and Reader.Attr return it.
type StreamAttr struct {
	Name             string        // posix_trace_attr_getname
	Inheritance      Inheritance   // posix_trace_attr_getinherited
	StreamFullPolicy FullPolicy    // posix_trace_attr_getstreamfullpolicy
	LogFullPolicy    FullPolicy    // posix_trace_attr_getlogfullpolicy
	StreamSize       int64         // posix_trace_attr_getstreamsize, in bytes
	MaxDataSize      int           // posix_trace_attr_getmaxdatasize, in bytes
	LogSize          int64         // posix_trace_attr_getlogsize, in bytes
	CreateTime       time.Time     // posix_trace_attr_getcreatetime
	ClockResolution  time.Duration // posix_trace_attr_getclockres, of the times of events

	// GenerationVersion names the trace system that recorded the stream
	// (posix_trace_attr_getgenversion).
	GenerationVersion string
}

// Attr returns the settings that create another stream with these attributes.
func (a *StreamAttr) Attr() Attr {
	var settings Attr
	stored := attr.FromPublic(a)
	stored.ToPublic(&settings)
	return settings
}

// maxData returns the max-data-size that a stream with these settings has.
func (a *Attr) maxData() int {
	if a.MaxDataSize == nil {
		return DefaultMaxDataSize
	}
	return min(*a.MaxDataSize, chunk.MaxData)
}

// streamSize returns the stream-min-size that a stream with these settings asks for.
func (a *Attr) streamSize(logged bool) int64 {
	switch {
	case a.StreamSize != 0:
		return a.StreamSize
	case logged && a.LogSize > 0 && a.LogFullPolicy != PolicyAppend:
		return min(a.LogSize, DefaultLoggedStreamSize) // a log has at least the size of its stream
	case logged:
		return DefaultLoggedStreamSize
	}
	return DefaultStreamSize
}

// MaxUserEventSize returns the most bytes that a user event with n bytes of data takes in a stream with
// these settings (posix_trace_attr_getmaxusereventsize).
func (a *Attr) MaxUserEventSize(n int) int {
	return chunk.EventSize(min(max(n, 0), a.maxData()))
}

// MaxSystemEventSize returns the most bytes that a system event takes in a stream with these settings
// (posix_trace_attr_getmaxsystemeventsize).
func (a *Attr) MaxSystemEventSize() int {
	return chunk.EventSize(max(stream.MaxSystemData, a.maxData()))
}

// MaxUserEventSize returns what Attr.MaxUserEventSize returns, for a stream that exists.
func (a *StreamAttr) MaxUserEventSize(n int) int {
	return (&Attr{MaxDataSize: &a.MaxDataSize}).MaxUserEventSize(n)
}

// MaxSystemEventSize returns what Attr.MaxSystemEventSize returns, for a stream that exists.
func (a *StreamAttr) MaxSystemEventSize() int {
	return (&Attr{MaxDataSize: &a.MaxDataSize}).MaxSystemEventSize()
}

// Attr returns the stream's attributes, with the sizes and policies in use (posix_trace_get_attr).
// Errors: EINVAL the stream is closed.
func (s *Stream) Attr() (StreamAttr, error) {
	defer runtime.KeepAlive(s)
	if s.isClosed() {
		return StreamAttr{}, fail("posix_trace_get_attr", s.whyClosed(), syscall.EINVAL)
	}
	return attrOf(s.c), nil
}

// attrOf returns the attributes of a stream.
func attrOf(c *conn.Conn) StreamAttr { return streamAttr(&c.Mem.Attributes) }

// streamAttr returns attributes as a stream or a log stores them.
func streamAttr(stored *attr.Attributes) (a StreamAttr) {
	stored.ToPublic(&a)
	return a
}
