// Package stream is the shared file of a trace stream: its layout, the chunks
// in it, writers and readers. It works on a block of memory and knows nothing
// of files, directories or traced processes.
//
// The file, little-endian, every part aligned to 64 bytes at least:
//
//	+--------+-------------+-----+-------------+----------+----------+---
//	| header | ages        | free| descriptors | chunk 0  | chunk 1  | ...
//	|        | 8 B a chunk | bits| 128 B each  | chunkSize| chunkSize|
//	+--------+-------------+-----+-------------+----------+----------+---
//
// A writer appends records to a chunk with plain stores and publishes them through the chunk's control
// word (protocol.go).
//
// The C library works on the same files. Its header of the layout is written from this package,
// chunk, event and registry.
//
// # Life of an event
//
//  1. The caller has compared the word of its page, a counter of changes, with its table of streams
//     (package tracee), and calls [Writer.Append] for each stream that runs and accepts the type.
//  2. The processor number selects a shard of the writer; it is a hint only. Append makes the shard's
//     chunk busy with one compare-and-swap of its control word (seize). It has read the processor's
//     clock before: in the other order, it would wait for the locked instruction.
//  3. Append checks three words: the horizon, the state, the shard's tag. If the tick is not beyond the
//     horizon, it reads the clock again. If a stop or a new filter has changed the state, or the chunk has
//     gone to another shard, the event goes back to the start. Otherwise Append stores the record behind
//     those that are published, and publishes it by one store of the control word (publish). A writer
//     killed between any two instructions leaves a readable chunk.
//  4. If the chunk is full, taken or busy, the writer claims another one, for which its shard needs a
//     permit, or appends to an open one. If all open chunks stay busy, a new one takes the place of one
//     of them in the table, and that one is displaced until its writer is done. A writer without a permit takes that of a writer whose chunk has
//     not changed since its last look, or waits 5 ms at most.
//  5. If no chunk is available, PolicyLoop takes the oldest full chunk and counts its events as lost.
//     Under the other policies the stream becomes full and suspended, and the event counts as lost.
//
// A reader takes the time, raises the horizon to it, scans all chunks, and merges the older events by
// time. A writer either is busy when the reader looks at its chunk, or finds the horizon and takes a
// later time (horizon.go). The reader waits up to 20 ms for a busy chunk; an event that appears later
// is reported late, and counted. It decodes private copies, and then checks that the chunk has not
// changed hands by adding zero to its control word: a load may be ordered before the loads of the copy.
//
// The events of one writer keep their order, even if it supplies their times. A recorder that moves to
// another chunk gives its next event a later tick. A scan leaves out chunks started during the scan, and
// starts again if a writer has moved to an older chunk meanwhile.
//
// Readers and flushes create overflow and resume, the automatic stop and the flush marks from words in
// the header, so that these need no room in the stream; marks.go has the rules as tables. Stops for lack
// of room are numbered, and one word holds that number and the count of lost events, so that a late
// writer cannot count a loss across a restart.
//
// # Life of a stream
//
//   - Control takes the stream's lock and changes the state word. Stop waits briefly for writers in the
//     middle of an event.
//   - Writers make no system call to wake the owner, so the owner polls the stream every 1 to 16 ms. It
//     flushes on request, and under PolicyFlush when the stream is half full, is stopped for lack of
//     room, or after a second. It closes each chunk, copies it unchanged to the log, and frees it when
//     the log has it.
//   - If a chunk stays busy for 5 ms, the flush recovers what dead writers hold. The writer of a slot
//     has ended if its process is dead, or if the kernel has dropped the lock of the slot and the process
//     does not map the stream: it has executed another program. A living writer's chunk is left to a
//     later flush.
//   - Shutdown stops, recovers and flushes, also what a writer has published that is stopped in the
//     middle of an event, whose control word it leaves alone. It counts the rest as lost, sets the dead
//     bit, and frees the memory of the chunks. Any process that completes the log of a dead owner does
//     the same.
//
// # Glossary
//
//	agent            the process that works for a controller in C
//	busy             of a chunk: its writer is in the middle of a record
//	chunk            a part of a stream; the unit of flushing
//	clock anchor     a pair of tick and time; the clock is the line through the anchors
//	conn             a process's mapping of a stream, with its slot
//	displaced chunk  an open chunk, busy, that another one has replaced in the table of open chunks
//	family           a process and the descendants that share its event type numbers
//	generation       the count of how often a chunk has changed hands
//	horizon          a tick that a stream's clock has reached: later events have later ticks
//	keeper           the background process of ptrace-create -o that owns a stream
//	mark             a system event that a reader or flush makes, such as overflow
//	open chunk       a chunk that many writers share
//	orphan           a stream whose owner is dead; the next command shuts it down
//	owner            the process that flushes a stream and whose death orphans it
//	page             the file that lists the streams of one process
//	partial chunk    a chunk left with room in it; another writer may adopt it
//	pending record   the event that RESUME has announced, kept for the next reader
//	permit           the right of a shard to own a chunk; a stream has few
//	recorder         a writer on behalf of another process, with times of its own
//	shard            the part of a writer that goroutines on one processor use
//	site             type, thread, process and address of a trace point, stored once per chunk
//	slot             of a stream: an entry for a writing process; of a loop log: a place for events
//	span             the time between NAME.begin and NAME.end, which a key pairs
//	spool            a file to which shells append lines that become events
//	tick             the unit of time in a record
package stream
