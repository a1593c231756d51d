package agent

import (
	"syscall"
	"unsafe"

	"github.com/posixtrace/posixtrace/cmd/internal/agent/wire"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// call is a request, as the agent has copied it: the controller can change its memory at any time.
type call struct {
	c      *wire.Call
	tag    uint32 // the count of the request in c.State
	op     uint32
	trid   uint64
	length int
	args   [4]uint64
	at     tool.Point
}

// dispatch serves a request. A request that may wait gets a goroutine of its own.
func (a *agent) dispatch(w *wire.Call) {
	s := w.State.Load()
	if s&wire.StateMask != wire.Asked {
		return
	}
	c := &call{
		c: w, tag: s &^ wire.StateMask, op: w.Op, trid: w.Trid, length: int(min(w.Length, wire.DataSize)), args: w.Args,
		at: tool.Point{PID: w.PID, TID: w.TID, Addr: w.Address},
	}
	switch h := a.find(c.trid).(type) {
	case *streamHandle:
		if h.quick(c.op) {
			a.onStream(c, h)
		} else {
			go a.onStream(c, h)
		}
	case *logHandle:
		go a.onLog(c, h)
	default:
		if c.op == wire.OpCreate || c.op == wire.OpOpen {
			go a.open(c)
		} else {
			c.finish(syscall.EINVAL)
		}
	}
}

// finish answers the request: the caller finds err and the results.
func (c *call) finish(err error) {
	if c.claim() {
		c.done(err)
	}
}

// claim reserves the request for an answer. It fails if the caller has taken the request back.
func (c *call) claim() bool {
	s := &c.c.State
	return s.CompareAndSwap(c.tag|wire.Asked, c.tag|wire.Giving) || s.CompareAndSwap(c.tag|wire.Parked, c.tag|wire.Giving)
}

// done answers a claimed request.
func (c *call) done(err error) {
	c.c.Err = uint32(errnoOf(err))
	c.c.State.Store(c.tag | wire.Done)
	wake(&c.c.State)
}

// park lets the caller wait, or leave.
func (c *call) park() bool {
	if !c.c.State.CompareAndSwap(c.tag|wire.Asked, c.tag|wire.Parked) {
		return false
	}
	wake(&c.c.State)
	return true
}

// left reports whether the caller has taken the request back.
func (c *call) left() bool { return c.c.State.Load() != c.tag|wire.Parked }

// text returns the bytes that came with the request.
func (c *call) text() []byte { return append([]byte(nil), c.c.Data[:c.length]...) }

// in returns the data of a request or an answer as a T.
func in[T any](c *call) *T { return (*T)(unsafe.Pointer(&c.c.Data[0])) }
