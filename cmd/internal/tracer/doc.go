// Package tracer records forks, executions, exits, signals and system calls of processes
// that are not instrumented. It uses ptrace(2), and a seccomp(2) filter if only some system
// calls are recorded. ptrace-run uses it for its options -e proc, signal and syscall, and so does
// ptrace-create for a process that runs already.
//
// Three processes take part:
//
//	ptrace-run ---- tracer     a process of its own: waiting for traced processes would
//	    |  control    |        interfere with waiting for children, and a filter needs
//	    |             |        its tracer for as long as a process has the filter
//	    +-- thread ---+        starts the command, is traced, has the filter: a child
//	          |  handshake     inherits both, so the command has them from the start
//	          +-- command
//
// Under the monitor of a pseudo-terminal there is no such thread: there the command's
// process starts as ptrace-run, gets itself traced (Enter), and then executes the command.
//
// In ptrace-run, Start returns a Tracer, which starts the tracer's process (start.go), starts
// the command (launch.go) and releases the tracer. stage.go is the side of the traced thread,
// messages.go the types of the packets between the three (package packet).
//
// In the tracer's process, Serve does all ptrace requests on one thread, as ptrace(2)
// requires. loop.go waits for any traced thread to stop, records what the stop means
// (process.go for processes and signals, syscall.go for calls), and resumes the thread. held.go
// has the new threads that stop before their creator reports them. The
// decode files show the arguments of calls: decode_calls.go has their kinds, decode.go goes
// by kind. recipe.go finds the programs that make runs for a target. placement.go chooses the
// processor of the tracer.
//
// attach.go is for a process that runs already: there is no thread that starts it, and no filter.
//
// The tracer ends when ptrace-run does, and so releases all threads. If a filter is set, it
// continues until the last process with the filter has ended.
package tracer
