// Package tracee is the role of a process as a traced process: what a trace point needs to know, and when
// the process connects to its streams.
//
// The life of a traced process. Until its first trace point, LoadWord leads to a 1 of its own, and that trace
// point calls Sync. Sync opens the page of the process in the trace directory, or makes it; from then on
// LoadWord leads to the word of the page, which is 0 while no stream traces the process: then a trace point
// is one load. Each change of the streams changes the word. A trace point that finds another word than that
// of its Table calls Sync, which connects to the new streams and makes a new Table. A stream that was shut
// down stays in the Table until a garbage collection, whose reaper drops it.
//
// A process that fails to connect to a stream reports that to the stream once, and retries later: the Table
// of a failure has the word 0, so that each trace point looks whether the retry is due.
//
// Misses and the inheritance by $PTRACE_STREAM serve a command, too, that records on behalf of another
// process (OpenProc, InheritByName, NoteMissed).
package tracee
