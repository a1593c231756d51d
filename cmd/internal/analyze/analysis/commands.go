package analysis

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Order is an order of commands.
type Order uint8

// The orders. The greatest comes first, except for ByStart.
const (
	BySelf Order = iota
	ByWall
	ByCPU
	ByMemory
	ByStart
)

// State is how a command ended.
type State uint8

// The states.
const (
	Ended    State = iota // with a status or by a signal
	Replaced              // the process executed another program
	Running               // at the end of the log
	Lost                  // the end is not in the log, or its data is malformed
)

// Command is a program that a process ran.
type Command struct {
	PID    int
	Source int // the number of its log, from 0
	Start  int64
	Forked bool // the process forked and executed nothing: it ran the program of its parent

	Wall   int64 // from start to end
	Self   int64 // the part of it without running children
	CPU    int64 // processor time, without that of children for which the process waited
	Delay  int64 // for which its threads were ready to run and waited for a processor; 0 if unknown
	Memory int64 // the largest resident set, 0 if a child had the same or a larger one

	State    State
	Status   int
	Signal   int
	TimedOut bool // of a command to blame: timeout(1) ended it

	label string
	args  []byte // data of proc.exec
	fate  *fate  // of its failure
}

// Failed reports whether the command failed. A reader that closes its pipe early is no failure.
func (c *Command) Failed() bool {
	return c.State == Ended && (c.Status != 0 || c.Signal != 0 && c.Signal != pipeSignal)
}

const pipeSignal = 13

// Argv returns path and arguments of the command, which may be incomplete.
func (c *Command) Argv() (path string, argv []string) { return argvOf(c.args) }

func argvOf(args []byte) (path string, argv []string) {
	if d, err := posixtrace.DecodeExec(args); err == nil {
		return d.Path, d.Argv
	}
	return "", nil
}

// Program has the commands of one program.
type Program struct {
	Name     string // "" if there are too many
	Commands uint64
	Failed   uint64
	Wall     int64
	Self     int64
	CPU      int64
	Memory   int64 // the largest of any command
}

// Run is the first command of a log: what ptrace-run ran.
type Run struct {
	Command
	Source *Source
	// Usage is that of the command and of all that it waited for. Delay is that of all commands of the log.
	User, System, MaxRSS int64
	machine
	Timeout *Timeout // nil if the command had no time limit, or ended before
	// Running is what ran when a signal ended the command with all that it waited for, as in Timeout.
	Running []*Command
}

// maxRuns bounds the number of runs.
const maxRuns = 64

// begin starts the run of a source.
func (p *processes) begin(src *Source, q *process) {
	if len(p.runs) >= maxRuns {
		return
	}
	p.runs = append(p.runs, &Run{Source: src, Command: Command{
		PID: int(uint32(q.key)), Source: int(src.index), Start: q.start, State: Running, args: bytes.Clone(q.args),
	}})
}

// record adds what a process has run.
func (p *processes) record(q *process, at int64, state State, d *posixtrace.ExitData) {
	b := q.src.a.observer
	if q.program == nil {
		p.Totals.Unknown++
		if b != nil {
			b.endProcess(q, at, state, d, nil)
		}
		return
	}
	c := Command{PID: int(uint32(q.key)), Source: int(q.src.index), Start: q.start, Forked: !q.executed, State: state}
	c.Wall = since(at, q.start)
	covered := q.covered
	if q.inner > 0 {
		covered = sum(covered, since(at, q.since))
	}
	c.Self = max(c.Wall-covered, 0)
	if d != nil {
		c.Status, c.Signal = d.Status, d.Signal
		c.CPU = max(sum(int64(d.User), int64(d.System))-q.cpu, 0)
		c.Delay = int64(d.RunDelay)
		p.load(q.src, at, &c)
		if d.MaxRSS > q.memory {
			c.Memory = d.MaxRSS
		}
	}
	failed := c.Failed()
	if failed {
		c.fate = q.theFate()
		if q.src.timeout != nil {
			c.fate.blamed = true // the end of the time may have ended it, too
		}
	}
	if b != nil {
		b.endProcess(q, at, state, d, &c)
	}
	p.Totals.Commands++
	g := q.program
	g.Commands++
	g.Wall, g.Self, g.CPU, g.Memory = sum(g.Wall, c.Wall), sum(g.Self, c.Self), sum(g.CPU, c.CPU), max(g.Memory, c.Memory)
	if failed {
		p.Totals.Failed++
		g.Failed++
	}
	if failed || c.State == Ended && c.Signal != 0 {
		p.fail(q, &c, d)
	}
	if slot := p.commands.add(c.key(p.by)); slot != nil {
		c.keep(slot, q.args)
	}
	if q == q.src.root && state != Replaced {
		q.src.ended = state == Ended
		p.complete(q, &c, d)
	}
}

// complete completes the run whose first process has ended.
func (p *processes) complete(q *process, c *Command, d *posixtrace.ExitData) {
	for _, r := range p.runs {
		if r.Source != q.src || r.State != Running {
			continue
		}
		r.State, r.Status, r.Signal, r.Self = c.State, c.Status, c.Signal, c.Self
		r.Wall = since(c.Start+c.Wall, r.Start)
		if d != nil {
			r.User, r.System, r.MaxRSS = int64(d.User), int64(d.System), d.MaxRSS
			r.Delay = q.src.delay
			r.machine = machine{Processors: d.Processors, Others: int64(d.Others), Idle: int64(d.Idle), Pressure: int64(d.Pressure),
				used: max(q.src.used, sum(r.User, r.System))}
		}
	}
}

// key returns the place of a command in an order.
func (c *Command) key(by Order) int64 {
	switch by {
	case ByWall:
		return c.Wall
	case ByCPU:
		return c.CPU
	case ByMemory:
		return c.Memory
	case ByStart:
		return -max(c.Start, -1<<63+1)
	}
	return c.Self
}

// keep stores the command with a copy of its arguments.
func (c *Command) keep(slot *Command, args []byte) {
	old := slot.args
	*slot = *c
	slot.args = append(old[:0], args...)
}

// Commands returns the first commands in the order of the limits, and those to blame for failures, the
// last first: one for each log whose first command failed, and the latest of the logs without a first
// command.
func (a *Analysis) Commands() (list, failed []*Command) {
	for _, f := range a.blamed {
		failed = append(failed, &f.Command)
	}
	return a.processes.commands.sorted(), failed
}

// CommandTotals returns the counts of all commands.
func (a *Analysis) CommandTotals() CommandTotals { return a.processes.Totals }

// Runs returns the first command of each log that has one, in the order of the logs.
func (a *Analysis) Runs() []*Run {
	runs := slices.Clone(a.processes.runs)
	slices.SortStableFunc(runs, func(x, y *Run) int { return cmp.Compare(x.Command.Source, y.Command.Source) })
	return runs
}

// Programs returns the programs, the longest time of their own first.
func (a *Analysis) Programs() []*Program {
	list := slices.DeleteFunc(slices.Collect(maps.Values(a.processes.programs)), func(g *Program) bool { return g.Commands == 0 })
	slices.SortFunc(list, func(x, y *Program) int {
		return cmp.Or(cmp.Compare(y.Self, x.Self), cmp.Compare(y.Commands, x.Commands), cmp.Compare(x.Name, y.Name))
	})
	return list
}
