package stream

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Writer appends the events of one process. It has a shard for each processor,
// each with a chunk of its own, so that goroutines that run at the same time do
// not contend. All methods but Close are safe for concurrent use.
type Writer struct {
	m      *Mem
	front  *front
	desc   unsafe.Pointer
	data   unsafe.Pointer
	chunk  int // size
	max    int // max-data-size
	quick  int // the most data that Append handles itself, -1 if the stream has another clock
	pid    uint32
	slot   uint64
	mask   int
	ticks  bool
	shards unsafe.Pointer
	mem    []byte // of the shards

	short bool // it uses open chunks only
	alone bool // see Alone
	open  int  // of a writer that is alone: the open chunk of its last event, plus one

	maps      *Maps                        // what the process has mapped; nil: no notes on that
	mapsOnce  bool                         // a note for the whole stream will do
	noted     atomic.Uint64                // the mappings of which the stream has a note
	notedAt   atomic.Uint64                // how often the stream was cleared before
	openNoted [maxOpenChunks]atomic.Uint64 // by entry of the table of open chunks: see noteInOpen

	// OnFull, if set, is called when a stream that does not overwrite has no
	// room. It reports whether it has made some.
	OnFull func() bool
	// OnCrowded, if set, is called when more writers are stopped in the middle of an event than
	// the stream has room for. Some may be dead: OnCrowded may call Recover.
	OnCrowded func()
}

// Event is an event to record.
type Event struct {
	ID   event.ID
	PID  uint32 // 0: the process of the writer
	TID  uint32
	Addr uint64
	Tick uint64 // 0: now
	Span Span

	// Ticks is the processor's counter, if the caller has just read it for all streams, otherwise 0.
	Ticks uint64
}

// Span is the span that an event starts or ends.
type Span struct {
	Key    uint64 // 0: none
	Parent uint64 // key of the enclosing span, 0: none
}

// size returns the size of the note in front of the event.
func (s *Span) size() int {
	switch {
	case s.Key == 0:
		return 0
	case s.Parent == 0:
		return chunk.NoteSize - 8
	}
	return chunk.NoteSize
}

// Who packs a process and a thread.
func Who(pid, tid uint32) uint64 { return uint64(pid) | uint64(tid)<<32 }

// NewWriter makes a writer for the process whose slot it is (TakeSlot), with
// shards for n processors.
func (m *Mem) NewWriter(slot uint64, pid uint32, n int) (*Writer, error) {
	p := 1
	for p < n {
		p *= 2
	}
	w := &Writer{
		m: m, front: &m.h.front, desc: m.desc, data: m.data,
		chunk: m.ChunkSize, max: m.MaxData, pid: pid, slot: slot, mask: p - 1, ticks: m.Clock == ClockTicks,
	}
	if m.private {
		w.shards = unsafe.Pointer(&make([]shard, p)[0])
	} else {
		b, err := sys.MapAnon(p * shardSize)
		if err != nil {
			return nil, err
		}
		w.mem = b
		w.shards = unsafe.Pointer(&b[0])
	}
	for i := range p {
		w.shard(i).tag.Store(noChunk)
		w.shard(i).entry.Store(slot)
		w.shard(i).id = slot | uint64(i)<<slotBits
		w.shard(i).span = math.MaxUint64
		w.shard(i).data = m.data // a hostile process may write a control word that matches
	}
	if w.quick = -1; w.ticks {
		w.quick = min(w.max, pageSize)
	}
	return w, nil
}

// Short makes the writer use open chunks only, as suits one that is soon closed.
func (w *Writer) Short() { w.short = true }

// Alone makes the events of a writer with one shard, which one goroutine uses, keep their order
// whatever times it gives them: its events in a chunk are later than those in its chunk before.
func (w *Writer) Alone() { w.alone = true }

// PID returns the process of the writer.
func (w *Writer) PID() uint32 { return w.pid }

// Ticks reports whether the stream's clock is the processor's counter.
func (w *Writer) Ticks() bool { return w.ticks }

// Slot returns the writer's slot.
func (w *Writer) Slot() uint64 { return w.slot }

// Wants reports whether Record would do anything with an event of type id, which must be valid.
func (w *Writer) Wants(id event.ID) bool {
	st := w.front.state.Load()
	return st&(Running|Full|LogFull) != 0 && w.front.filter[st/filterB&1][int(id>>6)&(event.SetWords-1)].Load()&(1<<(id&63)) == 0
}

// Owe announces that the writer has accepted an event of type id and will record it later, or has done so
// (owing false). If the process dies in between, recovery counts the event as lost.
func (w *Writer) Owe(id event.ID, owing bool) { w.m.setOwing(w.slot, owing && w.Wants(id)) }

// Record appends an event as a whole.
func (w *Writer) Record(hint int, e *Event, data []byte) bool {
	if e.Span.Key != 0 || e.Tick != 0 || !w.ticks {
		return w.AppendEvent(hint, e, data, e.Span.Key != 0)
	}
	pid := e.PID
	if pid == 0 {
		pid = w.pid
	}
	return w.Append(hint, e.ID, Who(pid, e.TID), e.Addr, sys.Ticks(), data)
}

// Append appends an event if the stream runs and does not reject its type. hint is the
// number of the processor, if known; ticks the processor's counter, which the caller has just read, once
// for all streams. Append reports whether the event was recorded; an event for which there
// was no room is counted as lost.
//
// Every trace point calls Append, so it must not spill: its arguments fit in registers, and it calls no
// function while they are needed. It leaves all that is rare to AppendEvent.
func (w *Writer) Append(hint int, id event.ID, who, addr, ticks uint64, data []byte) bool {
	h := w.front
	st := h.state.Load()
	if st&(Running|Dead|filterChange) != Running {
		return w.appendRare(hint, id, who, addr, data)
	}
	if id-1 >= event.Max-1 || h.filter[st/filterB&1][id>>6&(event.Max/64-1)].Load()&(1<<(id&63)) != 0 {
		return false
	}
	size := len(data)
	if size > w.quick {
		return w.appendRare(hint, id, who, addr, data)
	}
	if size > 0 {
		touch(data)
	}
	s := w.shard(hint)
	tag := s.tag.Load()
	d := (*desc)(unsafe.Add(w.desc, int(tag&idxMask)*descSize))
	c := ctl(d.ctl.Load())
	if (uint64(c)^tag)&tagMask != 0 || c.off()+chunk.Overhead+chunk.Align(size) > w.chunk || !d.seize(c) {
		return w.appendRare(hint, id, who, addr, data)
	}
	// The counter was read before the exchange: the processor would let it wait (horizon.go). If the state
	// has changed between its load and the busy bit, an event judged by the old state must not
	// follow the change. If the tag has, this goroutine has waited for a processor, and the chunk went to others
	// and came back, to another shard.
	now := ticks + h.tickOffset.Load()
	delta := now - s.base
	if now <= h.horizon.Load() || h.state.Load() != st || s.tag.Load() != tag ||
		now < s.last || delta > math.MaxUint32 {
		d.letGo(c)
		return w.appendRare(hint, id, who, addr, data)
	}
	s.last = now
	off := c.off()
	p := unsafe.Add(s.data, off)
	what := uint64(id) | uint64(s.epoch)<<32
	k := s.site(addr, who, what)
	if k.addr != addr || k.who != who || k.what != what {
		if addr-s.from >= s.span { // its mapping may need a note
			d.letGo(c)
			return w.appendRare(hint, id, who, addr, data)
		}
		s.define(k, p, addr, who, what)
		p = unsafe.Add(p, chunk.SiteSize)
		off += chunk.SiteSize
	}
	store64(p, chunk.Header(uint32(delta), size, uint16(k.num)))
	copyIn(unsafe.Add(p, chunk.HeaderSize), data)
	off += chunk.HeaderSize + chunk.Align(size)
	d.publish(c, off)
	return true
}

// appendRare handles every case that Append leaves out.
//
//go:noinline
func (w *Writer) appendRare(hint int, id event.ID, who, addr uint64, data []byte) bool {
	e := Event{ID: id, PID: uint32(who), TID: uint32(who >> 32), Addr: addr}
	return w.AppendEvent(hint, &e, data, false)
}

// limit returns how much Append records of n bytes of data, more than max-data-size.
func (w *Writer) limit(id event.ID, n int) int {
	if !id.User() && id < event.ProcFork {
		return min(n, MaxSystemData) // POSIX's own are never cut
	}
	return w.max
}

// refused is what Append does when the stream does not run. It returns false
// when another try is worth it.
func (w *Writer) refused(e *Event, st uint64, try int) bool {
	if st&filterChange != 0 {
		w.m.fixFilterChange()
		return false
	}
	switch st & (Full | LogFull | Dead | NoRestart) {
	case Full:
	case LogFull:
		// No call has stopped the stream, so this is a loss.
		if e.ID.Valid() && !w.m.rejects(e.ID) {
			w.m.addLost(w.m.now())
		}
		return true
	default:
		return true
	}
	return !w.freedSpace(try) && w.outOfSpace(e, st)
}

// freedSpace calls OnFull, a bounded number of times: other writers may be faster to take the room.
func (w *Writer) freedSpace(try int) bool { return w.OnFull != nil && try < 16 && w.OnFull() }

// slow is what Append does when the shard's chunk cannot take the event. done
// is false when another try with the shard is worth it.
func (w *Writer) slow(s *shard, e *Event, data []byte, cut bool, try int) (ok, done bool) {
	if s.stillCrowded() {
		return w.appendOpen(s, e, data, cut, try, nil)
	}
	if try > 8 || !s.lock.CompareAndSwap(0, 1) {
		if w.alone {
			w.parkChunk(s) // later events must not come before this one
		}
		return w.appendOpen(s, e, data, cut, try, nil)
	}
	need := chunk.Overhead + chunk.Align(len(data))
	if e.Span.Key != 0 {
		need += chunk.NoteSize
	}
	usable := w.exchange(s, need, e.Tick)
	s.lock.Store(0)
	if usable {
		return false, false
	}
	return w.appendOpen(s, e, data, cut, try, nil)
}

// outOfSpace accounts for an event that was generated and is lost. Under the policies that do not
// overwrite, the stream stops. st is the state under which there was no room: if a call has stopped
// the stream meanwhile, no event was generated; if the stream was restarted, done is false and
// another try is worth it.
func (w *Writer) outOfSpace(e *Event, st uint64) (done bool) {
	return !e.ID.Valid() || w.m.rejects(e.ID) || w.overrun(e, st)
}

// overrun counts e as lost. The filter has already accepted e.
func (w *Writer) overrun(e *Event, st uint64) (done bool) {
	m := w.m
	now := m.now()
	if e.Tick != 0 {
		now = min(now, e.Tick)
	}
	if m.Policy == Loop {
		m.addLost(now)
		return true
	}
	for {
		// In this order: if the stream is started after this load of its state, the account has
		// changed.
		a := m.account(m.h.state.Load())
		l := a.lost.Load()
		cur := m.h.state.Load()
		if m.account(cur) != a {
			continue
		}
		if cur&Running != 0 {
			if cur != st {
				return false
			}
			if !m.h.state.CompareAndSwap(st, st&^(Running|StopReported|NoRestart)|Full+stateGen) {
				continue
			}
			m.h.autoStop.Store(m.now() + skew)
		} else if stopped := cur & (Full | Dead | LogFull | NoRestart); stopped == LogFull {
			m.addLost(now) // as refused does
			return true
		} else if stopped != Full {
			return true // a call has stopped it
		}
		if m.addLostIf(a, l, now) {
			return true
		}
	}
}

// closeTries bounds how often Close tries to leave a chunk that a hostile process keeps changing.
const closeTries = 100

// Close gives up the writer's chunks and permits. No other method may be running.
func (w *Writer) Close() {
	for i := range w.mask + 1 {
		s := w.shard(i)
		w.parkChunk(s)
		if p := s.permit.Load(); p != 0 {
			q := &w.m.h.permitTable[p-1]
			if v := q.Load(); v>>32 == s.id {
				q.CompareAndSwap(v, 0)
			}
		}
	}
	w.endOpen()
	if w.mem != nil {
		sys.Unmap(w.mem)
		w.mem = nil
	}
}
