package agent

import (
	"sync"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/cmd/internal/agent/wire"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// reading is the state of the reader calls of an active stream. While callers wait, one goroutine
// looks for events.
type reading struct {
	mu      sync.Mutex
	buf     []byte
	sets    []byte // the data of an event with sets, as C has it
	left    *event // a caller left when its event came: the next call gets it
	waiting []*call
	given   map[*wire.Call]event // the last events of callers that waited: see putBack
	looking bool
	poke    chan struct{} // there is a new caller
}

// event is an event that no caller has got.
type event struct {
	info posixtrace.EventInfo
	data []byte
}

// The pauses between two looks, as those of posixtrace.Stream.Next.
const (
	firstPause = 50 * time.Microsecond
	lastPause  = 10 * time.Millisecond
)

// timed is the value of the second argument of OpNext for a call with a deadline.
const timed = 1

// next serves a reader call of a stream.
func (h *streamHandle) next(c *call) {
	r := &h.read
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := h.take()
	switch {
	case err == nil:
		if !c.give(&e) {
			h.keep(&e)
		}
	case err != posixtrace.ErrUnavailable:
		c.finish(err)
	case c.op == wire.OpTryNext:
		c.c.Args[0] = 1
		c.finish(nil)
	case c.park():
		r.waiting = append(r.waiting, c)
		if r.poke == nil {
			r.poke = make(chan struct{}, 1)
		}
		if !r.looking {
			r.looking = true
			go h.look()
		} else {
			select {
			case r.poke <- struct{}{}:
			default:
			}
		}
	}
}

// take returns the next event. Its data is valid until the next call. The caller holds h.read.mu.
func (h *streamHandle) take() (e event, err error) {
	r := &h.read
	if r.left != nil {
		e = *r.left
		r.left = nil
		return e, nil
	}
	if r.buf == nil {
		r.buf = make([]byte, h.size)
	}
	var n int
	if e.info, n, err = h.s.TryNext(r.buf); err != nil {
		return e, err
	}
	r.sets = r.sets[:0]
	e.data = inC(&e.info, r.buf[:n], &r.sets)
	return e, nil
}

// keep keeps an event for the next call. The caller holds h.read.mu.
func (h *streamHandle) keep(e *event) {
	h.read.left = &event{e.info, append([]byte(nil), e.data...)}
}

// look gives the events that come to the callers that wait, first come, first served.
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
		switch some, more := h.serve(); {
		case !more:
			return
		case some:
			pause = firstPause
		}
	}
}

// serve serves the callers that wait as far as there are events. It reports whether there was one, and
// whether callers are left.
func (h *streamHandle) serve() (some, more bool) {
	r := &h.read
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		for len(r.waiting) > 0 && r.waiting[0].left() {
			r.waiting = r.waiting[1:]
		}
		if len(r.waiting) == 0 {
			r.waiting, r.looking = nil, false
			return some, false
		}
		e, err := h.take()
		if err == posixtrace.ErrUnavailable {
			return some, true
		}
		if err != nil {
			for _, c := range r.waiting {
				c.finish(err)
			}
			r.waiting = nil
			continue
		}
		some = true
		given := false
		for len(r.waiting) > 0 && !given {
			if given = r.waiting[0].give(&e); given {
				r.remember(r.waiting[0].c, &e)
			}
			r.waiting = r.waiting[1:]
		}
		if !given {
			h.keep(&e)
		}
	}
}

// remember keeps an event that a caller got who had waited for it. The caller's thread may have been
// cancelled just then.
func (r *reading) remember(c *wire.Call, e *event) {
	if r.given == nil {
		r.given = make(map[*wire.Call]event)
	}
	old := r.given[c]
	r.given[c] = event{e.info, append(old.data[:0], e.data...)}
}

// putBack takes back the event of a caller whose thread was cancelled. The next caller gets it.
func (h *streamHandle) putBack(c *call) {
	h.read.mu.Lock()
	defer h.read.mu.Unlock()
	if e, ok := h.read.given[c.c]; ok {
		delete(h.read.given, c.c)
		h.keep(&e)
	}
}

// clear discards the events, also the one that is kept.
func (h *streamHandle) clear() error {
	h.read.mu.Lock()
	defer h.read.mu.Unlock()
	err := h.s.Clear()
	if err == nil {
		h.read.left = nil
		clear(h.read.given)
	}
	return err
}

// itemSize is the size of an item without its data.
const itemSize = int(unsafe.Sizeof(wire.Item{}))

// give answers a reader call with an event, unless the caller has left.
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
	c.c.Args[0] = 0
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
