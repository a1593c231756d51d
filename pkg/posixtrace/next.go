package posixtrace

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// reading is the state that the reader calls of a Stream share.
type reading struct {
	mu    sync.Mutex
	me    uint64 // see lockReader
	r     *stream.Reader
	clock *chunk.Clock
	until uint64 // the clock is valid for ticks up to this one
	rec   chunk.Record

	copies    uint64    // number of copies by r when the file was last known to be whole
	recovered time.Time // when recoverDead last ran

	latest     int64       // the time of the last event whose clock was made without a lock
	completing atomic.Bool // shutdownIfOrphaned is under way
}

var errLogRead = errors.New("a stream with log is read by its log")

// Next reports the oldest event not reported yet, and waits for one if there is none
// (posix_trace_getnext_event). It copies the event's data into data and returns the number of
// bytes, n. Data that does not fit is lost, and ev.Truncation is TruncationRead. Errors: EINVAL a
// stream with log (use Reader), or one that is closed or shut down, also while Next waits; EINTR
// ctx is done: the error also matches context.Cause(ctx); EIO the stream's file was truncated.
func (s *Stream) Next(ctx context.Context, data []byte) (ev EventInfo, n int, err error) {
	const op = "posix_trace_getnext_event"
	p := pauses{s: s, next: firstPause}
	for {
		ev, n, err = s.tryNext(op, data)
		if err != ErrUnavailable {
			return ev, n, err
		}
		if err := p.pause(ctx, time.Time{}); err != nil {
			return EventInfo{}, 0, fail(op, err, syscall.EINVAL)
		}
	}
}

// TryNext returns the next event without a wait (posix_trace_trygetnext_event). It returns the bare
// ErrUnavailable if no event is ready.
func (s *Stream) TryNext(data []byte) (ev EventInfo, n int, err error) {
	return s.tryNext("posix_trace_trygetnext_event", data)
}

// All iterates over the events that TryNext would report, with their names and data, and ends when
// no event is ready or with an error. Each event is reported once, as by Next. Data is whole and valid
// until the next iteration. Extension.
func (s *Stream) All() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		data := make([]byte, max(s.c.Mem.MaxData, stream.MaxSystemData))
		runtime.KeepAlive(s)
		for {
			ev, n, err := s.TryNext(data)
			if err == ErrUnavailable {
				return
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			name, _ := s.EventName(ev.ID)
			if !yield(Record{ev, name, data[:n]}, nil) {
				return
			}
		}
	}
}

// TimedNext returns the next event, like Next. Its wait ends when the wall clock reaches deadline
// (posix_trace_timedgetnext_event). Errors: those of Next; ETIMEDOUT.
func (s *Stream) TimedNext(deadline time.Time, data []byte) (ev EventInfo, n int, err error) {
	const op = "posix_trace_timedgetnext_event"
	// Without its monotonic part the deadline is compared with the wall clock,
	// whose steps count (GET-11).
	deadline = deadline.Round(0)
	p := pauses{s: s, next: firstPause}
	for {
		ev, n, err = s.tryNext(op, data)
		if err != ErrUnavailable {
			return ev, n, err
		}
		if !sys.WallClock().Round(0).Before(deadline) {
			return EventInfo{}, 0, &Error{Op: op, Err: syscall.ETIMEDOUT}
		}
		if err := p.pause(context.Background(), deadline); err != nil {
			return EventInfo{}, 0, fail(op, err, syscall.EINVAL)
		}
	}
}

// pauses makes the pauses of a blocked call.
type pauses struct {
	s    *Stream
	next time.Duration // the length of the next one
	idle time.Duration // the sum since the last check of the owner
}

const (
	firstPause = 50 * time.Microsecond
	maxPause   = 10 * time.Millisecond
	// ownerPause is how often a blocked reader checks that the stream's owner is alive. No other
	// process may notice the owner's death.
	ownerPause = 500 * time.Millisecond
)

// pause waits a little longer each time. Writers make no system call that could wake a reader.
func (p *pauses) pause(ctx context.Context, deadline time.Time) error {
	d := p.next
	if !deadline.IsZero() {
		// The pauses stay short: the clock may be set while we wait.
		d = max(min(d, deadline.Sub(sys.WallClock().Round(0))), 0)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return &Error{Err: syscall.EINTR, Cause: &cancelError{context.Cause(ctx), ctx.Err()}}
	case <-p.s.closed:
		return errClosed
	case <-t.C:
	}
	p.next = min(p.next*2, maxPause)
	if p.idle += d; p.idle >= ownerPause {
		p.idle = 0
		p.s.c.CheckCut()
		p.s.shutdownIfOrphaned()
	}
	return nil
}

// shutdownIfOrphaned shuts the stream down if it belongs to another process and that is dead:
// otherwise a reader would wait for the next event without end. The shutdown takes locks, and the
// reader call may have a deadline: it does not wait, and finds the stream dead later.
func (s *Stream) shutdownIfOrphaned() {
	defer runtime.KeepAlive(s)
	if s.isClosed() || s.c.Owned() || !s.c.Orphaned() || !s.read.completing.CompareAndSwap(false, true) {
		return
	}
	go func() {
		s.shutdownOrphan()
		s.read.completing.Store(false)
	}()
}

// tryNext reports an event if one is ready.
func (s *Stream) tryNext(op string, data []byte) (ev EventInfo, n int, err error) {
	defer runtime.KeepAlive(s)
	s.read.mu.Lock()
	defer s.read.mu.Unlock()
	if s.isClosed() {
		return ev, 0, fail(op, s.whyClosed(), syscall.EINVAL)
	}
	if s.c.Mem.HasLog {
		return ev, 0, fail(op, errLogRead, syscall.EINVAL)
	}
	if s.c.Guard.Run(func() { ev, n, err = s.consume(data) }) {
		return EventInfo{}, 0, fail(op, conn.ErrCut, syscall.EIO)
	}
	if err != nil && err != ErrUnavailable {
		err = fail(op, err, syscall.EINVAL)
	}
	return ev, n, err
}

// consume takes the next event from the stream. The caller holds s.read.mu.
func (s *Stream) consume(data []byte) (ev EventInfo, n int, err error) {
	defer runtime.KeepAlive(s)
	r, m := &s.read, s.c.Mem
	if !s.lockReader() {
		return ev, 0, ErrUnavailable // another process is reading at this moment
	}
	defer m.UnlockReader()
	if r.r == nil {
		r.r = m.NewReader()
		s.recoverDead()
	}
	for {
		more := r.r.Next(&r.rec)
		if s.isClosed() { // the memory of a dead stream is freed
			return ev, 0, s.whyClosed()
		}
		if r.r.Held() && time.Since(r.recovered) > conn.RecoverPause {
			s.recoverDead() // a writer may have died in the middle of an event
			r.recovered = time.Now()
		}
		if more {
			if m.Restartable() {
				s.restart() // the stream stopped because it was full, and this was its last event
			}
			break
		}
		if !m.Restartable() || !s.restart() {
			return ev, 0, ErrUnavailable
		}
	}
	if r.clock == nil || r.rec.Tick > r.until {
		s.freshClock()
	}
	// Truncating a file leaves zeros up to the end of its last page.
	if n := r.r.Copies(); n != r.copies {
		r.copies = n
		s.c.CheckCut()
	}
	if s.c.Cut() {
		return ev, 0, conn.ErrCut // the event may consist of zeros
	}
	n = copy(data, r.rec.Data)
	ev = info(&r.rec, r.clock)
	if r.until == 0 {
		r.latest = max(r.latest, ev.UnixNano)
	}
	ev.UnixNano = max(ev.UnixNano, r.latest)
	if n < len(r.rec.Data) {
		ev.Truncation = TruncationRead
	}
	return ev, n, nil
}

// The mark of a reader is a number that its connection holds (sys.HoldAs) while its program runs.
// Process and start time would outlive an exec in the middle of a read; they serve where the kernel
// offers no such lock.
const (
	markedReader = 1 << 63
	markBits     = 1<<62 - 1
)

// lockReader makes this connection the consumer of the stream. It fails if another one is.
func (s *Stream) lockReader() bool {
	defer runtime.KeepAlive(s)
	r := &s.read
	if r.me == 0 {
		number := sys.Random64()&markBits | 1
		if r.me = number | markedReader; sys.HoldAs(s.c.File, number) != nil {
			r.me = sys.SelfProc().Pack()
		}
	}
	return s.c.Mem.LockReader(r.me, func(other uint64) bool {
		if other&markedReader != 0 {
			return !sys.HeldAs(s.c.File, other&markBits)
		}
		return !sys.Unpack(other).Alive()
	})
}

// A reader call may have a deadline: restart, recoverDead and freshClock do not wait for the
// stream's locks.

// restart starts a stream again that stopped because it was full. It reports whether the stream runs.
func (s *Stream) restart() (done bool) {
	defer runtime.KeepAlive(s)
	err := s.tryLocked(func(m *stream.Mem, w *stream.Writer) error {
		m.Restart(w)
		return nil
	})
	return err == nil && s.c.Mem.State()&stream.Running != 0
}

// recoverDead frees what dead writers hold.
func (s *Stream) recoverDead() {
	defer runtime.KeepAlive(s)
	s.tryLocked(func(m *stream.Mem, w *stream.Writer) error {
		s.c.RecoverWriters()
		return nil
	})
}

// freshClock makes a clock that is valid for the event just read.
func (s *Stream) freshClock() {
	defer runtime.KeepAlive(s)
	err := s.tryLocked(func(m *stream.Mem, w *stream.Writer) error {
		// In this order: a clock is valid for ticks before it was made.
		s.read.until = m.Now()
		s.read.clock = m.FreshClock()
		return nil
	})
	if err != nil {
		// Without the lock the clock is this reader's alone: use it for one event.
		s.read.until = 0
		s.read.clock = s.c.Mem.OwnClock()
	}
}
