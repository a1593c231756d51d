package capture

import (
	"time"

	"golang.org/x/sys/unix"
)

// Every poll(2) loop of the commands uses the helpers in this file. A loop must end or
// wait, whatever kind of file a descriptor has and whichever end is closed: poll(2) reports
// POLLHUP and POLLERR of a closed end at once in every call, so a careless loop spins.

// pollPause is the interval at which loops retry a descriptor that poll(2) cannot wait for.
const pollPause = 10 * time.Millisecond

// Poll wraps poll(2) for a loop. After a signal it returns nil with no descriptor ready. If
// the call fails, for example under a seccomp filter, Poll returns the error after a pause, so
// that a loop that then tries its non-blocking descriptors uses little processor time.
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

// Backoff delays a loop longer each time that poll(2) reports a descriptor as ready which
// is not.
type Backoff struct{ turns int }

// Reset ends the delays. Call it when the descriptor was ready.
func (b *Backoff) Reset() { b.turns = 0 }

// Wait delays the loop, except in the first two turns: another process may have read the
// byte that was ready.
func (b *Backoff) Wait() {
	if b.turns++; b.turns > 2 {
		time.Sleep(min(time.Millisecond<<min(b.turns-3, 10), pollPause))
	}
}

// finality has the poll(2) events that mean that no write to an output can ever succeed.
type finality struct {
	any int16 // each of these events means it
	all int16 // these events together mean it
}

// final reports whether revents means that no write can succeed.
func (f finality) final(revents int16) bool {
	return revents&f.any != 0 || f.all != 0 && revents&f.all == f.all
}

const pipeFS = 0x50495045 // PIPEFS_MAGIC

// finalityOf returns the finality of a descriptor, none if a write may succeed later: a
// FIFO can get a new reader, another process can open the terminal of a pseudo-terminal
// master, and the error of a datagram socket concerns one datagram only.
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
