package registry

import (
	"fmt"
	"runtime"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Flags say what a stream attached to a process traces.
type Flags uint32

const (
	// Self: the process itself.
	Self Flags = 1 << iota
	// Inherit: its descendants that start from now on.
	Inherit
	// Child: its direct children that start from now on, and with Inherit all
	// their descendants. For a stream that is made before the pid of its process
	// is known.
	Child

	allFlags = Self | Inherit | Child
)

// Entry is a stream that is attached to a process.
type Entry struct {
	Stream   uint64
	Flags    Flags
	Attached uint64 // tick (sys.NowTicks); what had started before does not inherit
}

// Entries returns the streams attached to the process.
//
// It takes no lock. A writer that died in the middle leaves a mark which the next
// writer wipes out; until then each entry is sound by itself, and that is what
// is returned when the mark stays.
func (pg *Page) Entries() []Entry {
	seq := pg.u32(offSeq)
	for range 100 {
		before := seq.Load()
		if before&1 == 0 {
			if list := pg.scan(); seq.Load() == before {
				return list
			}
		}
		runtime.Gosched()
	}
	return pg.scan()
}

func (pg *Page) scan() (list []Entry) {
	for i := range MaxStreams {
		if e := pg.get(i); e.Stream != 0 && e.Flags != 0 {
			list = append(list, e)
		}
	}
	return list
}

func (pg *Page) get(i int) Entry {
	at := offEntries + i*entrySize
	return Entry{
		Stream:   pg.u64(at + entStream).Load(),
		Flags:    Flags(pg.u32(at+entFlags).Load()) & allFlags,
		Attached: pg.u64(at + entAttached).Load(),
	}
}

// put changes the entry in a slot. One without flags does not count, and a slot with stream 0
// is free: the process itself may take it at any time (AttachSelf).
func (pg *Page) put(i int, e Entry) {
	at := offEntries + i*entrySize
	if e.Stream == 0 {
		pg.u32(at + entFlags).Store(0)
		pg.u64(at + entAttached).Store(0)
		pg.u64(at + entStream).Store(0)
		return
	}
	if stream := pg.u64(at + entStream); stream.Load() != e.Stream {
		stream.Store(0)
	}
	pg.u64(at + entAttached).Store(e.Attached)
	pg.u32(at + entFlags).Store(uint32(e.Flags))
	pg.u64(at + entStream).Store(e.Stream)
}

// take finds the slot of a stream, or a free one that becomes its slot, else -1.
func (pg *Page) take(stream uint64) (int, Entry) {
	for {
		slot, old := pg.find(stream)
		if slot >= 0 {
			return slot, old
		}
		if slot, _ = pg.find(0); slot < 0 {
			return -1, Entry{}
		}
		if pg.u64(offEntries+slot*entrySize+entStream).CompareAndSwap(0, stream) {
			return slot, Entry{Stream: stream}
		}
	}
}

// AttachSelf attaches a stream to the calling process as Attach does, for a trace point: the
// caller need not hold Dir.Lock, whose holder may be waiting or stopped. It fails
// with EAGAIN like Attach. If the stream is shut down meanwhile, the entry may stay behind.
func (pg *Page) AttachSelf(stream uint64, flags Flags) error {
	slot, old := pg.take(stream)
	if slot < 0 {
		return fmt.Errorf("process %d has %d streams: %w", pg.proc.PID, MaxStreams, syscall.EAGAIN)
	}
	if old.Flags&flags == flags {
		return nil
	}
	// What inherits has started later: this is the first that the program has of tracing, and
	// children that it has started before find the stream as it did.
	at := offEntries + slot*entrySize
	if old.Flags == 0 {
		pg.u64(at + entAttached).Store(sys.NowTicks())
	}
	pg.u32(at + entFlags).Or(uint32(flags))
	pg.changed()
	return nil
}

// change makes a change between two steps of seq. A seq left odd by a writer
// that was killed is put right.
func (pg *Page) change(f func()) {
	seq := pg.u32(offSeq)
	odd := seq.Load() | 1
	seq.Store(odd)
	f()
	seq.Store(odd + 1)
	pg.changed()
}

// changed derives the word from the entries, which must be in place before: who sees the
// new word sees them.
func (pg *Page) changed() {
	for {
		var word uint32
		n := pg.u32(offGeneration).Add(1)
		if n == 0 { // once in 2^32 changes; 1 is for the next
			n = pg.u32(offGeneration).Add(1)
		}
		for _, e := range pg.scan() {
			if e.Flags&Self != 0 {
				word = n
				break
			}
		}
		pg.u32(offWord).Store(word)
		// Another change at the same time may have seen other entries, and come before.
		if pg.u32(offGeneration).Load() == n {
			return
		}
	}
}

// Attach attaches a stream to the process, or adds flags to it if it is attached
// already. The caller holds Dir.Lock. Errors: EAGAIN there are 64; EINVAL.
func (pg *Page) Attach(stream uint64, flags Flags) error {
	if stream == 0 || flags == 0 || flags&^allFlags != 0 {
		return fmt.Errorf("attach stream %016x with flags %#x: %w", stream, uint32(flags), syscall.EINVAL)
	}
	slot, old := pg.take(stream)
	if slot < 0 {
		return fmt.Errorf("process %d has %d streams: %w", pg.proc.PID, MaxStreams, syscall.EAGAIN)
	}
	flags |= old.Flags
	if flags == old.Flags {
		if pg.u32(offSeq).Load()&1 != 0 {
			pg.change(func() {})
		}
		return nil
	}
	now := sys.NowTicks()
	if flags&(Inherit|Child) != 0 {
		// The new tick is right for what is new; those who inherit by what was
		// there before get their pages first.
		since := now
		if old.Flags&(Inherit|Child) != 0 {
			since = old.Attached
		}
		now = pg.settle(since, flags)
	}
	pg.change(func() { pg.put(slot, Entry{stream, flags, now}) })
	return nil
}

// Detach takes a stream away, if it is there. The caller holds Dir.Lock. Children that
// have no page yet inherit nothing of it any more.
func (pg *Page) Detach(stream uint64) {
	slot, _ := pg.find(stream)
	if stream == 0 || slot < 0 {
		if pg.u32(offSeq).Load()&1 != 0 {
			pg.change(func() {})
		}
		return
	}
	pg.change(func() { pg.put(slot, Entry{}) })
}

// find returns the slot of a stream, or with 0 a free one, else -1.
func (pg *Page) find(stream uint64) (int, Entry) {
	for i := range MaxStreams {
		if e := pg.get(i); e.Stream == stream {
			if stream == 0 {
				e = Entry{}
			}
			return i, e
		}
	}
	return -1, Entry{}
}

// DetachAll takes a stream away from every process, for one that is shut down.
// The caller holds Dir.Lock.
func (d *Dir) DetachAll(stream uint64) error {
	procs, err := d.Pages()
	if err != nil {
		return err
	}
	for _, p := range procs {
		if pg, v, err := d.mapPage(p); err == nil && v == pageSound {
			pg.Detach(stream)
			pg.Close()
		}
	}
	return nil
}

// Pages returns the processes that have a page, dead ones included.
func (d *Dir) Pages() ([]sys.Proc, error) {
	names, err := d.names()
	if err != nil {
		return nil, err
	}
	var list []sys.Proc
	for _, name := range names {
		if p, ok := parsePageName(name); ok {
			list = append(list, p)
		}
	}
	return list, nil
}
