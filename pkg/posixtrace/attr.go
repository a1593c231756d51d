package posixtrace

import (
	"time"
)

// Limits of this implementation (limits.h). They never change while a process runs.
const (
	EventNameMax = 255  // TRACE_EVENT_NAME_MAX: bytes in the name of an event type
	NameMax      = 255  // TRACE_NAME_MAX: bytes in the name of a stream
	SysMax       = 1024 // TRACE_SYS_MAX: active streams of one user
	UserEventMax = 1024 // TRACE_USER_EVENT_MAX: user event types of one process, the unnamed one included
	StreamsMax   = 64   // active streams that trace one process
)

// POSIXVersion is the value of the feature test macros _POSIX_TRACE, _POSIX_TRACE_LOG,
// _POSIX_TRACE_INHERIT and _POSIX_TRACE_EVENT_FILTER: all four are supported.
const POSIXVersion = 200809

// FullPolicy says what happens when a stream or a log has no room left.
type FullPolicy uint8

// The policies. PolicyLoop and PolicyUntilFull serve streams and logs alike.
const (
	// PolicyDefault is PolicyLoop for a stream without log, PolicyFlush for a stream with
	// log, and PolicyLoop for the log itself.
	PolicyDefault FullPolicy = iota
	// PolicyLoop (POSIX_TRACE_LOOP): the oldest events give way to the newest.
	PolicyLoop
	// PolicyUntilFull (POSIX_TRACE_UNTIL_FULL): tracing stops until there is room.
	PolicyUntilFull
	// PolicyFlush (POSIX_TRACE_FLUSH), streams with log only: as PolicyUntilFull, and the
	// stream is flushed to its log regularly.
	PolicyFlush
	// PolicyAppend (POSIX_TRACE_APPEND), logs only: the log grows without limit.
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

// Inheritance says whether the children of a traced process are traced too.
type Inheritance uint8

// The inheritance attribute.
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

// NoUserData as Attr.MaxDataSize keeps no user data at all (a max-data-size of 0).
const NoUserData = -1

// Defaults of the size attributes, in bytes.
const (
	DefaultStreamSize  = 64 << 10
	DefaultMaxDataSize = 1024
	DefaultLogSize     = 1 << 20
)

// Attr holds the attributes of a trace stream (trace_attr_t). The zero value is
// what posix_trace_attr_init gives: every attribute has its default. A stream
// copies the attributes when it is created; later changes do not touch it.
//
// Sizes are in bytes and may be adjusted when the stream is created;
// Stream.Attr tells the sizes really used.
type Attr struct {
	// Name is the trace-name (posix_trace_attr_setname). A name of more than
	// NameMax bytes is cut. The default is the empty string.
	Name string
	// Inheritance (posix_trace_attr_setinherited).
	Inheritance Inheritance
	// StreamFullPolicy (posix_trace_attr_setstreamfullpolicy).
	StreamFullPolicy FullPolicy
	// LogFullPolicy (posix_trace_attr_setlogfullpolicy).
	LogFullPolicy FullPolicy
	// StreamSize is the stream-min-size (posix_trace_attr_setstreamsize): any
	// events whose greatest sizes add up to no more are recorded without loss.
	// 0 means DefaultStreamSize.
	StreamSize int64
	// MaxDataSize (posix_trace_attr_setmaxdatasize) is the most user data kept
	// of one event. 0 means DefaultMaxDataSize, NoUserData none at all.
	MaxDataSize int
	// LogSize is the log-max-size (posix_trace_attr_setlogsize), the bytes of
	// events a log holds under the policies PolicyLoop and PolicyUntilFull.
	// 0 means DefaultLogSize.
	LogSize int64
	// LeastStreamSize allows a smaller stream where the trace directory has little room:
	// StreamSize is quartered, down to this, until the stream takes no more than a quarter of
	// the room that there is or can be made (Stream.MadeRoom). 0 allows none. Extension.
	LeastStreamSize int64
	// Exclusive makes Create fail with EEXIST if an active stream of the user has the
	// Name already. One that a process which is gone has left behind (StreamInfo.Stale) does
	// not count. Of several calls at once, in whatever processes, one succeeds. Extension.
	Exclusive bool
	// HoldLog keeps the log's file as it is until Stream.BeginLog: a start that fails
	// after the stream was created leaves what the file holds. Extension.
	HoldLog bool

	// What follows is read only: Stream.Attr, Log.Attr and Reader.Attr fill it
	// in, Create ignores it.

	// GenerationVersion (posix_trace_attr_getgenversion) names the trace
	// system that recorded the stream.
	GenerationVersion string
	// CreateTime (posix_trace_attr_getcreatetime).
	CreateTime time.Time
	// ClockResolution (posix_trace_attr_getclockres) of the time of events.
	ClockResolution time.Duration
}
