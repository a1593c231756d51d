// Package event defines event types for every layer: numbers and names of the predefined types, the
// classes of the number space, and sets of types.
package event

// ID is the number of an event type (trace_event_id_t). Zero is no type.
type ID uint32

// The number space. The class of an id follows from the id alone, so a set of "all system events"
// includes types that are registered later.
const (
	// Unnamed is posix_trace_unnamed_userevent, the first user type.
	Unnamed ID = 32
	// FirstUser is the first id given to a name that a program registers.
	FirstUser ID = 33
	// FirstDynamic is the first id given to a system type that is registered at run time, such
	// as the type of a system call.
	FirstDynamic ID = 3584
	// Max is one more than the largest id.
	Max ID = 4096
)

// The predefined system event types. These numbers are part of the log format.
const (
	Error      ID = 1
	Start      ID = 2
	Stop       ID = 3
	Filter     ID = 4
	Overflow   ID = 5
	Resume     ID = 6
	FlushStart ID = 7
	FlushStop  ID = 8

	ProcFork     ID = 16
	ProcExec     ID = 17
	ProcExit     ID = 18
	ProcSignal   ID = 19
	OutputStdout ID = 20
	OutputStderr ID = 21
	ProcMap      ID = 22
	ProcContext  ID = 23
	ProcTimeout  ID = 24
	HangThread   ID = 25
	ResSample    ID = 26
	FileAccess   ID = 27
)

// NameMax is the longest name of an event type in bytes (TRACE_EVENT_NAME_MAX).
const NameMax = 255

// UserMax is the most user event types of one process, the unnamed one included (TRACE_USER_EVENT_MAX).
const UserMax = 1024

// Predefined lists the types that exist in every stream, in the order in which
// a type list reports them.
var Predefined = []struct {
	ID   ID
	Name string
}{
	{Error, "posix_trace_error"},
	{Start, "posix_trace_start"},
	{Stop, "posix_trace_stop"},
	{Filter, "posix_trace_filter"},
	{Overflow, "posix_trace_overflow"},
	{Resume, "posix_trace_resume"},
	{FlushStart, "posix_trace_flush_start"},
	{FlushStop, "posix_trace_flush_stop"},
	{ProcFork, "proc.fork"},
	{ProcExec, "proc.exec"},
	{ProcExit, "proc.exit"},
	{ProcSignal, "proc.signal"},
	{OutputStdout, "output.stdout"},
	{OutputStderr, "output.stderr"},
	{ProcMap, "proc.map"},
	{ProcContext, "proc.context"},
	{ProcTimeout, "proc.timeout"},
	{HangThread, "hang.thread"},
	{ResSample, "res.sample"},
	{FileAccess, "file.access"},
	{Unnamed, "posix_trace_unnamed_userevent"},
}

var predefinedName = func() (t [FirstUser]string) {
	for _, p := range Predefined {
		t[p.ID] = p.Name
	}
	return
}()

// PredefinedName returns the name of a predefined type, or "".
func PredefinedName(id ID) string {
	if id < FirstUser {
		return predefinedName[id]
	}
	return ""
}

// PredefinedID returns the id of a predefined name, or 0.
func PredefinedID(name string) ID {
	for _, p := range Predefined {
		if p.Name == name {
			return p.ID
		}
	}
	return 0
}

// Valid reports whether id lies in the number space.
func (id ID) Valid() bool { return id > 0 && id < Max }

// System reports whether id is a system type, POSIX's or ours.
func (id ID) System() bool { return id > 0 && id < Unnamed || id >= FirstDynamic && id < Max }

// User reports whether id is a user type, the unnamed one included.
func (id ID) User() bool { return id >= Unnamed && id < FirstDynamic }
