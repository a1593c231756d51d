//go:build linux

package hang

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// mostPolled bounds the descriptors of one call that are looked at.
const mostPolled = 1024

// epollSet returns the descriptors that an epoll descriptor watches, as they were when they were added.
func epollSet(d descriptor) (fds []int) {
	b, err := procfs.Read(d.pid, "fdinfo/"+strconv.Itoa(d.fd))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "tfd:" && len(fds) < mostPolled {
			if n, err := strconv.Atoi(f[1]); err == nil {
				fds = append(fds, n)
			}
		}
	}
	return fds
}

// pollSet returns the descriptors in an array of struct pollfd.
func (t *thread) pollSet(at uint64, n uint64) (fds []int) {
	const size = 8
	for b := t.memory(at, int(min(n, mostPolled))*size); len(b) >= size; b = b[size:] {
		if fd := int32(binary.NativeEndian.Uint32(b)); fd >= 0 {
			fds = append(fds, int(fd))
		}
	}
	return fds
}

// selectSet returns the descriptors in an fd_set.
func (t *thread) selectSet(at uint64, n uint64) (fds []int) {
	n = min(n, mostPolled)
	for i, c := range t.memory(at, int(n+63)/64*8) {
		for bit := range 8 {
			if fd := 8*i + bit; c>>bit&1 != 0 && fd < int(n) {
				fds = append(fds, fd)
			}
		}
	}
	return fds
}

// several finds the other ends of several descriptors, any of which ends the wait.
func (t *thread) several(fds []int, mode uint32) (e end) {
	var texts []string
	for _, fd := range fds {
		one := t.endOf(fd, mode)
		if one.text != "" && !slices.Contains(texts, one.text) {
			texts = append(texts, one.text)
		}
		e.unseen = e.unseen || one.unseen
		e.known = one.known
		for _, o := range one.on {
			if !slices.Contains(e.on, o) {
				e.on = append(e.on, o)
			}
		}
	}
	if len(texts) > 1 {
		e.text = "one of " + strconv.Itoa(len(fds)) + " descriptors: " + texts[0]
		e.known = e.known && len(texts) == 1
	} else if len(texts) == 1 {
		e.text = texts[0]
	}
	if len(fds) == 0 {
		e.unseen = true
	}
	// The other end of a descriptor of its own may be for a handler of signals.
	e.unseen = e.unseen || slices.Contains(e.on, t)
	return e
}

// interval reads a struct timespec or timeval; negative if it cannot be read.
func (t *thread) interval(at uint64, unit time.Duration) time.Duration {
	b := t.memory(at, 16)
	if len(b) < 16 {
		return -1
	}
	s, part := int64(binary.NativeEndian.Uint64(b)), int64(binary.NativeEndian.Uint64(b[8:]))
	if s < 0 || s > 1<<33 || part < 0 || part >= int64(time.Second/unit) {
		return -1
	}
	return time.Duration(s)*time.Second + time.Duration(part)*unit
}

// clockNow returns the time of a clock.
func clockNow(clock int32) (time.Duration, bool) {
	var now unix.Timespec
	err := unix.ClockGettime(clock, &now)
	return time.Duration(now.Nano()), err == nil
}
