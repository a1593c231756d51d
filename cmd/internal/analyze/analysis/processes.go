package analysis

import (
	"bytes"

	"github.com/posixtrace/posixtrace/cmd/internal/format/sysevent"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// process is a process that runs.
type process struct {
	key          uint64
	src          *Source
	nth          uint64   // which use of this memory
	parent       *process // if parent.nth is parentNth
	parentNth    uint64
	older, newer *process // in order of start

	start   int64 // of the program, or of the process if it has executed none
	args    []byte
	how     []byte   // the directory and the standard descriptors, as in proc.exec
	program *Program // nil if unknown

	executed bool  // a program; otherwise it runs that of its parent
	inner    int32 // children that run
	since    int64 // when the first of them started
	covered  int64 // time with children
	cpu      int64 // of children that have ended, and of theirs
	memory   int64 // the largest of any of them

	step   *Span // of a script that it runs, or nil
	origin *Span // the step of the parent that started it, or nil

	home *home // for the observer

	failures   []failedChild
	fate       *fate
	endedChild uint64 // the nth of the child that was started last of those that have ended
}

const (
	// maxProcesses bounds the number of processes that run at a time.
	maxProcesses = 1 << 16
	// maxArgs bounds the arguments that are kept of a command, and maxForkArgs those that a fork
	// takes over from its parent.
	maxArgs     = 1 << 12
	maxForkArgs = 1 << 9
	// maxHow bounds what is kept of the directory and the descriptors.
	maxHow = 1 << 9
)

type processes struct {
	running running
	latest  *Program // of an exec
	newest  *process
	free    *process
	used    uint64
	gone    goneList
	killed  killedList

	by       Order
	commands top[Command]
	orphans  []*Failure // the latest failures of logs without a first command
	programs map[string]*Program
	runs     []*Run
	Totals   CommandTotals
}

// CommandTotals counts the commands of all programs.
type CommandTotals struct {
	Commands uint64
	Failed   uint64
	Unknown  uint64 // processes that ended without a known start
	Ignored  uint64 // processes beyond the limit
}

func (p *processes) init(l Limits) {
	p.running.init()
	p.programs, p.by = map[string]*Program{}, l.By
	p.commands.keep = l.Rows
}

func processKey(src *Source, pid int) uint64 { return uint64(src.index)<<32 | uint64(uint32(pid)) }

// add adds a process, nil if there are too many.
func (p *processes) add(src *Source, pid int, at int64) *process {
	if p.running.count >= maxProcesses {
		p.Totals.Ignored++
		return nil
	}
	q := p.free
	if q != nil {
		p.free = q.older
	} else {
		q = new(process)
	}
	p.used++
	*q = process{key: processKey(src, pid), src: src, nth: p.used, start: at, args: q.args[:0], how: q.how[:0], older: p.newest}
	if q.older != nil {
		q.older.newer = q
	}
	p.newest = q
	p.running.put(q)
	if b := src.a.observer; b != nil {
		b.start(src, q)
	}
	return q
}

// remove removes a process that has ended.
func (p *processes) remove(q *process) {
	if q.newer != nil {
		q.newer.older = q.older
	} else {
		p.newest = q.older
	}
	if q.older != nil {
		q.older.newer = q.newer
	}
	p.running.remove(q)
	q.nth, q.newer = 0, nil
	q.older, p.free = p.free, q
}

func (p *processes) fork(src *Source, rec *posixtrace.Record) {
	d, err := posixtrace.DecodeFork(rec.Data)
	if err != nil || d.Kind == posixtrace.ForkThread || d.Child == rec.PID {
		return
	}
	parent := p.running.of(processKey(src, rec.PID))
	if old := p.running.of(processKey(src, d.Child)); old != nil {
		if old.early(rec.UnixNano) {
			old.forked(parent, rec)
			return
		}
		p.end(old, rec.UnixNano, nil) // another process had this id; its end is not in the log
	}
	gone := p.gone.take(processKey(src, d.Child), rec.UnixNano)
	if gone != nil && gone.measured {
		if parent != nil {
			parent.waited(&gone.exit)
		}
		return
	}
	if parent == nil {
		// It started before the log. What it runs is unknown.
		parent = p.add(src, rec.PID, rec.UnixNano)
	}
	child := p.add(src, d.Child, rec.UnixNano)
	if child == nil || parent == nil {
		return
	}
	if b := src.a.observer; b != nil {
		b.fork(src, child, parent, rec.TID)
	}
	child.inherit(parent)
	child.origin = parent.step
	if child.origin == nil && !parent.executed {
		child.origin = parent.origin // of a subshell
	}
	child.enter(parent, rec.UnixNano)
	if gone != nil {
		p.Totals.Unknown--
		p.end(child, rec.UnixNano, &gone.exit)
	}
}

// inherit gives a process that has executed nothing the program of its parent.
func (q *process) inherit(parent *process) {
	q.program = parent.program
	q.args = append(q.args[:0], parent.args[:min(len(parent.args), maxForkArgs)]...)
}

// enter makes q a child.
func (q *process) enter(parent *process, at int64) {
	q.parent, q.parentNth = parent, parent.nth
	if parent.inner == 0 {
		parent.since = at
	}
	parent.inner++
	parent.noteStarted(q)
}

// around returns the parent if it still runs.
func (q *process) around() *process {
	if q.parent != nil && q.parent.nth == q.parentNth {
		return q.parent
	}
	return nil
}

func (p *processes) exec(src *Source, rec *posixtrace.Record) {
	q := p.running.of(processKey(src, rec.PID))
	switch {
	case q == nil:
		if q = p.add(src, rec.PID, rec.UnixNano); q == nil {
			return
		}
	case q.executed:
		p.record(q, rec.UnixNano, Replaced, nil)
	}
	if b := src.a.observer; b != nil {
		b.execute(q, rec.UnixNano)
	}
	q.start, q.executed, q.covered = rec.UnixNano, true, 0
	if q.inner > 0 {
		q.since = rec.UnixNano
	}
	args := sysevent.ExecHead(rec.Data)
	q.args = append(q.args[:0], args[:min(len(args), maxArgs)]...)
	if q.how = q.how[:0]; src.a.observer != nil {
		if how := sysevent.ExecHow(rec.Data); len(how) <= maxHow {
			q.how = append(q.how, how...)
		}
	}
	q.program = p.programOf(q.args)
	if parent := q.around(); parent != nil {
		parent.noteStarted(q)
	}
	if !src.rooted && q.parent == nil {
		src.root, src.rooted = q, true
		src.output.start(rec.UnixNano)
		p.begin(src, q)
	}
}

func (p *processes) exit(src *Source, rec *posixtrace.Record) {
	q := p.running.of(processKey(src, rec.PID))
	d, err := posixtrace.DecodeExit(rec.Data)
	if err == nil && (q == nil || q.parent == nil && q != src.root) {
		p.gone.add(gone{key: processKey(src, rec.PID), at: rec.UnixNano, exit: d, measured: q != nil})
	}
	switch {
	case q == nil:
		p.Totals.Unknown++
	case err != nil:
		p.end(q, rec.UnixNano, nil)
	default:
		p.end(q, rec.UnixNano, &d)
	}
}

// end ends a process, with its status if that is known.
func (p *processes) end(q *process, at int64, d *posixtrace.ExitData) {
	state := Ended
	if d == nil {
		state = Lost
	}
	p.record(q, at, state, d)
	if b := q.src.a.observer; b != nil {
		b.leave(q, at)
	}
	q.src.output.offerCommand(q, at)
	if parent := q.around(); parent != nil {
		parent.noteEnded(q)
		if d != nil {
			parent.waited(d)
		}
		if parent.inner--; parent.inner == 0 {
			parent.covered = sum(parent.covered, since(at, parent.since))
		}
	}
	if q == q.src.root {
		q.src.output.finish(q.src.a, at)
		q.src.root = nil
	}
	p.remove(q)
}

// waited adds the usage of a child that has ended.
func (q *process) waited(d *posixtrace.ExitData) {
	q.cpu = sum(q.cpu, sum(int64(d.User), int64(d.System)))
	q.memory = max(q.memory, d.MaxRSS)
}

// finish ends the processes that still run.
func (p *processes) finish(a *Analysis) {
	for q := p.newest; q != nil; q = q.older {
		p.record(q, a.Last, Running, nil)
	}
	for _, s := range a.sources {
		s.output.finish(a, a.Last)
	}
}

// programOf returns the program of an exec's data.
func (p *processes) programOf(args []byte) *Program {
	name := programName(args)
	if p.latest != nil && string(name) == p.latest.Name {
		return p.latest
	}
	prog := p.programs[string(name)]
	if prog == nil {
		if len(p.programs) >= maxPrograms {
			name = nil
			if prog = p.programs[""]; prog != nil {
				return prog
			}
		}
		prog = &Program{Name: string(name)}
		p.programs[prog.Name] = prog
	}
	p.latest = prog
	return prog
}

// maxPrograms bounds the number of programs. All others share a row without a name.
const maxPrograms = 1 << 12

// programName returns the last part of the path in an exec's data.
func programName(args []byte) []byte {
	name := sysevent.ExecPath(args)
	if i := bytes.LastIndexByte(name, '/'); i >= 0 && i+1 < len(name) {
		name = name[i+1:]
	}
	return name
}
