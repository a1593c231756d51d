package registry

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Flags say which processes a stream attached to a process traces.
type Flags uint32

const (
	// Self: the process.
	Self Flags = 1 << iota
	// Inherit: its descendants that start from now on.
	Inherit
	// Child: its direct children that start from now on, and with Inherit all their
	// descendants. It serves a stream that is created before the pid of its target is known.
	Child

	allFlags = Self | Inherit | Child
)

// Entry is a stream that is attached to a process.
type Entry struct {
	Stream   uint64
	Flags    Flags
	Attached uint64 // tick (sys.NowTicks); processes that started before do not inherit
}

// It takes no lock. A writer that died half-way leaves seq odd until the next writer completes the
// change. Each entry is consistent at any time, so Entries then returns what it finds.
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

// put changes the entry in a slot. An entry without flags does not count. A slot with stream 0 is
// free: the process may claim it at any time (AttachSelf).
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

// take returns the slot of a stream, or claims a free one for it, else -1.
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

// AttachSelf attaches a stream to the calling process as Attach does, for a trace point: the caller
// need not hold Dir.Lock, whose holder may be waiting or stopped. It fails with EAGAIN like Attach.
// If the stream is shut down meanwhile, the entry may remain.
func (pg *Page) AttachSelf(stream uint64, flags Flags) error {
	slot, old := pg.take(stream)
	if slot < 0 {
		return fmt.Errorf("process %d has %d streams: %w", pg.proc.PID, MaxStreams, syscall.EAGAIN)
	}
	if old.Flags&flags == flags {
		return nil
	}
	// No page need be made for children first, as Attach does: this is the program's first
	// contact with the stream, and children that it has started find the stream as it did.
	at := offEntries + slot*entrySize
	if old.Flags == 0 {
		pg.u64(at + entAttached).Store(sys.NowTicks())
	}
	pg.u32(at + entFlags).Or(uint32(flags))
	pg.changed()
	return nil
}

// change runs f between two steps of seq. It repairs a seq that a killed writer left odd.
func (pg *Page) change(f func()) {
	seq := pg.u32(offSeq)
	odd := seq.Load() | 1
	seq.Store(odd)
	f()
	seq.Store(odd + 1)
	pg.changed()
}

// changed derives the word from the entries, which the caller has stored: a process that reads the
// new word reads the new entries.
func (pg *Page) changed() {
	for {
		var word uint32
		n := pg.u32(offGeneration).Add(1)
		if n == 0 { // after 2^32 changes; 0 is reserved
			n = pg.u32(offGeneration).Add(1)
		}
		for _, e := range pg.scan() {
			if e.Flags&Self != 0 {
				word = n
				break
			}
		}
		pg.u32(offWord).Store(word)
		// A concurrent change may have read other entries and stored its word before ours.
		if pg.u32(offGeneration).Load() == n {
			return
		}
	}
}

// Attach attaches a stream to the process, or adds flags if it is attached already. The caller
// holds Dir.Lock. Errors: EAGAIN the process has 64 streams; EINVAL.
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
		// The new tick applies to the new flags. Children that inherit by the old ones get
		// their pages first.
		since := now
		if old.Flags&(Inherit|Child) != 0 {
			since = old.Attached
		}
		now = pg.attachTick(since, flags)
	}
	pg.change(func() { pg.put(slot, Entry{stream, flags, now}) })
	return nil
}

// Detach detaches a stream, if it is attached. The caller holds Dir.Lock. Children without a page
// no longer inherit it.
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

// DetachAll detaches a stream that is shut down from every process. The caller holds Dir.Lock.
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

// Traced returns the process that a stream traces, also one of another version: of the living processes that
// it is attached to, the one that started first. It returns 0 if there is none.
func (d *Dir) Traced(stream uint64) (pid int) {
	procs, err := d.Pages()
	if err != nil {
		return 0
	}
	var first sys.Proc
	for _, p := range procs {
		if first.PID != 0 && (p.Start > first.Start || p.Start == first.Start && p.PID > first.PID) || !p.Alive() {
			continue
		}
		b, err := d.readPage(p)
		if err != nil || checkHeader(b, p) != pageSound {
			continue
		}
		for at := offEntries; at < offEntries+MaxStreams*entrySize; at += entrySize {
			if le := binary.NativeEndian; le.Uint64(b[at+entStream:]) == stream && Flags(le.Uint32(b[at+entFlags:]))&Self != 0 {
				first = p
			}
		}
	}
	return int(first.PID)
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
