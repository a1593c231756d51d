package capture

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Result is how a Pump ended.
type Result int

// The results of Pump.Run.
const (
	EOF    Result = iota // every write end of the pipe is closed
	Broken               // writing the output failed; Err has the reason
	Left                 // the drain time is over and a process still holds the pipe
)

// Pump hands the lines of a pipe to a sink and copies the pipe to the file that its output belongs to.
type Pump struct {
	In     int  // read end of the pipe; Run closes it unless the result is Left
	Shared bool // other processes share In: the pump polls it and leaves it blocking
	Out    int  // -1: discard the output
	Done   int  // becomes readable when the command has ended; -1: never
	// Drain is how long the pump continues to read once Done is readable.
	Drain time.Duration
	// Lines receives what was read; nil to record nothing.
	Lines *Splitter
	// Persist: when the output cannot be written for another reason than that its reader has closed
	// it, go on to record, and leave the reason in Err.
	Persist bool

	Err   error // why writing failed, nil if the reader of the output closed it
	InErr error // why a read failed, which counts as the end of the input

	busy    atomic.Bool // some input may not have been written yet
	watched bool        // wait polls Out
	out     finality    // of Out
	ended   bool        // In reported its end, without input
}

// Busy reports whether the pump may hold input that it has not written yet. While the
// pipe is empty and the pump is not busy, all output has been passed on.
func (p *Pump) Busy() bool { return p.busy.Load() }

// Run copies the pipe to its end, to a write error or to the end of the drain time.
func (p *Pump) Run() Result {
	if !p.Shared {
		unix.SetNonblock(p.In, true)
	}
	p.out, p.watched = finalityOf(p.Out), p.Out >= 0
	r := p.copy()
	if p.Lines != nil {
		p.Lines.finish()
	}
	if r != Left {
		// After a failed write, the command gets SIGPIPE or EPIPE at its next one.
		unix.Close(p.In)
	}
	return r
}

func (p *Pump) copy() Result {
	defer p.busy.Store(false)
	var buf, room []byte // room is the part of buf to read a batch into
	if p.Lines == nil {
		room = make([]byte, batchSize)
	} else {
		buf = p.Lines.buffer()
		room = p.Lines.room(buf)
	}
	var deadline time.Time // of the drain; zero while the command runs
	ready := false
	var again Backoff
	for turn := 1; ; turn++ {
		if !ready {
			switch p.wait(&deadline) {
			case gone:
				// The reader of our output closed it, perhaps before the command
				// wrote anything: the command's next write must fail.
				return Broken
			case late:
				return Left
			}
		}
		p.busy.Store(true)
		n, err := unix.Read(p.In, room)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN && !p.ended:
			p.busy.Store(false)
			ready = false
			again.Wait()
			continue
		case err != nil || n == 0:
			p.InErr = err
			return EOF
		}
		again.Reset()
		if p.Lines != nil {
			p.Lines.split(buf, n)
		}
		werr := p.write(room[:n])
		p.busy.Store(false)
		switch {
		case werr == nil:
		case werr != unix.EPIPE && p.Persist:
			p.discard(werr)
		case werr != unix.EPIPE:
			p.Err = werr
			return Broken
		default:
			return Broken
		}
		// After a short read the pipe is empty, and poll is cheaper than a read that
		// fails. A pipe that never runs empty must not hide the end of the command.
		ready = n == len(room) && !p.Shared && deadline.IsZero() && turn%16 != 0
	}
}

type readiness int

const (
	readable readiness = iota
	gone               // the output has no reader
	late               // the drain time is over
)

// wait waits for input, for the reader of the output to close it, or for the deadline.
// It sets the deadline when the command has ended.
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
				// Returning loses nothing: the relay finds the rest in the pipe. A
				// pipe that is empty and closed needs no relay.
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
			return readable // the read reports what is wrong
		}
		if r := fds[0].Revents; r != 0 {
			p.ended = r&unix.POLLIN == 0
			return readable
		}
		switch r := fds[1].Revents; {
		case p.out.final(r) && p.out.all != 0 && p.Persist:
			p.discard(unix.EIO) // as the next write would fail
		case p.out.final(r):
			return gone
		case r != 0:
			// poll reports this in every call. The next write reports what it means.
			p.watched = false
		}
	}
}

// isDone reports, without poll, whether the command has ended.
func (p *Pump) isDone() bool {
	if p.Done < 0 {
		return false
	}
	unix.SetNonblock(p.Done, true)
	n, err := unix.Read(p.Done, make([]byte, 1))
	return n >= 0 && err == nil
}

// discard discards the output from now on.
func (p *Pump) discard(why error) {
	p.Err, p.Out, p.watched = why, -1, false
}

// write writes all of b. It waits if another process made the output non-blocking.
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
