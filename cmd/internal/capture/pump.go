package capture

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Result tells how a Pump ended.
type Result int

// The ends of a Pump.
const (
	EOF    Result = iota // nobody holds the pipe any more
	Broken               // its output could not be written; Err says why
	Left                 // the drain time is over and somebody still holds the pipe
)

// Pump copies a pipe to where its output belongs and hands its lines to a sink.
type Pump struct {
	In     int  // read end of the pipe; closed unless the result is Left
	Shared bool // In is not ours alone: it is waited for, not made non-blocking
	Out    int  // -1: nowhere
	Done   int  // becomes readable when the command has ended; -1: never
	// Drain is how long the pipe is read on once Done is readable.
	Drain time.Duration
	// Lines may be nil: nothing is recorded then.
	Lines *Splitter

	Err error // why it is Broken

	busy    atomic.Bool // something that was read may not have been written yet
	watched bool        // poll is asked about Out
	out     finality    // what it reports of one that is gone
	ended   bool        // In reported its end, without input
}

// Busy reports whether something that was read may not have been written yet. While
// nothing can be read from the pipe and the pump is not busy, all has come through.
func (p *Pump) Busy() bool { return p.busy.Load() }

// Run copies until the end and returns which one it was.
func (p *Pump) Run() Result {
	if !p.Shared {
		unix.SetNonblock(p.In, true)
	}
	p.out, p.watched = finalityOf(p.Out), p.Out >= 0
	lines := newQueue(p.Lines)
	r := p.copy(lines)
	lines.end()
	if r != Left {
		// After a failed write this is what the command must see: nobody
		// reads its output any more.
		unix.Close(p.In)
	}
	return r
}

func (p *Pump) copy(lines *queue) Result {
	defer p.busy.Store(false)
	var deadline time.Time // of the drain; zero while the command runs
	ready := false
	var again Backoff
	for turn := 1; ; turn++ {
		if !ready {
			switch p.wait(&deadline) {
			case gone:
				// A reader of our output that left before the command wrote
				// anything: let the command know at its next write.
				return Broken
			case late:
				return Left
			}
		}
		buf := lines.room()
		p.busy.Store(true)
		n, err := unix.Read(p.In, buf)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN && !p.ended:
			p.busy.Store(false)
			ready = false
			again.Wait()
			continue
		case err != nil || n == 0:
			return EOF
		}
		again.Reset()
		werr := p.write(buf[:n])
		p.busy.Store(false)
		lines.take(n)
		if werr != nil {
			if werr != unix.EPIPE {
				p.Err = werr
			}
			return Broken
		}
		// Less than there was room for: the pipe is empty, and waiting is
		// cheaper than finding that out. A pipe that never is must not keep
		// the command's end from being seen.
		ready = n == len(buf) && !p.Shared && deadline.IsZero() && turn%16 != 0
	}
}

type readiness int

const (
	readable readiness = iota
	gone               // nobody reads the output
	late               // the drain time is over
)

// wait waits for input, for the reader of the output to leave, or for the time
// to end. It sets the deadline when the command has ended.
func (p *Pump) wait(deadline *time.Time) readiness {
	for {
		fds := [3]unix.PollFd{{Fd: int32(p.In), Events: unix.POLLIN}, {Fd: -1}, {Fd: -1, Events: unix.POLLIN}}
		if p.watched {
			fds[1].Fd = int32(p.Out)
		}
		timeout := -1
		if deadline.IsZero() {
			fds[2].Fd = int32(p.Done)
		} else {
			left := time.Until(*deadline)
			if left <= 0 {
				// Nothing is lost by leaving: whoever takes over finds what
				// is in the pipe. A pipe that is empty and closed needs nobody.
				unix.Poll(fds[:1], 0)
				if fds[0].Revents&(unix.POLLIN|unix.POLLHUP) == unix.POLLHUP {
					return readable
				}
				return late
			}
			timeout = int(min(left.Milliseconds()+1, 1<<30))
		}
		failed := Poll(fds[:], timeout) != nil
		if fds[2].Revents != 0 || failed && deadline.IsZero() && p.isDone() {
			*deadline = time.Now().Add(p.Drain)
		}
		if failed {
			return readable // the read will tell
		}
		if r := fds[0].Revents; r != 0 {
			p.ended = r&unix.POLLIN == 0
			return readable
		}
		switch r := fds[1].Revents; {
		case p.out.final(r):
			return gone
		case r != 0:
			// It reports this for ever. The next write will tell what it means.
			p.watched = false
		}
	}
}

// isDone reports whether the command has ended, without poll.
func (p *Pump) isDone() bool {
	if p.Done < 0 {
		return false
	}
	unix.SetNonblock(p.Done, true)
	n, err := unix.Read(p.Done, make([]byte, 1))
	return n >= 0 && err == nil
}

// write writes all of b. It waits where another process made the output non-blocking.
func (p *Pump) write(b []byte) error {
	if p.Out < 0 {
		return nil
	}
	var again Backoff
	for len(b) > 0 {
		n, err := unix.Write(p.Out, b)
		switch {
		case n > 0:
			b = b[n:]
			again.Reset()
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			Poll([]unix.PollFd{{Fd: int32(p.Out), Events: unix.POLLOUT}}, -1)
			again.Wait()
		case err == nil:
			return unix.EIO
		default:
			return err
		}
	}
	return nil
}
