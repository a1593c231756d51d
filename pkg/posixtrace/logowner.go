package posixtrace

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// logOwner flushes the log of a stream that this process owns: on request and, with PolicyFlush,
// whenever the stream is half full and every second.
type logOwner struct {
	*logWriter
	by    creator
	s     atomic.Pointer[Stream]
	alarm *sys.Alarm
	stop  chan struct{}
	done  chan struct{}
	once  sync.Once
	late  atomic.Int32  // flushes that a Recorder has stopped waiting for
	stall time.Duration // logStall or deviceStall
}

func newLogOwner(s *Stream, f *os.File, hold bool, by creator) (*logOwner, error) {
	a, err := sys.NewAlarm()
	if err != nil {
		return nil, err
	}
	w, err := newLogWriter(s.c, f, hold)
	if err != nil {
		a.Close()
		return nil, err
	}
	o := &logOwner{logWriter: w, by: by, alarm: a, stop: make(chan struct{}), done: make(chan struct{})}
	o.s.Store(s)
	if o.stall = logStall; s.c.Mem.LogFile {
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

// tryFlush flushes, and gives up waiting when the log has made no progress for o.stall. The flush
// goes on then, and until its end tryFlush fails at once.
func (o *logOwner) tryFlush() error {
	if o.late.Load() > 0 {
		return errStalled
	}
	done := make(chan error, 1)
	go func() { done <- o.do(func(s *Stream) error { return s.flushLocked(false) }) }()
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

// passOn closes the application's Stream and continues with another one, unknown to the
// application. It returns false after halt. The caller has called lockAll.
func (o *logOwner) passOn() bool {
	select {
	case <-o.stop:
		return false
	default:
	}
	s := o.s.Load()
	heir := newStream(s.c)
	s.naming.Lock()
	defer s.naming.Unlock()
	heir.log, heir.ctl, heir.names = o, s.ctl, s.names
	s.ctl, s.names = nil, nil
	o.s.Store(heir)
	close(s.closed)
	return true
}

// do calls f with the Stream, and again if passOn has replaced the Stream meanwhile.
func (o *logOwner) do(f func(*Stream) error) error {
	for {
		s := o.s.Load()
		if err := f(s); o.s.Load() == s {
			return err
		}
	}
}

// abandon closes a log whose owner never ran.
func (o *logOwner) abandon() {
	o.alarm.Close()
	o.close()
}

// How often the owner polls the stream: often if it is in use, rarely if it is idle. Writers make
// no system call that could wake the owner.
const (
	pollBusy = time.Millisecond
	pollIdle = 16 * time.Millisecond
)

// pollUsed returns the time until the next poll of a stream that is in use, with used of all bytes
// taken. A writer at full speed records about a byte per nanosecond: it must not reach the last
// quarter before that poll.
func pollUsed(used, all int) time.Duration {
	return min(max(pollBusy, time.Duration(all-all/4-used)), pollIdle)
}

// run polls the stream and flushes it until halt or the end of the stream.
func (o *logOwner) run() {
	defer close(o.done)
	defer o.alarm.Close()
	m := o.c.Mem
	wait := pollBusy
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
			go o.s.Load().shutdownAt(o.by.end())
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
			wait = min(wait*2, pollIdle)
		}
		if m.Crowded() && time.Since(recovered) >= time.Second {
			recovered = time.Now()
			o.s.Load().recoverDead()
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
			err = o.do((*Stream).Clear)
		} else {
			sync := asked && m.SyncWanted()
			sync = sync || m.Sync()
			if err = o.do(func(s *Stream) error { return s.flushLocked(sync) }); err == nil && sync && asked {
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

// halt ends run and waits for it.
func (o *logOwner) halt() {
	o.once.Do(func() {
		close(o.stop)
		o.alarm.Ring()
	})
	<-o.done
}
