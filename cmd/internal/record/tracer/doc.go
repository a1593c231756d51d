// Package tracer records forks, executions, exits, signals, system calls and uses of files of processes
// that are not instrumented. It uses ptrace(2), and a seccomp(2) filter if only some system
// calls are recorded. ptrace-run uses it for its options -e proc, signal, files and syscall, and so does
// ptrace-create for a process that runs already.
//
// Three processes take part:
//
//	ptrace-run ---- tracer     a process of its own: waiting for traced processes would
//	    |  control    |        interfere with waiting for children, and a filter needs
//	    |             |        its tracer for as long as a process has the filter
//	    +-- command --+
//	         handshake         before its process executes the command, it asks to be traced
//	                           and sets the filter (child.Entry)
//
// Under the monitor of a pseudo-terminal, the command's process starts as ptrace-run, and its
// handshake is Enter, in stage.go.
//
// In ptrace-run, Start returns a Tracer, which starts the tracer's process and releases it (start.go).
// messages.go has the types of the packets between the two (package child).
//
// In the tracer's process, Serve does all ptrace requests on one thread, as ptrace(2)
// requires. loop.go waits for any traced thread to stop, records what the stop means
// (process.go for processes and signals, syscall.go for calls, files.go for files), and resumes the thread. held.go
// has the new threads that stop before their creator reports them. The
// decode files show the arguments of calls: decode_calls.go has their kinds, decode.go goes
// by kind. recipe.go finds the programs that make runs for a target. placement.go chooses the
// processor of the tracer.
//
// attach.go is for a process that runs already: there is no handshake, and no filter.
//
// The tracer ends when ptrace-run does, and so releases all threads. If a filter is set, it
// continues until the last process with the filter has ended.
//
// # Life of a traced process
//
//  1. A thread of ptrace-run is seized, sets the filter if single calls are selected, starts the command,
//     which inherits both, and ends.
//  2. The tracer registers the event types. After the first program runs it takes no lock, because a
//     traced process that holds the lock may be waiting for the tracer.
//  3. A new process that stops before its parent has reported the fork waits for that report (held.go).
//  4. With a filter, the death of the tracer kills its processes (EXITKILL); without one, the kernel
//     detaches them.
//  5. With -p, the tracer seizes the threads of a running process. A thread must stop once before it
//     stops at calls: the tracer interrupts it, and makes the kernel restart calls that would fail with
//     EINTR. To detach, the tracer ends: the kernel detaches each thread without a stop. The report of
//     each stop stays with the kernel until the thread is resumed, so that no signal is lost.
//
// The tracer ignores all signals except its own faults.
package tracer
