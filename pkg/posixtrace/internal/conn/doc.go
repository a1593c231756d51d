// Package conn connects a process to active streams: it opens the trace directory, maps the files of
// streams, takes their locks, and makes the process a writer of them.
//
// A Conn is one mapped stream file. Its mapping lives as long as a reference to the Conn: Release ends a
// connection at once, and for any other the garbage collector unmaps the file. Pin ties the life of the
// stream to that of the program.
//
// An Attachment is the process as a writer: a slot of the stream, with a lock that the kernel drops when
// the program ends or executes another one. RecoverWriters frees what writers held that have ended.
//
// Each, StaleStreams and Tidy look at all active streams of the user. They leave a shutdown to their caller.
//
// The order of locks: that of the directory, the mutex and the lock of a stream, that of the names of a
// family. A trace point waits for none of them (TryLock).
package conn
