package posixtrace

// OpenEventID returns the id of a user event name in the calling process and
// its family, registering it if need be (posix_trace_eventid_open). Past
// UserEventMax names it is UnnamedUserEvent. The name of a predefined type gives
// that type's id. Errors: ENAMETOOLONG a name of more than EventNameMax bytes.
func OpenEventID(name string) (EventID, error) { return 0, errStub }

// Event is a trace point: it records an event in every running stream that
// traces the calling process and does not reject id (posix_trace_event). data is
// copied. Event never blocks and never fails; in a process that nobody traces
// it costs about a nanosecond. Unknown and system ids are ignored.
func Event(id EventID, data []byte) {}

// Process is a process for which the caller generates events, as ptrace-event
// does for the shell that runs it. Extension.
type Process struct{ stub }

// OpenProcess connects to process pid, which must belong to the same user.
// Errors: ESRCH, EPERM. Extension.
func OpenProcess(pid int) (*Process, error) { return nil, errStub }

// OpenEventID is OpenEventID on behalf of the process.
func (p *Process) OpenEventID(name string) (EventID, error) { return 0, errStub }

// Event records an event on behalf of the process, with its pid as process and
// thread, in every running stream that traces it, and returns how many took it.
func (p *Process) Event(id EventID, data []byte) int { return 0 }

// Streams returns the paths of the streams that trace the process.
func (p *Process) Streams() []string { return nil }

// Close ends the connection.
func (p *Process) Close() error { return errStub }
