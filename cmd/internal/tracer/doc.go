// Package tracer records what happens to processes that know nothing of tracing:
// their forks, programs, ends, signals and system calls. It uses ptrace(2), and for
// some of the system calls a seccomp(2) filter.
//
// Three processes take part:
//
//	ptrace-run ---- tracer     a process of its own: to wait for processes that it
//	    |  control    |        traces would disturb one that waits for its children,
//	    |             |        and a filter needs its tracer for ever
//	    +-- thread ---+        starts the command, is traced, has the filter: a child
//	          |  handshake     inherits both, so the command has them from its birth
//	          +-- command
//
// Under the monitor of a pseudo-terminal there is no such thread: the command comes into
// being as this program, as always there, which gets itself traced and then executes it.
//
// The tracer works on one thread (ptrace(2) wants that): it waits for any of the
// threads it traces, records, lets it go on, and waits again. It ends when ptrace-run
// does, which lets go of all threads; but where a filter is set it stays until the last of
// its processes has ended.
package tracer
