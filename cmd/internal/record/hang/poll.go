//go:build linux

package hang

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// mostPolled bounds the descriptors of one call that are looked at.
const mostPolled = 1024

// watched is the descriptors that one call waits for, any of which ends the wait.
type watched struct {
	list []struct {
		fd   int
		mode uint32
	}
	cut bool // there are more, or perhaps
}

func (w *watched) add(fd int, mode uint32) {
	if len(w.list) == mostPolled {
		w.cut = true
		return
	}
	w.list = append(w.list, struct {
		fd   int
		mode uint32
	}{fd, mode})
}

// modeOf returns what a call waits for, by the events of poll(2) and epoll(7), which have the same bits.
func modeOf(events uint32) (mode uint32) {
	const (
		readNormal, readBand, writeNormal, writeBand = 0x40, 0x80, 0x100, 0x200

		in  = unix.POLLIN | unix.POLLPRI | unix.POLLRDHUP | readNormal | readBand
		out = unix.POLLOUT | writeNormal | writeBand
	)
	if events&in != 0 {
		mode |= forReading
	}
	if events&out != 0 {
		mode |= forWriting
	}
	return mode
}

// epollSet returns the descriptors that an epoll descriptor watches, as they were when they were added.
func epollSet(d descriptor) (w watched) {
	const fired = 1 << 30 // EPOLLONESHOT alone: it is not watched until it is armed again
	b := d.fdinfo()
	w.cut = len(b) == 0 || len(b) == mostRead
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[0] != "tfd:" || f[2] != "events:" {
			continue
		}
		fd, err := strconv.Atoi(f[1])
		events, err2 := strconv.ParseUint(f[3], 16, 32)
		if err != nil || err2 != nil {
			w.cut = true
		} else if events != fired {
			w.add(fd, modeOf(uint32(events)))
		}
	}
	return w
}

// pollSet returns the descriptors in an array of struct pollfd.
func (t *thread) pollSet(at uint64, n uint64) (w watched) {
	const size = 8
	b := t.memory(at, int(min(n, mostPolled))*size)
	w.cut = n > mostPolled || len(b) < int(n)*size
	for ; len(b) >= size; b = b[size:] {
		if fd := int32(binary.NativeEndian.Uint32(b)); fd >= 0 {
			w.add(int(fd), modeOf(uint32(binary.NativeEndian.Uint16(b[4:]))))
		}
	}
	return w
}

// selectSet returns the descriptors in the three sets of a call of select(2).
func (t *thread) selectSet(n uint64, sets ...uint64) (w watched) {
	w.cut = n > mostPolled
	n = min(n, mostPolled)
	for i, at := range sets {
		if at == 0 {
			continue
		}
		mode := uint32(forReading)
		if i == 1 {
			mode = forWriting
		}
		size := int(n+63) / 64 * 8
		b := t.memory(at, size)
		w.cut = w.cut || len(b) < size
		for i, c := range b {
			for bit := range 8 {
				if fd := 8*i + bit; c>>bit&1 != 0 && fd < int(n) {
					w.add(fd, mode)
				}
			}
		}
	}
	return w
}

// several finds the other ends of several descriptors, any of which ends the wait.
func (t *thread) several(w watched) (e end) {
	have := map[*thread]bool{}
	texts := map[string]bool{}
	e.unseen = w.cut || len(w.list) == 0
	for _, d := range w.list {
		one := t.endOf(d.fd, d.mode)
		e.unseen = e.unseen || one.unseen
		if one.text != "" && !texts[one.text] {
			texts[one.text] = true
			e.of = append(e.of, one)
		}
		for _, o := range one.on {
			if !have[o] {
				have[o] = true
				e.on = append(e.on, o)
			}
		}
	}
	if e.count = len(w.list); len(e.of) > 0 {
		e.text, e.known = e.of[0].text, e.of[0].known
	}
	if len(e.of) > 1 {
		e.known = len(e.on) == 0
		// One that its own process can end is a wake-up call of its threads: another says more.
		own := func(o *thread) bool { return o.PID == t.PID }
		other := slices.IndexFunc(e.of, func(one end) bool { return !slices.ContainsFunc(one.on, own) })
		if other >= 0 && !slices.ContainsFunc(e.on, func(o *thread) bool { return !own(o) }) {
			e.of[0], e.of[other] = e.of[other], e.of[0]
			e.text, e.known = e.of[0].text, true
		}
	}
	// The other end of a descriptor of its own may be for a handler of signals.
	e.unseen = e.unseen || have[t]
	return e
}

// choose makes the text of an end that is any of several that of which the thread can end the wait, nil for
// any.
func (e *end) choose(o *thread) {
	if len(e.of) < 2 {
		return
	}
	i := slices.IndexFunc(e.of, func(one end) bool { return o != nil && slices.Contains(one.on, o) })
	e.text = "one of " + strconv.Itoa(e.count) + " descriptors: " + e.of[max(i, 0)].text
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
