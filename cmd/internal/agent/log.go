package agent

import (
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/agent/wire"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

func (a *agent) openLog(f *os.File) (uint64, error) {
	l, err := posixtrace.Open(f)
	if err != nil {
		return 0, err
	}
	h := newLogHandle(l)
	id, err := a.add(h)
	if err != nil {
		l.Close()
		return 0, err
	}
	if h.area != nil {
		h.reset()
		go h.serve()
	}
	return id, nil
}

func (a *agent) onLog(c *call, h *logHandle) {
	l := h.l
	var err error
	switch c.op {
	case wire.OpNext:
		h.next(c)
		return
	case wire.OpRewind:
		err = h.rewind()
	case wire.OpClose:
		if err = h.close(); err == nil {
			a.remove(c.trid)
		}
	case wire.OpAttr:
		err = c.giveAttr(l.Attr())
	case wire.OpStatus:
		err = c.giveStatus(l.Status())
	case wire.OpName:
		err = c.giveName(l.EventName(posixtrace.EventID(c.args[0])))
	case wire.OpNextType:
		err = c.giveType(l.NextEventType())
	case wire.OpRewindTypes:
		err = l.RewindEventTypes()
	default:
		err = syscall.EINVAL
	}
	c.finish(err)
}

// more passes on the request for more events in an area.
func (a *agent) more(i int) {
	if i >= len(a.areas) {
		return
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	if h := a.areas[i]; h != nil {
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
}

// serve fills the area as the reader asks.
func (h *logHandle) serve() {
	for {
		select {
		case <-h.wake:
			for h.fillNext() {
			}
		case <-h.quit:
			return
		}
	}
}

// fillNext fills the next batch of the area if the reader wants it.
func (h *logHandle) fillNext() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	ahead := h.area.Want.Load() - h.have
	if h.full || ahead == 0 || ahead > wire.Batches {
		return false
	}
	h.fillBatch(&h.area.Batch[h.have%wire.Batches])
	h.have++
	h.area.Have.Store(h.have)
	if h.area.Waiting.Load() != 0 {
		wake(&h.area.Have)
	}
	return true
}

// fillBatch fills a batch with events. The caller holds h.mu.
func (h *logHandle) fillBatch(b *wire.Batch) {
	at := 0
	b.End, b.Err = 0, 0
	for h.some() {
		at += h.encode(b.Data[at:])
		if len(h.rest) > 0 {
			break // the next event does not fit
		}
	}
	if len(h.rest) == 0 && h.err != nil {
		h.full = true
		if h.err == io.EOF {
			b.End = 1
		} else {
			b.Err = uint32(errnoOf(h.err))
		}
	}
	b.Bytes = uint32(at)
}

// some reads events unless there are some that the reader has not got. It reports whether there are any.
func (h *logHandle) some() bool {
	if len(h.rest) == 0 && h.err == nil {
		h.err = tool.NextBatch(h.l, &h.batch)
		h.rest = h.batch.Records
		h.sets = h.sets[:0]
		if h.err != nil {
			h.rest = nil
		}
	}
	return len(h.rest) > 0
}

// encode moves events to b as far as they fit, and returns the number of bytes.
func (h *logHandle) encode(b []byte) int {
	at := 0
	for len(h.rest) > 0 {
		r := &h.rest[0]
		data := r.Data
		if r.ID.System() {
			data = inC(&r.EventInfo, data, &h.sets)
		}
		if len(data) > len(b)-itemSize && at == 0 && len(b) == wire.BatchSize {
			data = data[:len(b)-itemSize] // no event of ours has that much
		}
		size := (itemSize + len(data) + 7) &^ 7
		if at+size > len(b) {
			break
		}
		fill((*wire.Item)(unsafe.Pointer(&b[at])), &r.EventInfo, len(data))
		copy(b[at+itemSize:], data)
		at += size
		h.rest = h.rest[1:]
	}
	return at
}

// next serves a reader call of a log that has no area.
func (h *logHandle) next(c *call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.area != nil || c.args[1] == wire.Timed:
		c.finish(syscall.EINVAL)
	case h.some():
		r := &h.rest[0]
		if c.give(&event{r.EventInfo, inC(&r.EventInfo, r.Data, &h.sets)}) {
			h.rest = h.rest[1:]
		}
	case h.err == io.EOF:
		c.c.Args[0] = wire.None
		c.finish(nil)
	default:
		c.finish(h.err)
	}
}

// reset forgets what was read ahead. The caller holds h.mu, or is the only user of h.
func (h *logHandle) reset() {
	h.rest, h.err, h.full, h.have = nil, nil, false, 0
	if h.area != nil {
		h.area.Want.Store(0)
		h.area.Have.Store(0)
	}
}

func (h *logHandle) rewind() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.l.Rewind()
	if err == nil {
		h.reset()
	}
	return err
}

// close ends the use of the log, and frees the memory of its area.
func (h *logHandle) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.l.Close(); err != nil {
		return err
	}
	close(h.quit)
	h.full, h.rest = true, nil
	if h.area != nil {
		freePages(unsafe.Slice((*byte)(unsafe.Pointer(h.area)), unsafe.Sizeof(*h.area)))
	}
	return nil
}

// freePages frees the whole pages in a part of the channel.
func freePages(b []byte) {
	page := uintptr(os.Getpagesize())
	from := uintptr(unsafe.Pointer(&b[0]))
	start := (from + page - 1) &^ (page - 1)
	end := (from + uintptr(len(b))) &^ (page - 1)
	if start < end {
		unix.Madvise(b[start-from:end-from], unix.MADV_REMOVE)
	}
}
