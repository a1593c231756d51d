package spool

import (
	"bytes"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/record/tracecontext"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// batchAddress returns the address that identifies the events of a batch. No program's
// code has such an address, and it differs from posixtrace.CoarseAddress, which marks an
// event whose time is coarse.
func batchAddress(gen, offset int64) uint64 {
	return posixtrace.SpoolAddress | uint64(gen)&(1<<22-1)<<40 | uint64(offset)&(1<<40-1)
}

// split parses a batch into c.lines. A line that is not an event has no name.
func (c *Consumer) split(b []byte) {
	c.lines = c.lines[:0]
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		l, ok := parse(b[:i])
		if !ok || i >= MaxLine {
			l = line{lost: max(l.lost, 1)}
		}
		l.end = i + 1
		if n := len(c.lines); n > 0 {
			l.end += c.lines[n-1].end
		}
		c.lines = append(c.lines, l)
		b = b[i+1:]
	}
}

// batch records the lines in b, which are complete. It saves the batch before it records
// the first event, so that the next consumer can resume the batch.
func (c *Consumer) batch(gen int64, done *int64, b []byte) error {
	n := len(b)
	c.split(b)
	t := c.moment()
	c.st.tryGen, c.st.tryEnd, c.st.since = gen, *done+int64(n), t.now
	c.dateLines(t, *done)
	for i := range c.lines {
		c.st.since = min(c.st.since, c.lines[i].nanos)
	}
	if err := c.save(); err != nil {
		return err
	}
	address := batchAddress(gen, *done)
	for i := range c.lines {
		c.record(&c.lines[i], address)
	}
	c.st.tryGen, c.st.tryEnd, c.st.since = 0, 0, 0
	c.st.floor = max(c.st.floor, c.lines[len(c.lines)-1].nanos)
	if err := c.advance(done, n); err != nil {
		return err
	}
	if c.unflushed += int64(n); c.foreignOwner && c.unflushed > c.attr.StreamSize/4 {
		// The owner flushes on its own, but the stream could be full by then.
		c.unflushed = 0
		c.s.Flush()
	}
	return nil
}

// knows reports whether the stream knows an event type of this name.
func (c *Consumer) knows(name string) bool {
	types, err := c.s.EventTypes()
	return err == nil && slices.ContainsFunc(types, func(e posixtrace.EventType) bool { return e.Name == name })
}

// record records one line as an event, or counts it as lost.
func (c *Consumer) record(l *line, address uint64) {
	if l.name == nil {
		c.countLost(l.lost)
		return
	}
	if c.rewrite != nil {
		l.name, l.data, l.trace = c.rewrite(l.name, false), c.rewrite(l.data, l.cut), rewriteState(l.trace, c.rewrite)
	}
	if string(l.name) == tracecontext.EventMalformed && c.knows(tracecontext.EventMalformed) {
		return // reported already
	}
	id, ok := c.ids[string(l.name)]
	if !ok {
		var err error
		id, err = c.s.EventID(string(l.name))
		if err != nil {
			id = 0
		}
		if c.ids == nil || len(c.ids) >= posixtrace.UserEventMax {
			c.ids = map[string]posixtrace.EventID{}
		}
		c.ids[string(l.name)] = id
	}
	if id == 0 || id.System() {
		c.countLost(1)
		return
	}
	if l.trace != nil && c.rec.Wants(id) {
		// It describes the next event of the thread. After a kill the line may be recorded again, and the
		// context twice. It has no address, because resume looks for an event of each line.
		c.rec.Record(posixtrace.EventInfo{ID: posixtrace.EventProcContext, PID: l.pid, TID: l.pid, UnixNano: l.nanos}, l.trace)
	}
	if l.coarse {
		address |= posixtrace.CoarseAddress
	}
	c.rec.Record(posixtrace.EventInfo{ID: id, PID: l.pid, TID: l.pid, UnixNano: l.nanos, Address: address, Span: l.span, Parent: l.parent}, l.data)
}
