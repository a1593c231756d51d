package analysis

import (
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Pause is the time between two lines of captured output.
type Pause struct {
	Source   int
	At       int64 // when the line before it was printed
	Duration int64
	Line     []byte // the line before it; nil at the start
	Start    bool   // from the start of the command to its first line
	End      bool   // from the last line to the end

	Meanwhile *Span    // ran during most of the pause, or nil
	Command   *Command // the same
}

// maxLine bounds the text of a line.
const maxLine = 160

type pauses struct {
	longest top[Pause]
	lines   uint64
}

// output is what has been printed of the output of a source.
type output struct {
	started bool
	printed bool // a line
	at      int64
	line    []byte

	// What ended since the last line and ran longest since then:
	span       *Span
	spanFor    int64
	command    Command
	args       []byte
	commandFor int64
	hasCommand bool
}

func (o *output) start(at int64) {
	if !o.started {
		o.started, o.at = true, at
	}
}

// offerSpan notes that a span has ended.
func (o *output) offerSpan(r *Span, from, to int64) {
	if !o.started {
		return
	}
	if d := since(to, max(from, o.at)); longer(d, o.spanFor) {
		o.span, o.spanFor = r, d
	}
}

// longer reports whether a duration is clearly longer than another. What runs inside of another
// ends first, and is hardly shorter: it is the better answer.
func longer(d, than int64) bool { return d > than && d-than > than/8 }

// offerCommand notes that a process has ended.
func (o *output) offerCommand(q *process, at int64) {
	if !o.started || q.program == nil || q == q.src.root {
		return
	}
	if d := since(at, max(q.start, o.at)); longer(d, o.commandFor) {
		o.takeCommand(q, d)
	}
}

func (o *output) takeCommand(q *process, d int64) {
	o.hasCommand, o.commandFor = true, d
	o.command = Command{PID: int(uint32(q.key)), Source: int(q.src.index), Start: q.start, Forked: !q.executed}
	o.args = append(o.args[:0], q.args...)
}

// beginning returns what is kept of a line: what a person saw of it, without colours.
func beginning(line []byte) []byte {
	line = escape.Unstyled(line[:escape.Cut(line, 16*maxLine)])
	return line[:escape.Cut(line, maxLine)]
}

func (p *pauses) line(src *Source, rec *posixtrace.Record) {
	d, err := posixtrace.DecodeOutput(rec.Data)
	if err != nil {
		return
	}
	if d.Return && escape.Blank(d.Line) {
		return
	}
	p.lines++
	line := beginning(d.Line)
	src.print(rec, line, d.Return)
	o := &src.output
	if o.started {
		p.pause(src, rec.UnixNano, false)
	}
	o.started, o.printed, o.at = true, true, max(rec.UnixNano, o.at)
	o.line = append(o.line[:0], line...)
	o.span, o.spanFor, o.hasCommand, o.commandFor = nil, 0, false, 0
}

// finish ends the output of a source with the command.
func (o *output) finish(a *Analysis, at int64) {
	if !o.printed {
		return
	}
	for _, s := range a.sources {
		if &s.output == o {
			a.pauses.pause(s, at, true)
		}
	}
	*o = output{line: o.line[:0], args: o.args[:0]}
}

// pause adds the time since the last line.
func (p *pauses) pause(src *Source, at int64, end bool) {
	o := &src.output
	d := since(at, o.at)
	if d == 0 {
		return
	}
	slot := p.longest.add(d)
	if slot == nil {
		return
	}
	line := slot.Line
	*slot = Pause{Source: int(src.index), At: o.at, Duration: d, Start: !o.printed, End: end}
	if o.printed {
		slot.Line = append(line[:0], o.line...)
	}
	src.a.processes.offerRunning(src, at)
	if o.hasCommand && o.commandFor >= d/4 {
		c := new(Command)
		o.command.keep(c, o.args)
		slot.Command = c
	}
	if o.span != nil && o.spanFor >= d/4 {
		slot.Meanwhile = o.span
	}
}

// maxOffered bounds how many processes that still run a pause looks at.
const maxOffered = 256

// offerRunning notes the processes without children that still run.
func (p *processes) offerRunning(src *Source, at int64) {
	n := 0
	for q := p.newest; q != nil && n < maxOffered; q, n = q.older, n+1 {
		if q.src == src && q.inner == 0 {
			src.output.offerCommand(q, at)
		}
	}
}

// Pauses returns the longest pauses and how many there are in all.
func (a *Analysis) Pauses() (list []*Pause, lines uint64) {
	return a.pauses.longest.sorted(), a.pauses.lines
}
