package agent

import (
	"sync"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/cmd/internal/agent/wire"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// reading is the state of the reader calls of an active stream. While callers wait, one goroutine
// looks for events.
type reading struct {
	mu      sync.Mutex
	buf     []byte
	sets    []byte  // the data of an event with sets, as C has it
	oldest  event   // that has been read from the stream, and given to no caller
	has     bool    // there is such an event
	waiting []*call // parked
	looking bool
	poke    chan struct{} // there is a new caller, or an event was given
}

// event is an event with its data, which is valid until the next one is read.
type event struct {
	info posixtrace.EventInfo
	data []byte
}

// The pauses between two looks, as those of posixtrace.Stream.Next.
const (
	firstPause = 50 * time.Microsecond
	lastPause  = 10 * time.Millisecond
)

// next serves a reader call of a stream.
func (h *streamHandle) next(c *call) {
	r := &h.read
	r.mu.Lock()
	defer r.mu.Unlock()
	err := h.fetch()
	switch {
	case err == nil:
		r.has = !c.give(&r.oldest)
		if len(r.waiting) > 0 {
			r.look()
		}
	case err != posixtrace.ErrUnavailable:
		c.finish(err)
	case c.op == wire.OpTryNext:
		c.c.Args[0] = wire.None
		c.finish(nil)
	case c.park():
		r.waiting = append(r.waiting, c)
		if r.poke == nil {
			r.poke = make(chan struct{}, 1)
		}
		if !r.looking {
			r.looking = true
			go h.look()
		}
		r.look()
	}
}

// look makes the goroutine that looks for events do so at once.
func (r *reading) look() {
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

// fetch makes sure that there is an oldest event. The caller holds h.read.mu.
func (h *streamHandle) fetch() error {
	r := &h.read
	if r.has {
		return nil
	}
	if r.buf == nil {
		r.buf = make([]byte, h.size)
	}
	info, n, err := h.s.TryNext(r.buf)
	if err != nil {
		return err
	}
	r.sets = r.sets[:0]
	r.oldest, r.has = event{info, inC(&info, r.buf[:n], &r.sets)}, true
	return nil
}

// look wakes the callers that wait when there are events for them.
func (h *streamHandle) look() {
	r := &h.read
	for pause := firstPause; ; {
		t := time.NewTimer(pause)
		select {
		case <-t.C:
			pause = min(2*pause, lastPause)
		case <-r.poke:
			pause = firstPause
		}
		t.Stop()
		if !h.rouse() {
			return
		}
	}
}

// rouse wakes the first caller that waits if there is an event. That caller may have other things to do
// than to take it, such as a handler of a signal: the next look wakes the next caller for the same event.
// rouse reports whether callers are left.
func (h *streamHandle) rouse() (more bool) {
	r := &h.read
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.waiting) > 0 && r.waiting[0].left() {
		r.waiting = r.waiting[1:]
	}
	if len(r.waiting) > 0 {
		switch err := h.fetch(); {
		case err == nil:
			for again := false; len(r.waiting) > 0 && !again; r.waiting = r.waiting[1:] {
				again = r.waiting[0].again()
			}
		case err != posixtrace.ErrUnavailable:
			for _, c := range r.waiting {
				c.finish(err)
			}
			r.waiting = nil
		}
	}
	if len(r.waiting) == 0 {
		r.waiting, r.looking = nil, false
	}
	return r.looking
}

// clear discards the events, also the one that has been read. No event is read meanwhile, which would be one
// of after the clear. But reader calls do not wait for what the clear waits for.
func (h *streamHandle) clear() error {
	return tool.Clear(h.s, func(discard func()) {
		h.read.mu.Lock()
		defer h.read.mu.Unlock()
		discard()
		h.read.has = false
	})
}

// itemSize is the size of an item without its data.
const itemSize = int(unsafe.Sizeof(wire.Item{}))

// again answers a parked call: its caller looks again.
func (c *call) again() bool {
	if !c.claim() {
		return false
	}
	c.c.Args[0] = wire.Again
	c.done(nil)
	return true
}

// give answers a reader call with an event. It fails if the caller has left.
func (c *call) give(e *event) bool {
	if !c.claim() {
		return false
	}
	info, data := e.info, e.data
	if most := min(c.args[0], uint64(len(c.c.Data)-itemSize)); uint64(len(data)) > most {
		data = data[:most]
		info.Truncation = posixtrace.TruncationRead
	}
	fill(in[wire.Item](c), &info, len(data))
	copy(c.c.Data[itemSize:], data)
	c.c.Args[0] = wire.Event
	c.done(nil)
	return true
}

// fill describes an event with n bytes of data.
func fill(it *wire.Item, e *posixtrace.EventInfo, n int) {
	seconds, nanos := e.UnixNano/1e9, e.UnixNano%1e9
	if nanos < 0 {
		seconds, nanos = seconds-1, nanos+1e9
	}
	*it = wire.Item{
		Size: uint32(itemSize+n+7) &^ 7, Length: uint32(n), ID: uint32(e.ID), PID: uint32(e.PID), TID: uint32(e.TID),
		Truncation: uint32(e.Truncation), Address: e.Address, Seconds: seconds, Nanos: nanos, Span: e.Span, Parent: e.Parent,
	}
}

// words is trace_event_set_t.
type words [64]uint64

func wordsOf(s *posixtrace.EventSet) (w words) {
	for id := range posixtrace.EventID(64 * len(w)) {
		if s.Has(id) {
			w[id/64] |= 1 << (id % 64)
		}
	}
	return w
}

func setOf(w words) (s posixtrace.EventSet) {
	for id := range posixtrace.EventID(64 * len(w)) {
		if w[id/64]>>(id%64)&1 != 0 {
			s.Add(id)
		}
	}
	return s
}

// inC returns the data of an event as the standard defines it for C: the filters in the data of a START
// and a FILTER event are of the type trace_event_set_t. buf holds them.
func inC(e *posixtrace.EventInfo, data []byte, buf *[]byte) []byte {
	if e.ID != posixtrace.EventStart && e.ID != posixtrace.EventFilter {
		return data
	}
	var sets []posixtrace.EventSet
	if e.ID == posixtrace.EventStart {
		s, err := posixtrace.DecodeSet(data)
		if err != nil {
			return data
		}
		sets = append(sets, s)
	} else {
		old, now, err := posixtrace.DecodeFilter(data)
		if err != nil {
			return data
		}
		sets = append(sets, old, now)
	}
	at := len(*buf)
	for i := range sets {
		w := wordsOf(&sets[i])
		*buf = append(*buf, unsafe.Slice((*byte)(unsafe.Pointer(&w[0])), unsafe.Sizeof(w))...)
	}
	return (*buf)[at:]
}
