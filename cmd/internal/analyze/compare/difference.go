package compare

import "github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"

// What is the kind of thing that differs.
type What string

// The kinds.
const (
	Command    What = "command"
	Span       What = "span"
	Step       What = "step"
	Program    What = "program" // all commands of a program
	Spans      What = "spans"   // all spans of a name
	SystemCall What = "syscall"
	Pause      What = "pause"
	Memory     What = "memory"    // the most that a program, or the run, had
	Processor  What = "processor" // the time that it used
	Event      What = "event"
	Line       What = "line"
	File       What = "file"
	Whole      What = "run"
)

// How is in which way something differs.
type How string

// The ways.
const (
	Added    How = "added"
	Gone     How = "gone"
	Slower   How = "slower"
	Faster   How = "faster"
	Fails    How = "fails"    // failed in no old run, and fails in all new ones
	Succeeds How = "succeeds" // the reverse
	More     How = "more"     // how often
	Fewer    How = "fewer"
	Changed  How = "changed" // other arguments or data
	Moved    How = "moved"   // is inside of something else, or comes in another order
)

// Difference is one difference.
type Difference struct {
	What  What
	How   How
	Name  string // the label, or the line of a pause; "" for what the run used; untrusted
	Was   string // the old label, if it is another one
	Use   string // of a file: "read", "written" or "read and written"
	In    string // the label of the span or command around it, "" for none
	Start bool   // of a pause: before the first line
	Empty bool   // of a pause: after an empty line

	Effect int64  // on the wall time
	Known  bool   // the effect is known
	Bytes  Change // of Memory
	Time   Change // of itself, without what is inside; of what only one side has, all of it
	Whole  Change // the medians of its time with what is inside, 0 if Time has all of it or nothing is known of it
	Count  Change // how often
	First  bool   // it is the first command
	// Overlap: several ran at the same time. Their times together exceed that of a run.
	Overlap bool
	Inside  uint64 // what only one side has: commands and spans inside
	Status  int    // of a failure, -1 unknown
	Signal  int
	Error   string // of a span that failed with one: its text; untrusted
	Limit   int64  // of a failure: the time limit that passed, or 0
	Ended   bool   // of Fails and Succeeds: on the other side it ended with status 0

	weight float64
	item   *matched
	kind   analysis.Kind
}

// NewFailure reports whether something fails on the new side only.
func (d *Difference) NewFailure() bool {
	return d.How == Fails || d.How == Added && (d.Status > 0 || d.Signal > 0 || d.Error != "")
}
