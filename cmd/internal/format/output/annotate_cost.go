package output

import (
	"slices"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// With CostTime, Annotate shows with each line how long it took until the next line of the same log
// or stream. It keeps a line until that is known, and the lines after it, so that they stay in
// order.

// costs has the lines that are kept, the oldest first.
type costs struct {
	lines []costLine
	first int // of lines that is kept
	bytes int
	out   bool // the latest line is written already; its other parts follow it
	spare [][]byte
	ended map[*Source]commandEnd
}

// commandEnd is the end of the command that wrote the lines of a source.
type commandEnd struct {
	pid int
	at  int64
}

// costLine is a line whose cost, or the cost of an earlier line, is unknown.
type costLine struct {
	src   *Source
	pid   int
	id    posixtrace.EventID
	at    int64
	cost  int64
	known bool
	done  bool // no line follows in its log
	text  []byte
}

// What costs keeps is bounded: when it is full, the oldest line goes with a lower bound.
const (
	maxCostLines = 1 << 14
	maxCostBytes = 4 << 20
)

// appendCosts is Append.
func (a *Annotate) appendCosts(b []byte, src *Source, rec *posixtrace.Record) []byte {
	c := &a.costs
	if rec.ID == posixtrace.EventProcExit && !a.Exits {
		c.exited(src, rec)
		return b
	}
	continues := a.continues(rec)
	if !continues && overwritten(rec) {
		return b
	}
	if continues {
		if c.out {
			return a.appendText(b, src, rec)
		}
	} else {
		if a.open && c.out {
			b = append(a.reset(b), '\n')
		} else if l := c.latest(); l != nil && a.open {
			n := len(l.text)
			l.text = append(a.reset(l.text), '\n')
			c.bytes += len(l.text) - n
		}
		c.out = false
		c.follow(src, rec.UnixNano)
		var text []byte
		if n := len(c.spare); n > 0 {
			text, c.spare = c.spare[n-1], c.spare[:n-1]
		}
		c.lines = append(c.lines, costLine{src: src, pid: rec.PID, id: rec.ID, at: rec.UnixNano, text: text})
	}
	l := c.latest()
	before := len(l.text)
	l.text = a.appendText(l.text, src, rec)
	c.bytes += len(l.text) - before
	if rec.ID == posixtrace.EventProcExit {
		c.exited(src, rec)
	}
	return a.release(b, rec.UnixNano)
}

// Follow notes that a line follows which is not shown.
func (a *Annotate) Follow(src *Source, at int64) { a.costs.follow(src, at) }

// Pending reports whether the cost of a line is still unknown.
func (a *Annotate) Pending() bool {
	return slices.ContainsFunc(a.costs.kept(), func(l costLine) bool { return !l.known })
}

func (c *costs) kept() []costLine { return c.lines[c.first:] }

func (c *costs) latest() *costLine {
	if len(c.kept()) == 0 {
		return nil
	}
	return &c.lines[len(c.lines)-1]
}

// follow sets the cost of the line before one of the same source.
func (c *costs) follow(src *Source, at int64) {
	for i := len(c.lines) - 1; i >= c.first; i-- {
		if l := &c.lines[i]; l.src == src {
			if !l.known {
				l.known, l.cost = true, at-l.at
			}
			return
		}
	}
}

// exited notes the end of a command. It ends the last line of the command, whose process is that of
// its lines. Lines that were read after the end may follow.
func (c *costs) exited(src *Source, rec *posixtrace.Record) {
	if n := len(c.lines); n > 0 && c.lines[n-1].src == src && c.lines[n-1].pid != rec.PID {
		return
	}
	if c.ended == nil {
		c.ended = map[*Source]commandEnd{}
	}
	c.ended[src] = commandEnd{rec.PID, rec.UnixNano}
}

// release appends the lines that need not be kept.
func (a *Annotate) release(b []byte, now int64) []byte {
	c := &a.costs
	for c.first < len(c.lines) {
		l := &c.lines[c.first]
		if full := len(c.kept()) > maxCostLines || c.bytes > maxCostBytes; !l.known && !full {
			break
		}
		b = a.appendCost(b, l, now)
		c.first++
		c.out = c.first == len(c.lines)
	}
	if c.first > len(c.lines)/2 {
		n := copy(c.lines, c.kept())
		clear(c.lines[n:])
		c.lines, c.first = c.lines[:n], 0
	}
	return b
}

// appendCost appends a line with its cost: of a line that is not followed by one, the time until
// now as a lower bound.
func (a *Annotate) appendCost(b []byte, l *costLine, now int64) []byte {
	on, off := a.around(l.id)
	b = append(b, on...)
	switch {
	case l.known:
		b = appendMicroseconds(b, "", l.cost)
	case l.done:
		b = appendColumn(b, []byte{'-'})
	default:
		b = appendMicroseconds(b, ">", max(now-l.at, 0))
	}
	b = append(append(b, off...), l.text...)
	a.costs.bytes -= len(l.text)
	if cap(l.text) <= 1<<12 && len(a.costs.spare) < 64 {
		a.costs.spare = append(a.costs.spare, l.text[:0])
	}
	return b
}

// endCosts is End.
func (a *Annotate) endCosts(b []byte) []byte {
	c := &a.costs
	if l := c.latest(); l != nil && !c.out {
		l.text = a.endLine(l.text)
	} else {
		b = a.endLine(b)
	}
	for _, l := range c.kept() {
		if end, ok := c.ended[l.src]; ok && end.pid == l.pid && !l.known {
			l.known, l.cost = true, max(end.at-l.at, 0) // 0: read after the end
		}
		l.done = true
		b = a.appendCost(b, &l, 0)
	}
	c.lines, c.first = nil, 0
	return b
}
