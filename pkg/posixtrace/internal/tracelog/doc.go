// Package tracelog reads and writes trace logs. ptrace-log(5) documents every byte of the format.
//
// A log is a superblock and then blocks, each with a header of 64 bytes and a
// payload of a multiple of 8. All integers are little-endian.
//
//	APPEND, UNTIL_FULL, strictly forward:
//	+-------+-------+---------+--------+--------+---     ---+-------+------+
//	| super | types | anchors | events | events |    ...    | index | seal |
//	+-------+-------+---------+--------+--------+---     ---+-------+------+
//
//	LOOP, positional: slots for events are filled round robin, clock anchors and types
//	in the head are overwritten, the tail is written forward:
//	+-------+---------+-------+------+-   -+------+---------+-------+-------+------+
//	| super | anchors | types | slot | ... | slot | anchors | types | index | seal |
//	+-------+---------+-------+------+-   -+------+---------+-------+-------+------+
//
// Every block carries the random id of its log, which distinguishes it from blocks that an older log
// left in the file, a sequence number, which shows a missing or displaced block, and a checksum.
//
// # Life of a log
//
// A forward log is only appended to, so a pipe works. A LOOP log fills its slots in turn. A slot has two
// headers, written alternately, so that its previous content survives a torn write. Anchors and types
// are there twice, so that a log whose end is cut off keeps both (head.go). Types precede their first
// use. Shutdown writes the index (times and types of each block), the status and the seal.
//
// An events block is an unchanged chunk, or in a LOOP log a run of chunks. Where the log extends a file,
// one call writes the whole queue of a flush (queue.go); a pipe gets each chunk by itself.
//
// With sync, each flush ends with fsync(2). Between two syncs the device may receive writes in any order:
// in a forward log, the first missing block ends the log; in a slot, the header that is on the device is
// not overwritten before the next sync. The same applies to the two places of the anchors. A failed
// sync fails permanently, because the kernel would report success for the next one.
//
// Opening a log for the standard's calls requires the seal. A Reader accepts any state: without an index
// it walks the blocks and stops at the first unsound one. Checksum, sequence number and the log's id must
// agree, so no remains of an older log count as events. Memory does not grow with the log: a Reader
// keeps the ranges of the index's parts, and reads a part again when it needs it.
package tracelog
