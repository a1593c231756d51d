package stream

// The protocol of a chunk's control word.
//
// All processes that share a stream agree by one word for each chunk, the control word:
//
//	 63      44 43   34 33 31 30 29    15 14      0
//	+----------+-------+-----+--+--------+---------+
//	| gen      | slot  |state|B | count  | offset/8|
//	+----------+-------+-----+--+--------+---------+
//
// gen is the generation. slot is the index of a process in the header's table of slots. B is the busy
// bit; the thread that has set it is the holder. count and offset say how many events, in how many bytes,
// are published; bytes beyond the offset do not exist. An idle word is one without B. The generation wraps
// after a million turns of a chunk; a count never reaches B, since no chunk has room for so many records.
//
// Words beside it, which the text below names:
//
//	age            the tick when a chunk was made (begin); under LOOP claim takes the oldest
//	tag            a shard's copy of its chunk's word, without count and offset
//	map            the header's bits of the free chunks
//	hint           the header's word that says that there may be partial chunks
//	lost           of a chunk: how many events were overwritten unread, in all its generations
//	read, cleared  of a chunk: how many events of a generation a reader has consumed, or a Clear or flush is
//	               done with. Frozen, read does not change any more
//	base, last     of a chunk: the tick that its first record counts from, and that of its last record
//	sites          of a chunk: how many trace points its records have named; later records refer to them
//
// Only the methods in this file change a control word, each by one transition. libposixtrace/protocol.h
// has the same ones, but for those of a flush and of a reader, which C does not have.
//
//	name       from                                  to              by     maker
//	claim      free full partial open                claiming(a)     CAS    a writer
//	begin      claiming                              owned(a) g'     store  the claimer
//	begin      claiming                              open(0) g'      store  the claimer
//	release    claiming                              free(0) g'      store  the claimer, a recoverer
//	adopt      partial                               owned(a)+B      CAS    a writer
//	adopt      partial                               open(0)         CAS    a writer
//	takeOver   owned                                 owned(b)+B      CAS    a writer without a permit
//	seize      owned                                 owned(a)+B      CAS    the shard's writer
//	seizeOpen  open                                  open(a)+B       CAS    a writer
//	publish    owned+B                               owned(a) n+1    store  the holder
//	publish    open+B                                open(0) n+1     store  the holder
//	letGo      owned+B                               owned(a)        store  the holder
//	letGo      open+B                                open(0)         store  the holder
//	unseize    owned+B                               owned(a)        CAS    a recoverer, Close
//	unseize    open+B                                open(0)         CAS    a recoverer, Close
//	retire     owned owned+B open none               full(0)         CAS    the holder, a writer, a flush, a recoverer, a reader
//	park       owned owned+B open leaving            partial(0)      CAS    the holder, a writer, a flush, a recoverer
//	drop       owned owned+B open full partial none  free(0) g'      CAS    as retire and park; a reader, Clear
//	drop       leaving                               free(0) g'      CAS    a flush, Clear
//	ship       full partial                          leaving(a)      CAS    a flush
//	handBack   leaving                               full(0)         CAS    the flush, a recoverer
//	handBack   leaving                               partial(0)      CAS    the flush
//	renew      leaving                               leaving(f) g'   CAS    the flush
//	renew      leaving                               full(0) g'      CAS    a recoverer
//
// a, b and f are slots of processes; 0 is no process. g' is the next generation, n+1 one event more. drop,
// begin and release leave neither count nor offset. A transition keeps what the table does not name.
// "CAS" compares the whole word with the one that the caller has seen, "store" does not compare. none is
// the state that no transition makes: a hostile process has stored it, and the next caller closes the chunk. A
// hostile word with B in another state than owned and open is in no row: its chunk stays as it is.
// A further operation, probe, adds zero.
//
// For each transition, which stores before it other processes see with the new word, and what a recoverer does if the
// maker was killed just before it, or just after it:
//
//	claim      publishes nothing. The claimer then clears the bit of the map of free chunks, and counts
//	           unread events as lost (empty). Before: nothing. After: the recoverer runs empty again, which
//	           finds by the generation in lost what is done, and releases the chunk.
//	begin      publishes the members of desc, and lost and read of the next generation. Before: as after
//	           claim. After: an owned chunk is empty, and is dropped. An open one that its writer has not
//	           entered in the header's table is dropped, too (reclaimOpen).
//	release    publishes lost and read of the next generation. After: the recoverer completes the map.
//	adopt      relies on last and sites, which park has noted. After: owned: unseize, park. Open: if the
//	           header's table does not have it, it is closed; its events stay.
//	takeOver   publishes nothing. The permit moves behind it. After: unseize, park; the permit stays.
//	seize      publishes nothing. After: unseize, then park or retire. The n events stay.
//	seizeOpen  as seize; the slot names the holder to a recoverer. The chunk stays open if the header's
//	           table has it, and is closed otherwise.
//	publish    publishes the record, notes on mappings, and what the shard knows of the chunk. Before: the
//	           record does not exist. After: n+1 events.
//	letGo      after adopt or takeOver publishes what the shard knows. Before: as seize. After: as any owned or open chunk.
//	unseize    publishes nothing. After: the next recoverer closes an owned chunk, since its slot is still
//	           taken; an open one is as any other.
//	retire     publishes the age, stored before. Before: as owned or open. After: nothing is owed but the
//	           permit (recoverPermits).
//	park       publishes the age, last and sites, stored before. After: the hint that there are partial
//	           chunks is owed; the recoverer gives it for each.
//	drop       After: the bit of the map is owed (recoverFree), and read is not frozen, which is harmless:
//	           the next empty freezes it.
//	ship       publishes nothing. After: the recoverer hands the chunk back. Whether the log has its block
//	           shows by chunk, generation and base.
//	handBack   After: the hint, as park.
//	renew      publishes cleared and read of the next generation, stored in this order. Before: the
//	           recoverer renews if it finds one of them, and hands back otherwise. After: full.
//
// The states:
//
//	             claim                   begin g'                seize; takeOver (a to b)
//	  +------+ ----------> +-------------+ -------> +----------+ ---------------------------> +------------+
//	  | free |             | claiming(a) |          | owned(a) |                              | owned(a)+B |
//	  +------+ <---------- +-------------+          +----------+ <--------------------------- +------------+
//	   ^  ^    release g'   ^      | begin g'         |           publish, letGo, unseize      |       ^
//	   |  |                 |      v                  |                                        |       |
//	   |  |                 |  +---------+  seizeOpen |           +-----------+                |       |
//	   |  |                 |  | open(0) | -----------|---------> | open(a)+B |                |       |
//	   |  |                 |  |         | <----------|---------- |           |                |       |
//	   |  |                 |  +---------+  publish,  |           +-----------+                |       |
//	   |  |          claim, |   |    ^       letGo,   |                                        |       |
//	   |  |     LOOP: also  |   |    | adopt unseize  | retire, park                           |       |
//	   |  |       from open |   v    |                v              retire, park              v       |
//	   |  |  drop g'   +------------------------------------------------------------------------+      |
//	   |  +----------- |         partial, after park       |      full, after retire            | -----+
//	   |               +------------------------------------------------------------------------+ adopt
//	   |                     | ship          ^ handBack; park after renew
//	   |    drop g'          v               |
//	   +-------------- +-----------------------------+
//	                   | leaving(f)   renew: g to g' |
//	                   +-----------------------------+
//
// An owned or open chunk without events is dropped instead of retired or parked. Clear drops a chunk in each
// idle state but claiming. Under the policies that do not overwrite, claim takes free chunks only.
//
// Invariants:
//
//  1. Only the holder changes a word with B, unless its process is dead, or closes the writer; only the
//     claimer one in claiming, unless it is dead. Therefore begin and release need not compare, and
//     publish and letGo need not compare. (A C process, in which a record can end by a jump, compares.)
//  2. Each other change compares the whole word. Of two makers one wins.
//  3. Bytes below the offset stay unchanged while the generation lasts and the state is not claiming. A
//     copy is good if probe, behind it, finds the same generation in another state than claiming.
//  4. The generation rises in begin, release, drop and renew. It stays in adopt and takeOver, so a word may
//     recur under another writer: a new one clears the stale tags of its shards before letGo (install), and
//     a holder compares its tag again behind seize.
//  5. An idle free, open, full or partial word has slot 0. So a slot names the process that owes something.
//  6. A claiming word has the generation and the events from before. lost and read are of the next
//     generation before begin or release.
//  7. read is of the word's generation in an owned, open, full or partial chunk; of that or the next one in
//     a leaving or claiming one.
//  8. An age only rises, and is stored before the word that lets claim take the chunk.
//  9. Flushes, recoverers and Clear exclude each other by the stream's lock.
// 10. The holder loads state, filter, tag and horizon behind seize. The clock it reads before: the processor
//     would let it wait (horizon.go).
// 11. sites, and with it last, is valid for the generation and the offset that it notes.
// 12. A busy, claiming or leaving chunk is not claimed, adopted or dropped by another writer. So a process
//     that is stopped keeps one chunk for each thread, and not the stream.
//
// The chunks that may take events, and what names them:
//
//	               header                               control word  takes events of            at most
//	owned          permitTable[p]  shard, chunk         owned         the shard with the permit  permits
//	displaced      permitTable[p]  displaced, chunk     open+B        its holder, one event      of these
//	open           openTable[o]    chunk                open          any writer                 openChunks
//	to be replaced openTable[o]    reserved, slot,      open+B        its holder, one event      of these
//	                               chunk
//	partial        -                                    partial       the writer that adopts     chunks
//
// Each owned or open chunk has one entry of permitTable or openTable, unless the process that has made it so is about
// to enter it or to close it; a recoverer closes it for a dead one. So they are at most permits + openChunks, which
// the file has beside the room that the stream has promised. If more writers are stopped in open chunks than
// there are entries, a chunk without entry takes the one event that is under way (supplyOpen).
//
// It takes the two tables, and the words beside them:
//
//   - A writer without a permit tries the open chunks in turn at each event, and events of the trace system go
//     nowhere else. In one table the owners would take these entries, and the search would be longer.
//   - If a hundred processes end after one event each, a hundred chunks are partial, and their room is
//     promised. The control words are the table of these; partials is a hint that saves a look at them.
//   - A chunk to be replaced keeps its entry until its age is set. If the age were set first, it could get newer
//     events than that says. Without the entry, a writer killed in between would leave it the oldest.

// The control word.
const (
	offBits   = 15
	countBits = 15
	slotBits  = 10
	genBits   = 20

	countShift = offBits
	busyBit    = 1 << 30
	stateShift = 31
	slotShift  = 34
	genShift   = 44

	offMask   = 1<<offBits - 1
	countMask = (1<<countBits - 1) << countShift
	stateMask = 7 << stateShift
	slotMask  = (1<<slotBits - 1) << slotShift
	genMask   = 1<<genBits - 1
	// the part of the word that must be as expected for an owner to append
	tagMask = ^uint64(offMask | countMask)
	// below it, in a shard's tag, the number of the chunk
	idxMask = ^tagMask
	// the tag of a shard without chunk: no control word equals it
	noChunk = tagMask
)

type chunkState uint64

const (
	free     chunkState = iota // holds nothing
	claiming                   // slot is taking it; gen and count are still the old ones
	owned                      // slot appends
	open                       // any writer appends
	full                       // no writer appends any more
	leaving                    // full, and slot is writing it to the log
	partial                    // like full, but has room: its writer left early
	none                       // no transition makes it
)

// closed reports whether the chunk holds events and no writer appends to it.
func (s chunkState) closed() bool { return s == full || s == partial }

// ctl is the value of a control word.
type ctl uint64

func makeCtl(gen, slot uint64, st chunkState) ctl {
	return ctl((gen&genMask)<<genShift | slot<<slotShift | uint64(st)<<stateShift)
}
func (c ctl) off() int          { return int(c&offMask) * 8 }
func (c ctl) count() int        { return int(c&countMask) >> countShift }
func (c ctl) busy() bool        { return c&busyBit != 0 }
func (c ctl) state() chunkState { return chunkState(c&stateMask) >> stateShift }
func (c ctl) slot() uint64      { return uint64(c&slotMask) >> slotShift }
func (c ctl) gen() uint64       { return uint64(c) >> genShift }
func (c ctl) with(slot uint64, st chunkState) ctl {
	return c&^(slotMask|stateMask|busyBit) | ctl(slot<<slotShift|uint64(st)<<stateShift)
}

// renewed is the next generation with the same events.
func (c ctl) renewed() ctl { return c&(1<<genShift-1) | makeCtl(c.gen()+1, 0, 0) }

// stateSet is a set of states, each idle or busy: a bit for each value of state and B.
type stateSet uint16

const (
	ifFree     stateSet = 1 << (2 * free)
	ifClaiming stateSet = 1 << (2 * claiming)
	ifOwned    stateSet = 1 << (2 * owned)
	ifOpen     stateSet = 1 << (2 * open)
	ifFull     stateSet = 1 << (2 * full)
	ifLeaving  stateSet = 1 << (2 * leaving)
	ifPartial  stateSet = 1 << (2 * partial)
	ifNone     stateSet = 1 << (2 * none)

	ifOwnedBusy = ifOwned << 1
	ifOpenBusy  = ifOpen << 1
)

// in reports whether the word's state is one of s.
func (c ctl) in(s stateSet) bool { return s>>(c&(stateMask|busyBit)/busyBit)&1 != 0 }

// change replaces the word c, if it is in one of the states from, by n. It returns false if it has not.
func (d *desc) change(c ctl, from stateSet, n ctl) bool {
	return c.in(from) && d.ctl.CompareAndSwap(uint64(c), uint64(n))
}

// The transitions of the word of a chunk. Here and in the rest of the package, c beside a chunk is its control
// word as the caller has loaded it. A transition fails if the word has changed since.

// claim takes the chunk for slot, which must empty it. Its callers pass a closed or open chunk under LOOP alone.
func (d *desc) claim(c ctl, slot uint64) bool {
	return d.change(c, ifFree|ifFull|ifPartial|ifOpen, c.with(slot, claiming))
}

// begin publishes a claimed chunk, which is empty, in state st.
func (d *desc) begin(slot uint64, st chunkState) ctl {
	c := makeCtl(ctl(d.ctl.Load()).gen()+1, slot, st)
	d.ctl.Store(uint64(c))
	return c
}

// release gives a claimed chunk, which is empty, back unused.
func (d *desc) release() { d.ctl.Store(uint64(makeCtl(ctl(d.ctl.Load()).gen()+1, 0, free))) }

// adopt moves a partial chunk to state st. An owned chunk is busy until letGo.
func (d *desc) adopt(c ctl, slot uint64, st chunkState) (n ctl, ok bool) {
	if n = c.with(0, open); st == owned {
		n = c.with(slot, owned) | busyBit
	}
	return n, d.change(c, ifPartial, n)
}

// takeOver gives an owned chunk to slot, in place of another writer. The chunk is busy until letGo.
func (d *desc) takeOver(c ctl, slot uint64) (n ctl, ok bool) {
	n = c.with(slot, owned) | busyBit
	return n, d.change(c, ifOwned, n)
}

// seize makes an owned chunk busy. The writer has compared c with its shard's tag, which no word of another
// state matches.
func (d *desc) seize(c ctl) bool { return d.ctl.CompareAndSwap(uint64(c), uint64(c|busyBit)) }

// seizeOpen makes an open chunk busy. It had slot 0 (invariant 5).
func (d *desc) seizeOpen(c ctl, slot uint64) bool {
	return d.change(c, ifOpen, c|busyBit|ctl(slot<<slotShift))
}

// publish adds an event that ends at offset off, and ends the holder's turn. c is the word from before seize.
func (d *desc) publish(c ctl, off int) {
	storeRelease(&d.ctl, uint64(c&^offMask+1<<countShift|ctl(off/8)))
}

// letGo ends the holder's turn without an event. c is the word from before seize, or of an adopted chunk
// without B.
func (d *desc) letGo(c ctl) { storeRelease(&d.ctl, uint64(c)) }

// unseize ends the turn of a holder that will not end it. It returns the word without B.
func (d *desc) unseize(c ctl) (n ctl, ok bool) {
	if n = c &^ busyBit; c.state() == open {
		n = c.with(0, open)
	}
	return n, d.change(c, ifOwnedBusy|ifOpenBusy, n)
}

// retire ends the writing to a chunk with events.
func (d *desc) retire(c ctl) bool {
	return d.change(c, ifOwned|ifOwnedBusy|ifOpen|ifNone, c.with(0, full))
}

// park ends the writing to a chunk with events that has room for another one.
func (d *desc) park(c ctl) bool {
	return d.change(c, ifOwned|ifOwnedBusy|ifOpen|ifLeaving, c.with(0, partial))
}

// drop frees a chunk without events, or one whose events are consumed, cleared, or in the log.
func (d *desc) drop(c ctl) bool {
	return d.change(c, ifOwned|ifOwnedBusy|ifOpen|ifFull|ifPartial|ifLeaving|ifNone, makeCtl(c.gen()+1, 0, free))
}

// ship takes a closed chunk for a flush of slot.
func (d *desc) ship(c ctl, slot uint64) (n ctl, ok bool) {
	n = c.with(slot, leaving)
	return n, d.change(c, ifFull|ifPartial, n)
}

// handBack ends ship without a log that has the chunk, which gets state st.
func (d *desc) handBack(c ctl, st chunkState) bool { return d.change(c, ifLeaving, c.with(0, st)) }

// renew gives a chunk that a flush has taken the next generation: the flush has left it unwritten, with room for
// writers, and the one that had it must see that it was closed. The flush keeps it (st leaving), or a
// recoverer gives it back (full).
func (d *desc) renew(c ctl, st chunkState) (n ctl, ok bool) {
	if n = c.renewed(); st != leaving {
		n = n.with(0, st)
	}
	return n, d.change(c, ifLeaving, n)
}

// probe returns the word as it is once all loads of a copy of the chunk are done. The copy is good if the
// word says that the chunk has not been taken.
//
// A load would not do, because on processors other than x86 the loads of the copy may come after
// it. A compare-and-swap that fails would not do, because it orders no earlier load. An exchange
// of another word would not do, because it need not order earlier loads with later ones where it
// is made of two instructions. An addition to the word itself does: either it comes before the
// exchange that takes the chunk, and so do the loads before it, or it sees that exchange.
func (d *desc) probe() ctl { return ctl(d.ctl.Add(0)) }
