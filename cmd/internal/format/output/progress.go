// How far long work is, in one line on a terminal. The line is erased at the end.

package output

import (
	"math"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// Line shows how far the work is. A nil Line shows nothing.
type Progress struct {
	From, To int64 // the times of the first and the last event, as far as they are known

	env    *cli.Env
	last   func() (int64, bool)
	events uint64
	next   time.Time
	width  int // of the line on the terminal; 0 for none
}

const (
	after = time.Second // shorter work shows no progress
	every = 200 * time.Millisecond
	// step is the number of events between two readings of the clock.
	step = 1 << 12
)

// NewProgress returns a line of progress, or nil if standard error is not a terminal. last finds the time of
// the last event, if it can; the line calls it once, when it is shown first.
func NewProgress(e *cli.Env, last func() (int64, bool)) *Progress {
	if !cli.IsTerminal(e.Stderr) {
		return nil
	}
	p := &Progress{env: e, last: last, From: math.MinInt64, To: math.MaxInt64, next: time.Now().Add(after)}
	e.ClearLine = p.Clear
	return p
}

// Add counts n events, the latest of them at that time.
func (p *Progress) Add(n uint64, latest int64) {
	if p == nil {
		return
	}
	before := p.events / step
	if p.events += n; p.events/step == before {
		return
	}
	now := time.Now()
	if p.From == math.MinInt64 {
		p.From = latest
	}
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(every)
	p.search()
	line := p.env.Prog + ": " + cli.Plural(p.events, "event", "events")
	if p.To > p.From && p.To != math.MaxInt64 {
		part := float64(latest-p.From) / float64(p.To-p.From)
		line += ", " + Percent(part)
	}
	p.show(line)
}

// search finds the time of the last event once.
func (p *Progress) search() {
	if p.last == nil {
		return
	}
	if last, ok := p.last(); ok {
		p.To = min(p.To, last)
	}
	p.last = nil
}

func (p *Progress) show(line string) {
	space := strings.Repeat(" ", max(0, p.width-len(line)))
	p.env.Stderr.Write([]byte("\r" + line + space))
	p.width = len(line)
}

// Clear erases the line.
func (p *Progress) Clear() {
	if p == nil || p.width == 0 {
		return
	}
	p.env.Stderr.Write([]byte("\r" + strings.Repeat(" ", p.width) + "\r"))
	p.width = 0
}
