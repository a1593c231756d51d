package owner

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Log flushes the log of a stream that this process owns: on request and, with PolicyFlush,
// whenever the stream is half full and every second.
type Log struct {
	*logWriter
	by    Creator
	calls atomic.Pointer[Calls]
	alarm *sys.Alarm
	stop  chan struct{}
	done  chan struct{}
	once  sync.Once
	late  atomic.Int32  // flushes that a Recorder has stopped waiting for
	stall time.Duration // logStall or deviceStall
}

// Calls are the calls of a handle of the stream that Run and TryFlush make. They take the locks of the
// handle and of the stream, and call the Log.
type Calls struct {
	Flush    func(sync bool) error
	Clear    func() error
	Recover  func()                     // frees what dead writers hold
	Shutdown func(e stream.Event) error // e is the STOP event
}

// New returns the log of a stream that this process owns. f is its file, the caller's descriptor duplicated
// (DupLog). hold holds the log back until BeginHeld. The caller starts Run.
func New(c *conn.Conn, calls *Calls, f *os.File, hold bool, by Creator) (*Log, error) {
	a, err := sys.NewAlarm()
	if err != nil {
		return nil, err
	}
	w, err := newLogWriter(c, f, hold)
	if err != nil {
		a.Close()
		return nil, err
	}
	o := &Log{logWriter: w, by: by, alarm: a, stop: make(chan struct{}), done: make(chan struct{})}
	o.calls.Store(calls)
	if o.stall = logStall; c.Mem.LogFile {
		o.stall = deviceStall
	}
	return o, nil
}

// How long a Recorder waits for a flush that makes no progress: to a pipe, whose reader may be
// slow, and to a file.
const (
	logStall    = 2 * time.Second
	deviceStall = 10 * time.Second
)

var errStalled = sys.Wrap("the log accepts no data", syscall.ETIMEDOUT)

// TryFlush flushes, and gives up waiting when the log has made no progress for o.stall. The flush
// goes on then, and until its end TryFlush fails at once.
func (o *Log) TryFlush() error {
	if o.late.Load() > 0 {
		return errStalled
	}
	done := make(chan error, 1)
	go func() { done <- o.do(func(c *Calls) error { return c.Flush(false) }) }()
	tick := time.NewTicker(o.stall / 8)
	defer tick.Stop()
	moved, since := o.moved.Load(), time.Now()
	for {
		select {
		case err := <-done:
			return err
		case now := <-tick.C:
			if n := o.moved.Load(); n != moved {
				moved, since = n, now
			} else if now.Sub(since) >= o.stall {
				o.late.Add(1)
				go func() {
					<-done
					o.late.Add(-1)
				}()
				return errStalled
			}
		}
	}
}

// PassTo continues with the calls of another handle of the stream.
func (o *Log) PassTo(calls *Calls) { o.calls.Store(calls) }

// Shutdown shuts the stream down with the handle of now. e becomes the STOP event.
func (o *Log) Shutdown(e stream.Event) error {
	return o.do(func(c *Calls) error { return c.Shutdown(e) })
}

// do calls f with the calls of the handle, and again if PassTo has replaced the handle meanwhile.
func (o *Log) do(f func(*Calls) error) error {
	for {
		c := o.calls.Load()
		if err := f(c); o.calls.Load() == c {
			return err
		}
	}
}

// Abandon closes a log whose owner never ran.
func (o *Log) Abandon() {
	o.alarm.Close()
	o.Close()
}

// How often the owner polls the stream: often if it is in use, rarely if it is idle. Writers make
// no system call that could wake the owner.
const (
	PollBusy = time.Millisecond
	PollIdle = 16 * time.Millisecond
)

// pollUsed returns the time until the next poll of a stream that is in use, with used of all bytes
// taken. A writer at full speed records about a byte per nanosecond: it must not reach the last
// quarter before that poll.
func pollUsed(used, all int) time.Duration {
	return min(max(PollBusy, time.Duration(all-all/4-used)), PollIdle)
}

// Run polls the stream and flushes it until Halt or the end of the stream.
func (o *Log) Run() {
	defer close(o.done)
	defer o.alarm.Close()
	m := o.c.Mem
	wait := PollBusy
	seq := m.Seq()
	last, recovered := time.Now(), time.Time{}
	failed := false
	for o.alarm.Wait(wait) {
		if o.c.CheckCut(); m.ShutdownWanted() || o.c.Cut() {
			if m.ShutdownWanted() {
				// A process that shuts the stream down gets its events in the log, held back or not.
				o.held.Store(false)
			}
			// Shutdown stops this loop, so it cannot run in it.
			go o.Shutdown(o.by.end())
			<-o.stop
			return
		}
		if o.held.Load() {
			continue // requests wait until the log has started
		}
		used, all := m.Filled()
		if n := m.Seq(); n != seq {
			seq, wait = n, pollUsed(used*m.ChunkSize, all*m.ChunkSize)
		} else {
			wait = min(wait*2, PollIdle)
		}
		if m.Crowded() && time.Since(recovered) >= time.Second {
			recovered = time.Now()
			o.calls.Load().Recover()
		}
		ticket, asked := m.FlushWanted()
		due := false
		if m.Policy == stream.Flush {
			old := time.Since(last) >= time.Second
			stopped := m.State()&stream.Full != 0
			due = old && m.Pending() || !failed && (2*used >= all || stopped)
		}
		if !asked && !due {
			continue
		}
		var err error
		if asked && m.ClearWanted() {
			err = o.do(func(c *Calls) error { return c.Clear() })
		} else {
			sync := asked && m.SyncWanted()
			sync = sync || m.Sync()
			if err = o.do(func(c *Calls) error { return c.Flush(sync) }); err == nil && sync && asked {
				m.SyncServed(ticket)
			}
		}
		failed = err != nil
		if failed && !asked {
			m.AutoFlushFailed(uint32(errnoOf(err, syscall.EIO)))
		}
		last = time.Now()
		if asked {
			m.FlushServed(ticket, uint32(errnoOrZero(err)))
		}
	}
}

// errnoOrZero returns the error number of a served request.
func errnoOrZero(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	return errnoOf(err, syscall.EIO)
}

// Halt ends Run and waits for it.
func (o *Log) Halt() {
	o.once.Do(func() {
		close(o.stop)
		o.alarm.Ring()
	})
	<-o.done
}
