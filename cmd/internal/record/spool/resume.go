package spool

import (
	"bytes"
	"io"
	"os"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// resume completes the batch of a consumer that was killed while it recorded the batch: it
// saves that the lines up to the last one with an event are drained. The rest is drained
// again like new lines.
func (c *Consumer) resume() error {
	if c.st.tryEnd == 0 {
		return nil
	}
	gen := c.st.tryGen
	done := c.st.offsetOf(gen)
	if done != nil && c.st.tryEnd > *done && c.st.tryEnd-*done <= batchSize {
		name := c.d.name
		if gen != c.st.gen {
			name = rotatedName(gen)
		}
		f, _, err := c.d.file(name, os.O_RDONLY)
		if err != nil {
			return err
		}
		b := make([]byte, c.st.tryEnd-*done)
		n, _ := f.ReadAt(b, *done)
		f.Close()
		n = bytes.LastIndexByte(b[:n], '\n') + 1
		c.split(b[:n])
		end, err := c.lastRecorded(batchAddress(gen, *done))
		if err != nil {
			return err
		}
		*done += int64(end)
		c.drained = true
	}
	c.st.tryGen, c.st.tryEnd, c.st.since = 0, 0, 0
	return c.save()
}

// slack is how much earlier than its line an event may appear to be: the clocks of the
// stream and of the system are read one after the other.
const slack = time.Second

// lastRecorded returns the offset, in the batch that c.lines holds, of the end of the last
// line that has an event with this address. The events have the order of the lines; lines
// that the stream's filter rejected have none.
func (c *Consumer) lastRecorded(address uint64) (end int, err error) {
	r, err := c.s.Reader()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	r.Select(posixtrace.Selection{Since: time.Unix(0, c.st.since).Add(-slack)})
	next := 0
	for {
		ev, err := r.Next()
		if err == io.EOF {
			return end, nil
		}
		if err != nil {
			return 0, err
		}
		if ev.Address&^posixtrace.CoarseAddress != address&^posixtrace.CoarseAddress {
			continue
		}
		for i := next; i < len(c.lines); i++ {
			if c.lines[i].matches(ev, r.EventName(ev.ID)) {
				next, end = i+1, c.lines[i].end
				break
			}
		}
	}
}

// matches reports whether ev is the event of the line. The stream may have truncated its data.
func (l *line) matches(ev *posixtrace.Record, name string) bool {
	return l.name != nil && l.pid == ev.PID && (ev.ID == posixtrace.EventUnnamed || string(l.name) == name) &&
		(bytes.Equal(l.data, ev.Data) || ev.Truncation != posixtrace.TruncationNone && bytes.HasPrefix(l.data, ev.Data))
}
