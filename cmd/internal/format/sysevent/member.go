// Package sysevent describes the data of system events: which members each event has, of which type and
// unit, when it has them, and how a form of output names them. The forms differ in how they write a
// value of a type, not in what they know of an event.
//
// JSON and Parquet write all events from the table, text all but proc.fork, proc.exit and proc.signal.
// For those, and in CTF and OTLP, straight code takes a third less time; the tests hold it against the
// table. table.go has the events, data.go decodes them.
package sysevent

import "math/bits"

// Type is the type and the unit of a member. It says which part of Data has the value.
type Type uint8

// The types. Those up to Address are numbers.
const (
	Bool     Type = iota // 0 or 1
	Int                  // of 32 bits
	Process              // of 32 bits: the id of a process or thread
	Errno                // of 32 bits
	Signal               // of 32 bits
	ForkKind             // of 32 bits, a posixtrace.ForkKind
	Octal                // of 32 bits: text has its octal digits
	Byte                 // of 8 bits
	Word                 // of 8 bits: the number of a word, see Member.Word
	Flags                // of 16 bits: each stands for a word, see Member.Words
	Count                // of 64 bits
	Size                 // of 64 bits, bytes
	Duration             // of 64 bits, nanoseconds
	Unsigned             // of 64 bits
	Address              // of 64 bits, unsigned
	Hex                  // bytes whose text is their digits
	Text                 // bytes that mostly are text
	Texts                // a list of these
	Types                // a set of event types
	Frames               // a call stack
)

// Condition says which data has a member.
type Condition uint8

// The conditions. Data.Decode decides which of them hold.
const (
	Always       Condition = iota
	IfScheduled            // the kernel counted the delays of the process
	IfShared               // the tracer knows what else the processors did
	IfFile                 // the mapping is of a file, not inherited
	IfBuildID              // also, the file has a build id
	IfInherited            // a process has the mappings of its parent
	IfTraceState           // the context has a trace state
	IfTimed                // it is known for how long a thread waits
	IfGroup                // the figures of the cgroup are known
	IfWritten              // it is known how many bytes a process wrote to a file
	IfOwned                // a file has another owner
	Never                  // only CTF and OTLP have it
	conditions
)

// Member is a member of an event's data.
type Member struct {
	Name string // in JSON, CTF and Parquet
	Key  string // in text, with a space before it; "" if text lacks the member
	Type Type

	Known Condition // of the data that has the member
	Shown Condition // of that of which text has it

	word     func(byte) string     // of a Word
	words    func(uint16) []string // of Flags
	at, size uint8                 // the place in the data, and the size of a Hex; of a Text or Texts, which of them
	bits     uint32                // of those at the place, those of which a Bool has one
	most     uint64                // what a number of 64 bits is at most
}

// Word returns the text of a Word.
func (m *Member) Word(n byte) string { return m.word(n) }

// Words returns the words of Flags.
func (m *Member) Words(n uint16) []string { return m.words(n) }

// Members is a set of members of an event: member i is in it if bit i is set.
type Members uint32

// First returns the first member of a set that is not empty.
func (s Members) First() int { return bits.TrailingZeros32(uint32(s)) }

// Event has the members of an event, in their order.
type Event struct {
	Members []Member
	// ByHand is set for the events that a log is full of: the forms write their members from the
	// encoded data.
	ByHand bool

	size         int                 // of the least data, 0 if Data.Decode does not decode it
	known, shown [conditions]Members // the members that have the condition
}
