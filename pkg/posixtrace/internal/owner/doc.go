// Package owner is the owner of a stream: it moves the events of the stream to its log and completes the log.
//
// The life of a log on the side of its owner. New opens what the log needs before the stream's lock is taken.
// Begin writes the head of the log, at once or, for a log that is held back, by BeginHeld. Run polls the stream
// in a goroutine and flushes it when another process asks for it and, with the policy FLUSH, when the stream is
// half full or a second has passed. Run makes its calls through a handle of the stream (Calls); when the
// application closes its handle, PassTo continues with another one. A shutdown halts Run, and Seal makes the
// last flush and completes the log.
//
// If the owner dies, the process that finds the stream completes the log in its place, by the same last flush
// (ShutdownOrphan).
package owner
