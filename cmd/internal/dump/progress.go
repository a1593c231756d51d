package dump

import (
	"math"
	"os"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// progress shows how far long work is, in one line on a terminal that it erases at the end.
type progress struct {
	env      *cli.Env
	inputs   []*input
	from     int64 // the times of the first and the last event
	to       int64
	searched bool // search has run

	events uint64
	next   time.Time
	width  int // of the line on the terminal; 0 for none
}

const (
	progressAfter = time.Second // shorter work shows no progress
	progressEvery = 200 * time.Millisecond
	// progressStep is the number of events between two readings of the clock.
	progressStep = 1 << 12
)

// newProgress returns nil if standard error is not a terminal, or if progress would disturb
// the output.
func newProgress(e *cli.Env, inputs []*input, listing bool) *progress {
	if !cli.IsTerminal(e.Stderr) || listing && !writesFile(e) {
		return nil
	}
	p := &progress{env: e, inputs: inputs, from: math.MinInt64, to: math.MaxInt64, next: time.Now().Add(progressAfter)}
	e.ClearLine = p.clear
	return p
}

// writesFile reports whether standard output is neither a terminal nor a pipe, which may
// lead to one.
func writesFile(e *cli.Env) bool {
	f, ok := e.Stdout.Dest().(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 && !cli.IsTerminal(f)
}

// step counts one event.
func (p *progress) step(rec *posixtrace.Record) {
	if p != nil {
		p.steps(1, rec.UnixNano)
	}
}

// steps counts n events, the latest of them at that time.
func (p *progress) steps(n uint64, latest int64) {
	if p == nil {
		return
	}
	before := p.events / progressStep
	if p.events += n; p.events/progressStep == before {
		return
	}
	now := time.Now()
	if p.from == math.MinInt64 {
		p.from = latest
	}
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(progressEvery)
	p.search()
	line := p.env.Prog + ": " + cli.Plural(p.events, "event", "events")
	if p.to > p.from && p.to != math.MaxInt64 {
		part := float64(latest-p.from) / float64(p.to-p.from)
		line += ", " + output.Percent(part)
	}
	p.show(line)
}

// search finds the time of the last event once, with readers of its own.
func (p *progress) search() {
	if p.searched {
		return
	}
	p.searched = true
	last := int64(math.MinInt64)
	for _, in := range p.inputs {
		if in.file == nil {
			return
		}
		r, err := in.open()
		if err != nil {
			return
		}
		probe := &input{reader: r, open: in.open, file: in.file}
		t, err := probe.lastTime()
		r.Close()
		if err != nil {
			return
		}
		last = max(last, t)
	}
	p.to = min(p.to, last)
}

func (p *progress) show(line string) {
	space := strings.Repeat(" ", max(0, p.width-len(line)))
	p.env.Stderr.Write([]byte("\r" + line + space))
	p.width = len(line)
}

// clear erases the line.
func (p *progress) clear() {
	if p == nil || p.width == 0 {
		return
	}
	p.env.Stderr.Write([]byte("\r" + strings.Repeat(" ", p.width) + "\r"))
	p.width = 0
}
