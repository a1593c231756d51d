package spool

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A shell without EPOCHREALTIME reads the time since boot from /proc/uptime, which has it
// in hundredths of a second, truncated. A line with such a time was written up to 10 ms later
// than it says. Certain are the order of the lines in the file, and that a line was written
// after any moment at which the file was known to be shorter. So consumers note the size of
// the file and the time (state.floor, Watcher.Mark), and a command that records an event for
// a script directly appends a mark to the file (Mark).

// clockSet is the least difference that counts as a setting of the system's clock. Less
// can come from the rates of the two clocks, or from the time between reading them.
const clockSet = 10 * time.Millisecond

// wallClock reads the system's clock; tests replace it.
var wallClock = time.Now

// moment is the time of one moment by the stream's clock, and how far two others are behind it.
type moment struct {
	now  int64
	set  int64 // the system's clock; 0 unless it was set since the stream was created, as the stream's was not
	boot int64 // the time since boot
}

// moment reads the clocks as close together as possible: the process may be stopped between two of
// them, and the lines would be dated wrong by as much.
func (c *Consumer) moment() (m moment) {
	best := int64(math.MaxInt64)
	for range 8 {
		before := c.rec.Now()
		wall, boot := wallClock().UnixNano(), bootTime()
		if d := c.rec.Now() - before; d < best {
			best = d
			now := before + d/2
			m = moment{now: now, set: now - wall, boot: now - boot}
		}
	}
	if max(m.set, -m.set) < int64(clockSet)+best {
		m.set = 0
	}
	return m
}

// dateLines sets the time of each line in c.lines to that of its event, by the stream's
// clock. start is the file offset of the first line.
func (c *Consumer) dateLines(t moment, start int64) {
	floor, begin := c.st.floor, start
	for i := range c.lines {
		l := &c.lines[i]
		switch {
		case l.nanos == 0:
			if l.nanos = t.now; c.written != 0 {
				l.nanos = max(c.written+t.set, floor)
			}
		case l.coarse:
			floor = max(floor, c.marks.at(c.file, start))
			l.nanos = max(t.boot+l.nanos, floor)
		default:
			l.nanos += t.set
		}
		// The times are untrusted: no line is older than the stream or newer than now.
		l.nanos = min(max(l.nanos, c.created), t.now)
		floor = max(floor, l.nanos)
		start = begin + int64(l.end)
	}
}

// mark says that a file had this size at a time of the stream's clock.
type mark struct {
	file uint64 // its inode
	size int64
	time int64
}

// marks are the latest marks of one process, maxMarks at most.
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

// at returns the latest time at which a file is known to have been no longer than offset, 0
// if there is none.
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

// Mark notes the size of the spool: lines that shells append from now on are dated no
// earlier than at, a time of the stream's clock in the past. Call it when an event is recorded
// that the shells may have waited for, while the watcher runs. It does nothing for a nil
// Watcher.
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
		if w.d, err = open(w.c.path); err != nil {
			return
		}
	}
	if st, err := w.d.stat(w.d.name); err == nil {
		w.c.marks.add(mark{st.Ino, st.Size, at})
	}
}

// Mark appends a mark to the spool at path (PTRACE_SPOOL): an event was recorded for the
// script by other means, and the lines that follow are dated no earlier. If path is not
// that of a spool, Mark does nothing.
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

// Pending reports whether the spool at path has lines to drain and no watcher that
// drains them as they come.
func Pending(path string) bool {
	if _, ok := StreamOf(path); !ok || filepath.Base(path) == spoolName {
		return false // a spool never changes its name
	}
	d, err := openSpool(filepath.Dir(path))
	if err != nil {
		return false
	}
	defer d.close()
	c := Consumer{d: d}
	return d.name != spoolName && !c.upToDate()
}

// bootTime returns the time since boot, as in /proc/uptime.
func bootTime() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return time.Now().UnixNano()
	}
	return ts.Nano()
}
