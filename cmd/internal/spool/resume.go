package spool

import (
	"bytes"
	"io"
	"os"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// recover finds out how far a taker came that was killed while it recorded a
// batch, and notes it.
func (c *Consumer) recover() error {
	if c.st.tryEnd == 0 {
		return nil
	}
	gen := c.st.tryGen
	done := c.st.doneOf(gen)
	if done != nil && c.st.tryEnd > *done && c.st.tryEnd-*done <= batchSize {
		name := c.d.name
		if gen != c.st.gen {
			name = oldName(gen)
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
		end, err := c.recorded(batchAddress(gen, *done))
		if err != nil {
			return err
		}
		*done += int64(end)
		c.took = true
	}
	c.st.tryGen, c.st.tryEnd, c.st.since = 0, 0, 0
	return c.save()
}

// slack is how much earlier than its line an event may seem to be: the clocks of a
// stream and of the system are read one after the other.
const slack = time.Second

// recorded returns where, in the batch that t.lines holds, the last line ends of which
// there is an event. The events are in the order of the lines, but lines that the stream
// did not want have none.
func (c *Consumer) recorded(address uint64) (end int, err error) {
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
			if c.lines[i].is(ev, r.EventName(ev.ID)) {
				next, end = i+1, c.lines[i].end
				break
			}
		}
	}
}

// is reports whether ev is the event of the line. The stream may have cut its data.
func (l *line) is(ev *posixtrace.Record, name string) bool {
	return l.name != nil && l.pid == ev.PID && (ev.ID == posixtrace.EventUnnamed || string(l.name) == name) &&
		(bytes.Equal(l.data, ev.Data) || ev.Truncation != posixtrace.TruncationNone && bytes.HasPrefix(l.data, ev.Data))
}
