package capture

import (
	"time"

	"golang.org/x/sys/unix"
)

// Every loop of the commands around poll(2) goes by what stands here. A loop must end, or
// wait, whatever a descriptor is and whichever of its ends is gone: what poll reports of such
// a one it reports at once, each time, for ever.

// pollPause is how often a descriptor is tried that poll(2) cannot wait for.
const pollPause = 10 * time.Millisecond

// Poll is poll(2) for a loop. A signal ends it as if nothing were ready. Should the call
// itself fail, as under a filter of system calls, Poll returns the error after a pause: a loop
// that tries its descriptors instead, which are non-blocking, takes no processor to speak of.
func Poll(fds []unix.PollFd, timeout int) error {
	_, err := unix.Poll(fds, timeout)
	if err == nil {
		return nil
	}
	for i := range fds {
		fds[i].Revents = 0
	}
	if err == unix.EINTR {
		return nil
	}
	time.Sleep(pollPause)
	return err
}

// Backoff waits longer each time. A loop calls it when a descriptor that poll(2) called
// ready was not.
type Backoff struct{ turns int }

// Reset is called when the descriptor was ready.
func (b *Backoff) Reset() { b.turns = 0 }

// Wait lets the first two turns go on at once: two processes may have gone for the same byte.
func (b *Backoff) Wait() {
	if b.turns++; b.turns > 2 {
		time.Sleep(min(time.Millisecond<<min(b.turns-3, 10), pollPause))
	}
}

// finality is what poll(2) reports of an output that no write can reach any more.
type finality struct {
	any int16 // one of these is enough
	all int16 // all of these together are
}

// final reports whether what poll reports means that.
func (f finality) final(revents int16) bool {
	return revents&f.any != 0 || f.all != 0 && revents&f.all == f.all
}

const pipeFS = 0x50495045 // PIPEFS_MAGIC

// finalityOf finds it out for a descriptor. Where a write may succeed again later it is
// never final: a FIFO gets new readers and the master of a pseudo-terminal another process
// at its terminal, and an error of a datagram's is over with the next one.
func finalityOf(fd int) finality {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return finality{}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
		var fs unix.Statfs_t
		if unix.Fstatfs(fd, &fs) == nil && fs.Type == pipeFS {
			return finality{any: unix.POLLERR | unix.POLLHUP}
		}
	case unix.S_IFSOCK:
		// A socket whose peer has closed reports POLLHUP without POLLERR.
		kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
		if err == nil && kind != unix.SOCK_DGRAM && kind != unix.SOCK_RAW {
			return finality{any: unix.POLLERR | unix.POLLHUP}
		}
	case unix.S_IFCHR:
		return finality{all: unix.POLLERR | unix.POLLHUP} // a terminal that was hung up
	}
	return finality{}
}
