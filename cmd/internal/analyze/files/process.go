package files

import (
	"bytes"
	"path"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/sysevent"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// process is a process from its start to its end.
type process struct {
	parent     int32 // none if unknown
	by         int32 // the command that its parent ran then, none if unknown
	command    int32 // that it runs
	pid        int32
	start, end int64 // the end is that of the log as long as it runs
	ended      bool
	known      bool   // its start is
	step       string // of a script that it runs
	steps      int32  // open
}

// command is what a process runs until it executes another program. What a process does between its fork and
// the program that it executes belongs to that program: a shell redirects the output of a command there.
type command struct {
	process int32
	by      int32  // the command that started it, none if unknown
	args    string // data of proc.exec
	forked  bool   // executed nothing: args are those of its parent
	place   string // the step of a script, or the line of a recipe, that started it
	recipe  bool   // place is a recipe's
	label   string
}

type processes struct {
	latest   map[uint64]int32 // by source and pid
	all      list[process]
	commands list[command]
	labels   *analysis.Labels
	bytes    int
	executed bool // any process has executed a program
}

func (p *processes) init() {
	p.latest, p.labels = map[uint64]int32{}, analysis.NewLabels()
}

func keyOf(source uint32, pid int) uint64 { return uint64(source)<<32 | uint64(uint32(pid)) }

// add adds a process, none if there are too many.
func (p *processes) add(source uint32, pid int, at int64) int32 {
	if p.all.count >= maxCommands || p.commands.count >= maxCommands {
		return none
	}
	i := p.all.add(process{parent: none, by: none, pid: int32(pid), start: at})
	p.all.of(i).command = p.commands.add(command{process: i, by: none, forked: true})
	p.latest[keyOf(source, pid)] = i
	return i
}

// of returns the latest process with an id.
func (p *processes) of(source uint32, pid int, at int64) int32 {
	if i, ok := p.latest[keyOf(source, pid)]; ok {
		return i
	}
	return p.add(source, pid, at)
}

func (p *processes) fork(source uint32, rec *posixtrace.Record) {
	d, err := posixtrace.DecodeFork(rec.Data)
	if err != nil || d.Kind == posixtrace.ForkThread || d.Child == rec.PID {
		return
	}
	parent := p.of(source, rec.PID, rec.UnixNano)
	if parent == none {
		return
	}
	child, seen := p.latest[keyOf(source, d.Child)]
	if c := p.processAt(child, seen); c == nil || c.known || c.ended || child < parent {
		if child = p.add(source, d.Child, rec.UnixNano); child == none {
			return
		}
	} // else its first event came before that of its start
	q, above := p.all.of(child), p.all.of(parent)
	q.parent, q.by, q.known, q.start = parent, above.command, true, min(q.start, rec.UnixNano)
	c, by := p.commands.of(q.command), p.commands.of(above.command)
	if c.by = above.command; c.forked {
		c.args = by.args
	}
	if c.place == "" {
		c.place = above.step
	}
}

func (p *processes) processAt(i int32, ok bool) *process {
	if !ok {
		return nil
	}
	return p.all.of(i)
}

func (p *processes) exec(source uint32, rec *posixtrace.Record) {
	i, ok := p.latest[keyOf(source, rec.PID)]
	if !ok || p.all.of(i).ended {
		if i = p.add(source, rec.PID, rec.UnixNano); i == none {
			return
		}
	}
	q := p.all.of(i)
	c := p.commands.of(q.command)
	if !c.forked {
		if p.commands.count >= maxCommands {
			return
		}
		q.command = p.commands.add(command{process: i, by: q.command, place: q.step})
		c = p.commands.of(q.command)
		q.step, q.steps = "", 0
	}
	c.forked, c.args, p.executed = false, p.keep(sysevent.ExecHead(rec.Data)), true
	p.labels.Add([]byte(c.args))
}

// keep returns the arguments of a command, as far as there is room.
func (p *processes) keep(data []byte) string {
	data = data[:min(len(data), maxArgs, maxArgBytes-p.bytes)]
	p.bytes += len(data)
	return string(data)
}

func (p *processes) exit(source uint32, rec *posixtrace.Record) {
	if i, ok := p.latest[keyOf(source, rec.PID)]; ok {
		q := p.all.of(i)
		q.end, q.ended = rec.UnixNano, true
	}
}

// begin notes where a script, or a recipe, is.
func (p *processes) begin(source uint32, rec *posixtrace.Record) {
	pid := rec.PID
	if r := analysis.Recorder(rec); r != 0 {
		if _, ok := p.latest[keyOf(source, r)]; ok {
			pid = r
		}
	}
	i := p.of(source, pid, rec.UnixNano)
	if i == none || p.bytes >= maxArgBytes {
		return
	}
	text, _, _ := bytes.Cut(rec.Data, []byte{'\n'})
	q := p.all.of(i)
	if catalog.IsRecipeKey(rec.Span) {
		c := p.commands.of(q.command)
		c.place, c.recipe = p.keep(text[:min(len(text), analysis.MaxSpanData)]), true
		return
	}
	q.step = p.keep(text[:min(len(text), analysis.MaxSpanData)])
	q.steps++
}

func (p *processes) end(source uint32, rec *posixtrace.Record) {
	pid := rec.PID
	if r := analysis.Recorder(rec); r != 0 {
		if _, ok := p.latest[keyOf(source, r)]; ok {
			pid = r
		}
	}
	if i, ok := p.latest[keyOf(source, pid)]; ok && !catalog.IsRecipeKey(rec.Span) {
		if q := p.all.of(i); q.steps > 1 {
			q.steps--
		} else {
			q.steps, q.step = 0, ""
		}
	}
}

// label returns what a command is called.
func (p *processes) label(i int32) string {
	if i == none {
		return "?"
	}
	c := p.commands.of(i)
	if c.label == "" {
		if c.label = "?"; c.args != "" {
			c.label = p.labels.Of([]byte(c.args), c.forked)
		}
	}
	return c.label
}

// argv returns the arguments of a command.
func (p *processes) argv(i int32) []string {
	if i == none {
		return nil
	}
	d, err := posixtrace.DecodeExec([]byte(p.commands.of(i).args))
	if err != nil {
		return nil
	}
	if len(d.Argv) == 0 {
		return []string{d.Path}
	}
	return d.Argv
}

func (p *processes) pid(i int32) int {
	if i == none {
		return 0
	}
	return int(p.all.of(p.commands.of(i).process).pid)
}

// origin returns the commands that started a command, the nearest first, and the place in a script or a
// makefile nearest to it.
func (p *processes) origin(i int32) (above []int32, place string, recipe bool) {
	for n := 0; i != none && n < maxOrigin; n++ {
		c := p.commands.of(i)
		if place == "" {
			place, recipe = c.place, c.recipe
		}
		if i = c.by; i != none {
			above = append(above, i)
		}
	}
	return above, place, recipe
}

// maxOrigin bounds how far an origin is followed.
const maxOrigin = 64

// program returns the name of the program of a command.
func (p *processes) program(i int32) string {
	if i == none {
		return ""
	}
	executed := string(sysevent.ExecPath([]byte(p.commands.of(i).args)))
	return path.Base(executed)
}
