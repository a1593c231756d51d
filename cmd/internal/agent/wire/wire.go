// Package wire defines the layout of the memory that the C library shares with its agent. The C compiler
// sees the same layout: libposixtrace/wire.h is generated from this file.
//
// The controller writes a request into a call, sets the state to Asked, sets the call's bit in
// Channel.Pending, and rings the bell. The agent answers and sets Done. A reader call that finds no
// event is Parked. Its caller may take it back then (Idle). Otherwise the agent answers it when there is an
// event, which stays with the agent: the caller asks again for it. So a caller that gives up its wait in
// any way, at any moment, takes no event with it.
package wire

import "sync/atomic"

// Version is that of this layout.
const Version = 1

// Sizes.
const (
	Calls     = 64 // calls at a time; further callers wait
	Areas     = 32 // logs that are read in batches; further ones are read event by event
	Batches   = 4  // of an area
	DataSize  = 40 << 10
	BatchSize = 64 << 10
	NameSize  = 256
	DirAt     = 32 << 10 // in Data of OpCreate and OpOpen: $PTRACE_DIR, of Length bytes
)

// States of a call: the lowest StateBits of Call.State. The bits above count the requests of the call.
const (
	Idle      = 0
	Asked     = 1
	Parked    = 2
	Giving    = 3
	Done      = 4
	StateMask = 7
	StateStep = 8
)

// Values of Channel.Ready.
const (
	Starting = 0
	Ready    = 1
	Refused  = 2 // the agent has another Version, or cannot work
)

// Leaving is the bit of Channel.Gate that the agent sets when it ends. The bits below count the calls
// under way: the agent ends on its own only while there is none.
const Leaving = 1 << 31

// OwnerDied is the bit of Channel.Alive that the kernel sets when the agent has ended.
const OwnerDied = 1 << 30

// Operations.
const (
	OpCreate      = 1  // Args: pid, the attributes set, log given; Data: the attributes. Result: Trid
	OpStart       = 2  //
	OpStop        = 3  //
	OpClear       = 4  //
	OpFlush       = 5  //
	OpShutdown    = 6  //
	OpGetFilter   = 7  // Data: the set
	OpSetFilter   = 8  // Args: how; Data: the set
	OpOpenID      = 9  // Data, Length: the name. Result: Args[0]
	OpAttr        = 10 // Data: the attributes
	OpStatus      = 11 // Data: Status
	OpName        = 12 // Args: id. Data, Length: the name
	OpNextType    = 13 // Result: Args: id, 1 at the end
	OpRewindTypes = 14 //
	OpOpen        = 15 // Result: Trid
	OpRewind      = 16 //
	OpClose       = 17 //
	OpNext        = 18 // Args: most bytes of data, Timed. Data: Item; Args[0]: Event, None or Again
	OpTryNext     = 19 // the same, and does not wait
)

// Timed is the second argument of OpNext for a call with a deadline.
const Timed = 1

// Results of OpNext and OpTryNext.
const (
	Event = 0
	None  = 1
	Again = 2 // of a call that was parked: there was an event since
)

// Channel is the whole memory.
type Channel struct {
	Version    uint32
	PID        uint32        // of the controller
	Key        uint32        // the upper half of the channel's trace identifiers
	AgentPID   uint32        // set by the agent
	Ready      atomic.Uint32 // a futex
	Alive      atomic.Uint32 // a robust futex: a thread of the agent, and OwnerDied at its end
	Gate       atomic.Uint32
	Bell       atomic.Uint32 // a futex: changes with each request
	Asleep     atomic.Uint32 // the agent waits for the bell
	Processors uint32        // on which the agent may run
	Error      uint32        // why the agent could not be executed
	Spare      uint32
	Pending    atomic.Uint64 // calls with a request, a bit each
	Wanted     atomic.Uint64 // areas with a request
	Nonce      [16]byte      // proves that a descriptor comes from the controller
	Socket     [32]byte      // the name, in the abstract space, where the agent takes descriptors
	_          [16]byte
	Call       [Calls]Call
	Area       [Areas]Area
}

// Call is a request of one thread and its answer.
type Call struct {
	State   atomic.Uint32 // a futex
	Owner   atomic.Uint32 // the thread that uses the call, or 0
	Op      uint32
	Err     uint32
	PID     uint32
	TID     uint32
	Address uint64
	Trid    uint64
	Length  uint64
	Args    [4]uint64
	_       [48]byte
	Data    [DataSize]byte
}

// Area holds events of a log that the agent reads ahead.
type Area struct {
	Want    atomic.Uint32 // the batches asked for
	Have    atomic.Uint32 // a futex: the batches filled
	Waiting atomic.Uint32 // the controller waits for Have
	_       [52]byte
	Batch   [Batches]Batch
}

// Batch is a number of events.
type Batch struct {
	Bytes uint32 // of Data
	End   uint32 // the log ends behind them
	Err   uint32 // reading failed behind them
	_     [52]byte
	Data  [BatchSize]byte
}

// Item is an event. Its data follows it, and the next item begins at a multiple of 8 bytes.
type Item struct {
	Size       uint32 // with data and padding
	Length     uint32 // of the data
	ID         uint32
	PID        uint32
	TID        uint32
	Truncation uint32
	Address    uint64
	Seconds    int64
	Nanos      int64
	Span       uint64
	Parent     uint64
}

// Status is posixtrace.Status.
type Status struct {
	Running, Full, Overrun, Flushing, FlushError, LogOverrun, LogFull, MissedError uint32

	Missed, Lost, LogLost uint64
}
