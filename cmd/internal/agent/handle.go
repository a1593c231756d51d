package agent

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/agent/wire"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// handle is what a trace identifier stands for: a *streamHandle or a *logHandle.
type handle interface {
	// abandon ends the use of a handle whose controller has ended.
	abandon()
}

// A trace identifier is the channel's key, a number that no other handle of the channel ever had, and the
// log's area plus one, or 0.
const (
	keyShift    = 32
	numberShift = 8
	areaMask    = 1<<numberShift - 1
	ended       = 1<<(keyShift-numberShift) - 1 // the last number
)

// errFull is the error of an agent that has given away all numbers.
const errFull = syscall.EAGAIN

// add enters a handle and returns its identifier.
func (a *agent) add(h handle) (uint64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.number >= ended-1 {
		return 0, errFull
	}
	a.number++
	id := uint64(a.m.ch.Key)<<keyShift | a.number<<numberShift
	if l, ok := h.(*logHandle); ok {
		for i := range a.areas {
			if a.areas[i] == nil {
				a.areas[i] = l
				l.area = &a.m.ch.Area[i]
				id |= uint64(i + 1)
				break
			}
		}
		l.id = id
	}
	a.handles[id] = h
	return id, nil
}

// remove takes a handle out. It reports whether this call did.
func (a *agent) remove(id uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	h, ok := a.handles[id]
	if !ok {
		return false
	}
	delete(a.handles, id)
	a.touched = time.Now()
	if l, ok := h.(*logHandle); ok && l.area != nil {
		a.areas[id&areaMask-1] = nil
	}
	return true
}

func (a *agent) find(id uint64) handle {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.handles[id]
}

// streamHandle is an active stream.
type streamHandle struct {
	s      *posixtrace.Stream
	logged bool
	size   int // of the largest event's data
	read   reading
}

func (h *streamHandle) abandon() { tool.Shutdown(h.s, tool.Point{}) }

// logHandle is a pre-recorded stream. Its area is filled ahead of the reader.
type logHandle struct {
	l    *posixtrace.Log
	id   uint64
	area *wire.Area // nil: its events are read one by one

	mu    sync.Mutex
	batch posixtrace.Batch
	rest  []posixtrace.Record // of batch
	err   error               // that ended reading, io.EOF at the end
	sets  []byte              // the data of rest's events with sets, as C has it
	full  bool                // the last batch of the area ends the log
	have  uint32              // batches filled
	wake  chan struct{}       // the reader wants more
	quit  chan struct{}
}

func newLogHandle(l *posixtrace.Log) *logHandle {
	return &logHandle{l: l, wake: make(chan struct{}, 1), quit: make(chan struct{})}
}

func (h *logHandle) abandon() {}

// errnoOf returns the number of an error for the caller, whose descriptors are not the agent's.
func errnoOf(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	no := syscall.EIO
	if e := (*posixtrace.Error)(nil); errors.As(err, &e) {
		no = e.Err
	} else {
		errors.As(err, &no)
	}
	if no == syscall.EMFILE || no == syscall.ENFILE {
		return syscall.ENOMEM
	}
	return no
}
