package tracelog

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// State tells in which state a log is.
type State uint8

// The states of a log.
const (
	Finished   State = iota // it ends with a seal and nothing wrong was met
	Unfinished              // it ends without a seal
	Damaged                 // something in it is unsound
)

// String returns "finished", "unfinished" or "damaged".
func (s State) String() string {
	return [...]string{"finished", "unfinished", "damaged", "?"}[s&3]
}

// Reader reads the events of a log in the order of their times. It is not safe
// for concurrent use. Nothing in the log is trusted; what is unsound is never
// reported as an event.
//
// A log that is written forward is read up to its first unsound block. Since
// payloads are verified when they are needed, that block may turn up after
// events behind it have been reported that are earlier in time; those were
// sound. Of a Loop log single unsound slots are left out.
type Reader struct {
	super  *Super
	types  []TypeDef
	names  map[event.ID]string
	clock  chunk.Clock
	status Status
	known  bool   // status was found
	found  uint64 // events, by the headers, of a log without index

	sealed bool
	fault  *Fault // the first thing wrong
	bad    bool   // it is damage, not only an end without a seal

	min, max uint64 // the selection
	sel      *event.Set
	coarse   Coarse
	narrow   bool // not everything is selected

	// OnWait, if set, is called before a log that is read forward is read on,
	// which may take as long as its recorder likes.
	OnWait func()

	walked walked
	b      *blocks // a file, or
	s      *forwardReader
	seal   *seal       // of a file with a sound index
	parts  []indexPart // of that index, by their times
	part   int         // the first of parts that was not come to
	blocks []desc      // those of the other parts, or all that there are
	next   int         // the first of blocks that is not open
	cut    uint64      // blocks with a greater sequence number do not count
	merge  merge
	err    error // reading failed

	memory []chunk.Record // of what Next reads at once
	ahead  []chunk.Record // what it has not reported
	hold   Hold

	partBuf []byte // of the part that was read last
	entries []entry
}

// compare orders blocks by their first events, then as they were written.
func (a desc) compare(b desc) int {
	if c := compare(a.min, b.min); c != 0 {
		return c
	}
	return compare(a.seq, b.seq)
}

// desc is what is kept of a block of events that is not yet open.
type desc struct {
	off      int64
	seq      uint64
	min, max uint64
	room     int64 // of a block that the index names: up to the next such
	// Of a slot that may grow while we read: with which number it began, and
	// what it held.
	first      uint64
	len, count uint32
}

func newReader(s *Super) *Reader {
	return &Reader{super: s, names: map[event.ID]string{}, max: ^uint64(0), cut: ^uint64(0)}
}

// OpenFile returns a reader of the log in the first size bytes of f. What is no
// log at all is an error that wraps ErrNotLog; every log whose superblock is
// sound can be opened.
func OpenFile(f io.ReaderAt, size int64) (*Reader, error) {
	b, err := openBlocks(f, size)
	if err != nil {
		return nil, err
	}
	r := newReader(b.super)
	r.b = b
	if b.super.LogPolicy == Loop {
		if err := b.readCopies(); err != nil {
			return nil, err
		}
		r.takeAnchors(&b.copies)
	}
	if r.seal, err = b.seal(); err != nil {
		return nil, err
	}
	if r.seal != nil {
		err := r.openIndexed()
		if err == nil {
			if err := r.endCopies(); err != nil {
				return nil, err
			}
			return r, nil
		}
		if isIO(err) {
			return nil, err
		}
		r.damage(int64(r.seal.Index), "index", err)
		r.status, r.known = r.seal.Status, true
		r.seal, r.parts = nil, nil
	}
	if err := r.openWalking(); err != nil {
		return nil, err
	}
	r.Rewind()
	return r, nil
}

// openIndexed takes everything but events from the blocks that the index names.
func (r *Reader) openIndexed() error {
	var others []entry
	var parts []indexPart
	var events uint64
	err := r.b.readIndex(r.seal, func(at int64, entries []entry) error {
		p := indexPart{at: at}
		for i := range entries {
			e := &entries[i]
			if e.Kind != KindEvents {
				others = append(others, *e)
				continue
			}
			events += uint64(e.Count)
			if err := p.add(e); err != nil {
				return err
			}
		}
		if p.from != 0 {
			parts = append(parts, p)
		}
		return nil
	})
	if err == nil {
		err = r.setParts(parts)
	}
	if err != nil {
		return err
	}
	if events != r.seal.Events {
		return fmt.Errorf("%d events where the seal says %d: %w", events, r.seal.Events, errIndex)
	}
	slices.SortFunc(others, func(a, b entry) int { return compare(a.Seq, b.Seq) })
	var buf []byte
	last := uint64(0)
	for _, e := range others {
		h, p, err := r.b.block(e.Off, buf)
		if err == nil && (h.Seq != e.Seq || h.Seq <= last) {
			err = errSequence
		}
		if p != nil {
			buf, last = p, h.Seq
		}
		if err == nil {
			err = r.apply(&h, p)
		}
		if isIO(err) {
			return err
		}
		if err != nil {
			r.damageAt(e.Off, e.Kind, e.Seq, err)
			break
		}
	}
	r.sealed = true
	r.status, r.known = r.seal.Status, true
	return r.Rewind()
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// openWalking finds the blocks by going from each to the next. A log that is
// known to be damaged, that is one with an unsound index before its seal, must
// go on up to the seal.
func (r *Reader) openWalking() error {
	loop := r.super.LogPolicy == Loop
	finished := r.bad
	if loop {
		if err := r.walkSlots(); err != nil {
			return err
		}
	}
	r.walked.end = r.super.tailAt()
	end, err := r.walk()
	if isIO(err) {
		return err
	}
	if err := r.endCopies(); err != nil {
		return err
	}
	switch {
	case err == nil: // the seal was found: by the way, or behind an unsound index
	case !finished && errors.Is(err, errTorn):
		return r.endTorn(end, err)
	default:
		r.damage(end, "block", err)
	}
	return nil
}

// walk goes on from where the last walk ended, and returns where and why this one did.
func (r *Reader) walk() (end int64, err error) {
	loop := r.super.LogPolicy == Loop
	w := &r.walked
	var buf []byte
	return r.b.walk(w.end, w.seq, loop, func(off int64, h *header) error {
		switch h.Kind {
		case KindEvents:
			if !loop {
				r.foundBlock(off, h)
			}
		case KindGroup, KindIndex: // of no use here
		default:
			p, err := r.b.payload(off, h, buf)
			if err == nil {
				buf = p
				err = wholeSeal(h, p, off+h.size())
			}
			if err == nil {
				err = r.apply(h, p)
			}
			if err != nil {
				return err
			}
		}
		w.at, w.seq, w.end = off, h.Seq, off+h.size()
		return nil
	})
}

// foundBlock enters a block of events that was met by walking.
func (r *Reader) foundBlock(off int64, h *header) {
	d := desc{off: off, seq: h.Seq, min: h.Min, max: h.Max}
	if r.super.joins() {
		d.first, d.len, d.count = h.first(), h.Len, h.Count
	}
	r.blocks = append(r.blocks, d)
	r.found += uint64(h.Count)
}

// endTorn notes that the log ends without a seal. The last block, unlike the
// others, is verified at once: its recorder may have died writing it.
func (r *Reader) endTorn(end int64, err error) error {
	if n := len(r.blocks) - 1; n >= r.next && r.super.LogPolicy != Loop {
		last := r.blocks[n].off
		h, _, berr := r.b.block(last, nil)
		if isIO(berr) {
			return berr
		}
		if berr != nil && last+h.size() == end {
			r.found -= uint64(h.Count)
			r.blocks = r.blocks[:n]
			end, err = last, berr
			r.walked = walked{} // what comes in its place is not looked for
		}
	}
	r.unfinished(end, err)
	return nil
}

// walkSlots finds the sound slots of a Loop log. At most one slot may be torn
// without damage: the one that was being written when the recorder died.
func (r *Reader) walkSlots() error {
	type unsound struct {
		slot int
		off  int64
		err  error
	}
	var bad []unsound
	newest, seq := -1, uint64(0)
	// The recorder may go on meanwhile, over slots that we have seen. It does so in their order: from
	// the last of those that rise from the first one on all newer ones are found.
	rising := 0
	err := r.b.slots(func(i int, off int64, h *header, _ []byte, err error) error {
		if err != nil {
			if len(bad) < 2 {
				bad = append(bad, unsound{i, off, err})
			}
			return nil
		}
		r.foundBlock(off, h)
		if h.Seq > seq {
			newest, seq = i, h.Seq
		}
		if w := &r.walked; i == rising && h.Seq > w.slotSeq {
			rising++
			w.slot, w.slotFirst, w.slotSeq = i, h.first(), h.Seq
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, u := range bad {
		if u.slot != (newest+1)%int(r.super.Slots) {
			r.damage(u.off, "slot", u.err)
			break
		}
	}
	return nil
}

// errMissing is wrong with a seal that does not stand where it was put.
var errMissing = errors.New("blocks before it are missing")

// wholeSeal tells whether a block of header h, if it is a seal, ends where it says that the log
// does. In the tail of a Loop log nothing else shows that a block is gone.
func wholeSeal(h *header, p []byte, end int64) error {
	if h.Kind != KindSeal {
		return nil
	}
	s, err := decodeSeal(p)
	if err == nil && s.Length != uint64(end) {
		err = errMissing
	}
	return err
}

// apply takes what a block other than one of events says.
func (r *Reader) apply(h *header, p []byte) error {
	switch h.Kind {
	case KindTypes:
		defs, err := decodeTypes(p, h.Count)
		if err != nil {
			return err
		}
		for _, d := range defs {
			if _, ok := r.names[d.ID]; !ok { // the first definition counts
				r.names[d.ID] = d.Name
				r.types = append(r.types, d)
			}
		}
	case KindAnchors:
		anchors, err := decodeAnchors(p, h.Count)
		if err != nil {
			return err
		}
		for _, k := range anchors {
			r.clock.Add(k) // which drops what would make time run backwards
		}
	case KindStatus:
		s, err := decodeStatus(p)
		if err != nil {
			return err
		}
		r.status, r.known = s, true
	case KindSeal:
		s, err := decodeSeal(p)
		if err != nil {
			return err
		}
		r.status, r.known, r.sealed = s.Status, true, true
		if s.Events != r.found {
			return fmt.Errorf("%d events where the seal says %d: %w", r.found, s.Events, errContent)
		}
	}
	return nil
}

// damage notes that something is unsound, if it is the first.
func (r *Reader) damage(off int64, what string, err error) {
	if !r.bad {
		r.bad = true
		r.fault = &Fault{off, what, err}
	}
}

// damageAt notes an unsound block; in a log written forward nothing behind it
// counts any more.
func (r *Reader) damageAt(off int64, k Kind, seq uint64, err error) {
	r.damage(off, k.String(), err)
	if r.super.LogPolicy != Loop && seq < r.cut {
		r.cut = seq
		r.merge.drop(seq)
	}
}

func (r *Reader) unfinished(off int64, err error) {
	if r.fault == nil {
		r.fault = &Fault{off, "end without a seal", err}
	}
}

// Super returns the superblock.
func (r *Reader) Super() *Super { return r.super }

// Clock returns the clock that turns ticks into time. That of a log read forward
// grows with Next.
func (r *Reader) Clock() *chunk.Clock { return &r.clock }

// Types returns the event types in the order in which the log lists them. Those
// of a log read forward grow with Next.
func (r *Reader) Types() []TypeDef { return r.types }

// TypeName returns the name of an event type, or "" if it has none.
func (r *Reader) TypeName(id event.ID) string {
	if n := r.names[id]; n != "" {
		return n
	}
	return event.PredefinedName(id)
}

// State tells in which state the log is, and for a log that is not finished the
// *Fault that tells where it ends and why. It is certain only after Next has returned
// false.
func (r *Reader) State() (State, error) {
	switch {
	case r.bad:
		return Damaged, r.fault
	case !r.sealed && r.fault != nil:
		return Unfinished, r.fault
	case !r.sealed:
		return Unfinished, nil
	}
	return Finished, nil
}

// Status returns the last status that the log holds, false if there is none.
func (r *Reader) Status() (Status, bool) { return r.status, r.known }

// Totals returns what the seal says of a finished log in a file, false for any
// other.
func (r *Reader) Totals() (Totals, bool) {
	if r.seal == nil {
		return Totals{}, false
	}
	return r.seal.Totals, true
}

// Select narrows the reader to events of the given types, nil for all, with
// minTick <= tick <= maxTick, and goes back to the first of them. Blocks without such events
// are skipped unread. On a log that is read forward it must come before Next.
func (r *Reader) Select(minTick, maxTick uint64, types *event.Set) error {
	r.min, r.max, r.sel = minTick, maxTick, nil
	r.narrow = types != nil || minTick > 0 || maxTick < ^uint64(0)
	if types != nil {
		set := *types
		r.sel, r.coarse = &set, CoarseSet(&set)
	}
	if r.s != nil {
		return nil
	}
	return r.Rewind()
}

// Rewind goes back to the first event. Errors: ESPIPE for a log read forward.
func (r *Reader) Rewind() error {
	if r.s != nil {
		return fmt.Errorf("log: rewind: %w", syscall.ESPIPE)
	}
	r.err, r.ahead = nil, nil
	r.merge.reset()
	r.next = 0
	if r.seal != nil {
		r.blocks, r.part = r.blocks[:0], 0
	}
	slices.SortFunc(r.blocks, desc.compare)
	return nil
}

// Next decodes the next event into rec. It returns false at the end of what is
// sound; State then tells what kind of end that is. rec.Data is valid until the
// next call. An error means that reading failed.
func (r *Reader) Next(rec *chunk.Record) (bool, error) {
	if len(r.ahead) == 0 {
		if r.memory == nil {
			r.memory = make([]chunk.Record, 32)
		}
		n, err := r.NextBatch(r.memory, &r.hold)
		if n == 0 {
			return false, err
		}
		r.ahead = r.memory[:n]
	}
	*rec = r.ahead[0]
	r.ahead = r.ahead[1:]
	return true, nil
}

func (r *Reader) selects(rec *chunk.Record) bool {
	return rec.Tick >= r.min && rec.Tick <= r.max && (r.sel == nil || r.sel.Has(rec.Event))
}

// advance makes the source with the earliest event the top one, and reports whether there is
// one. Unless wait is set a log that is read forward is not read on.
func (r *Reader) advance(wait bool) (bool, error) {
	m := &r.merge
	for {
		for {
			bound := ^uint64(0)
			if len(m.heap) > 0 {
				bound = m.heap[0].tick
			}
			d, err := r.coming(bound)
			if err == nil && d != nil && d.seq <= r.cut && d.max >= r.min && d.min <= r.max {
				err = r.open(d)
			}
			if err != nil {
				r.err = err
				return false, err
			}
			if d == nil {
				break
			}
			r.next++
		}
		limit := r.comingAt()
		if r.s != nil {
			if h := r.s.horizon; h != ^uint64(0) {
				limit = h + 1
			}
			if len(m.heap) == 0 || m.heap[0].tick > r.s.horizon {
				if r.s.ended || !wait {
					return false, nil
				}
				if r.OnWait != nil {
					r.OnWait()
				}
				if err := r.s.more(r); err != nil {
					r.err = err
					return false, err
				}
				continue
			}
		}
		if len(m.heap) == 0 {
			return false, nil
		}
		m.take(limit)
		return true, nil
	}
}

// open reads the block that d describes and adds it to the merge. Only a
// failure to read is an error.
func (r *Reader) open(d *desc) error {
	s := r.merge.source()
	h, p, err := r.read(d, s.buf)
	if err == errReplaced {
		r.merge.release(s) // its recorder lives and has been here meanwhile
		return nil
	}
	if err != nil {
		r.merge.release(s)
		if isIO(err) {
			return err
		}
		r.damageAt(d.off, KindEvents, d.seq, err)
		return nil
	}
	s.buf = p
	r.addSource(s, d.off, &h, p)
	return nil
}

// errReplaced says that a Loop log has given up a block for newer events since
// it was opened.
var errReplaced = errors.New("replaced by its recorder")

// read reads the block that d describes, and no other.
func (r *Reader) read(d *desc, buf []byte) (h header, p []byte, err error) {
	if r.super.joins() {
		h, p, err = r.b.slotOf(d, buf)
	} else {
		h, p, err = r.b.block(d.off, buf)
	}
	switch {
	case err != nil:
	case h.Kind != KindEvents:
		err = errSequence
	case r.seal != nil && h.size() > d.room:
		err = errLength
	case h.Seq != d.seq:
		err = errSequence
		if r.super.LogPolicy == Loop && r.seal == nil && h.Seq > d.seq {
			err = errReplaced
		}
	case h.Min != d.min || h.Max != d.max:
		err = errSequence
	}
	return h, p, err
}

// addSource adds a block of events whose checksum is right.
func (r *Reader) addSource(s *source, off int64, h *header, p []byte) {
	if r.s != nil {
		r.found += uint64(h.Count)
	}
	err := s.load(h, p, r.super.joins())
	if err != nil {
		r.damage(off, "events", err)
	}
	if s.left == 0 {
		r.merge.release(s)
		return
	}
	r.merge.add(s)
}
