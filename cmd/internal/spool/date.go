package spool

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A shell without EPOCHREALTIME reads the time since the system was booted from
// /proc/uptime, which has it in hundredths of a second, cut off. So a line with such
// a time was written up to 10 ms later than it says. What is certain is the order of
// the lines in the file, and that a line was written after what was known to have
// happened when the file was shorter: a taker notes how far the file was and when
// (state.floor, Watcher.Mark), and a command that records an event for a script
// itself appends a mark to the file (Mark).

// date gives each line the time, of the stream's clock, that its event will have.
// now is the time by that clock, set how far the system's clock is behind it, and the
// first line begins at the offset start of the file.
func (c *Consumer) date(now, set, start int64) {
	boot := now - bootTime()
	floor, begin := c.st.floor, start
	for i := range c.lines {
		l := &c.lines[i]
		switch {
		case l.nanos == 0:
			l.nanos = now
		case l.coarse:
			floor = max(floor, c.marks.at(c.file, start))
			l.nanos = max(boot+l.nanos, floor)
		default:
			l.nanos += set
		}
		// What was before the stream or will be is not to be believed.
		l.nanos = min(max(l.nanos, c.created), now)
		floor = max(floor, l.nanos)
		start = begin + int64(l.end)
	}
}

// mark notes that a file was of this size at a time of the stream's clock.
type mark struct {
	file uint64 // its inode
	size int64
	time int64
}

// marks are those of one process. It forgets the earliest when there are too many.
type marks struct {
	mu   sync.Mutex
	list []mark
}

const maxMarks = 256

func (m *marks) add(k mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.list)
	if n > 0 && m.list[n-1].file == k.file && m.list[n-1].size == k.size {
		m.list[n-1] = k
		return
	}
	if n == maxMarks {
		m.list = slices.Delete(m.list, 0, 1)
	}
	m.list = append(m.list, k)
}

// at returns the latest time at which a file was not longer than offset, 0 if it is not
// known.
func (m *marks) at(file uint64, offset int64) (latest int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.list {
		if k.file == file && k.size <= offset {
			latest = max(latest, k.time)
		}
	}
	return latest
}

// Mark notes how far the shells are: lines that they append from now on are dated no
// earlier than at, a time of the stream's clock before now. It is called when an event is
// recorded that they may have waited for, while the watcher takes lines. A nil
// Watcher does nothing.
func (w *Watcher) Mark(at int64) {
	if w == nil {
		return
	}
	w.marking.Lock()
	defer w.marking.Unlock()
	if w.d == nil {
		select {
		case <-w.stop:
			return
		default:
		}
		var err error
		if w.d, err = open(w.t.path); err != nil {
			return
		}
	}
	if st, err := w.d.stat(w.d.name); err == nil {
		w.t.marks.add(mark{st.Ino, st.Size, at})
	}
}

// Mark appends to the spool at path (PTRACE_SPOOL) that an event was recorded for the
// script by other means; lines that follow are dated no earlier. What is no spool is
// left alone.
func Mark(path string) {
	if _, ok := StreamOf(path); !ok {
		return
	}
	d, err := openSpool(filepath.Dir(path))
	if err != nil {
		return
	}
	defer d.close()
	f, _, err := d.file(d.name, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return
	}
	defer f.Close()
	now := time.Now()
	fmt.Fprintf(f, "\t%d\t%d.%09d\t0\n", os.Getpid(), now.Unix(), now.Nanosecond())
}

// Pending reports whether the spool at path has lines that no other process takes over
// as they come.
func Pending(path string) bool {
	if _, ok := StreamOf(path); !ok {
		return false
	}
	d, err := openSpool(filepath.Dir(path))
	if err != nil {
		return false
	}
	defer d.close()
	t := Consumer{d: d}
	return d.name != spoolName && !t.idle()
}

// bootTime returns the time since the system was booted, as /proc/uptime has it.
func bootTime() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return time.Now().UnixNano()
	}
	return ts.Nano()
}
