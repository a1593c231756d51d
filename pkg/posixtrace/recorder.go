package posixtrace

import (
	"runtime"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/owner"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Recorder records system events, and events on behalf of traced processes. It is not safe for
// concurrent use: make one for each goroutine. Extension.
type Recorder struct {
	s     *Stream
	a     *conn.Attachment
	tick  uint64 // the last result of Now, on both clocks
	nanos int64

	// The last time given to Record, on both clocks. The clocks are not read at one instant, but a
	// later time must not get an earlier tick.
	given struct {
		tick  uint64
		nanos int64
	}
}

// flushPause is how long after a failed flush a full stream stays full.
const flushPause = 100 * time.Millisecond

// flushWait bounds how long Record waits for a flush by the owner.
const flushWait = 200 * time.Millisecond

// Recorder returns a Recorder for the stream. If the stream is full, Record of the owner of a
// stream with log flushes the stream rather than lose the event, unless the log has accepted no
// data for seconds; with PolicyFlush, Record of another process asks the owner for a flush and
// waits up to 200 ms. Errors: EAGAIN too many writers; EINVAL the stream is closed. Extension.
func (s *Stream) Recorder() (*Recorder, error) {
	defer runtime.KeepAlive(s)
	const op = "Recorder"
	s.mu.Lock()
	defer s.mu.Unlock()
	var a *conn.Attachment
	err := s.locked(func(m *stream.Mem, w *stream.Writer) (err error) {
		slot, ok := s.c.TakeSlot(true)
		if !ok {
			return conn.ErrSlots
		}
		rw, err := m.NewWriter(slot, sys.SelfProc().PID, 1)
		if err != nil {
			s.c.FreeSlot(slot)
			return err
		}
		rw.Alone()
		a = &conn.Attachment{Conn: s.c, Writer: rw}
		return nil
	})
	if err != nil {
		return nil, fail(op, err, syscall.EINVAL)
	}
	flush := s.awaitFlush
	if o := s.log; o != nil {
		flush = o.TryFlush
	}
	if s.log != nil && s.c.Mem.Policy != stream.Loop || s.c.Mem.Policy == stream.Flush {
		var failed time.Time
		a.Writer.OnFull = func() bool {
			// After a failed flush do not retry for each event.
			if !failed.IsZero() && time.Since(failed) < flushPause {
				return false
			}
			// A flush that failed only to sync has made room.
			if err := flush(); err != nil && s.c.Mem.State()&stream.Running == 0 {
				failed = time.Now()
				return false
			}
			failed = time.Time{}
			return s.c.Mem.State()&stream.Running != 0
		}
	}
	runtime.SetFinalizer(a, (*conn.Attachment).Close)
	return &Recorder{s: s, a: a}, nil
}

// awaitFlush asks the owner for a flush and waits for it for at most flushWait: an owner that is
// stopped must not stop the processes that it traces.
func (s *Stream) awaitFlush() error {
	defer runtime.KeepAlive(s)
	m := s.c.Mem
	ticket := m.AskFlush()
	for end := time.Now().Add(flushWait); ; time.Sleep(owner.PollBusy) {
		switch no, done := m.FlushDone(ticket); {
		case done && no != 0:
			return syscall.Errno(no)
		case done:
			return nil
		case s.isClosed() || time.Now().After(end):
			return s.whyClosed()
		}
	}
}

var errRecorderClosed = closedError("the recorder is closed")

// Wants reports whether Record would record an event of type id now. A caller that makes expensive
// data asks first.
func (r *Recorder) Wants(id EventID) bool {
	wants := r.a != nil && event.ID(id).Valid() && r.a.Writer.Wants(event.ID(id))
	runtime.KeepAlive(r)
	return wants
}

// Record records one event with the ID, PID, TID, Address, Span and Parent of ev, at the time
// ev.UnixNano or, if that is 0, now. It reports whether the stream recorded the event: false if the
// stream is suspended, rejects the type, or is full.
func (r *Recorder) Record(ev EventInfo, data []byte) bool {
	if r.a == nil || !event.ID(ev.ID).Valid() {
		return false
	}
	e := stream.Event{
		ID: event.ID(ev.ID), PID: uint32(ev.PID), TID: uint32(ev.TID), Addr: ev.Address,
		Span: stream.Span{Key: ev.Span, Parent: ev.Parent},
	}
	switch ev.UnixNano {
	case 0:
	case r.nanos:
		e.Tick = r.tick
	default:
		e.Tick = r.s.c.Mem.TickAt(ev.UnixNano)
		if ev.UnixNano >= r.given.nanos {
			e.Tick = max(e.Tick, r.given.tick)
			r.given.tick, r.given.nanos = e.Tick, ev.UnixNano
		}
	}
	ok := r.a.Writer.Record(0, &e, data)
	runtime.KeepAlive(r)
	return ok
}

// lose is tool.Lose.
func (r *Recorder) lose(n uint64) {
	if r.a != nil && n > 0 {
		r.s.c.Mem.AddLost(n)
	}
	runtime.KeepAlive(r)
}

// owe is tool.Owe for a Recorder.
func (r *Recorder) owe(id EventID, owing bool) {
	if r.a != nil && event.ID(id).Valid() {
		r.a.Writer.Owe(event.ID(id), owing)
	}
	runtime.KeepAlive(r)
}

// Now returns the time on the stream's own clock, for the UnixNano of several events at one time.
func (r *Recorder) Now() int64 {
	if r.a != nil {
		r.tick, r.nanos = r.s.c.Mem.NanosNow()
	}
	runtime.KeepAlive(r)
	return r.nanos
}

// Close ends the recorder and frees its slot in the stream. Errors: EINVAL the recorder is closed.
func (r *Recorder) Close() error {
	defer runtime.KeepAlive(r)
	if r.a == nil {
		return fail("Close", errRecorderClosed, syscall.EINVAL)
	}
	runtime.SetFinalizer(r.a, nil)
	r.a.Close()
	r.a = nil
	return nil
}
