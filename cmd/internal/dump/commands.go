package dump

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// writeCommands writes a line for each program that was executed. A plain line is written at the start of the
// program; with --failed, --slower-than or --json, when the program has ended.
func writeCommands(env *cli.Env, inputs []*input, opt *options) error {
	calls := opt.sel.calls
	opt.sel.calls = callSelection{}
	w, err := newWalk(env, inputs, opt)
	if err != nil {
		return err
	}
	l := &commandList{out: env.Stdout, json: opt.json(), ended: opt.json() || calls.given, selection: calls}
	sources := map[*input]*commandSource{}
	for i, in := range inputs {
		sources[in] = &commandSource{list: l, log: i, several: len(inputs) > 1, processes: map[int]*executed{}, name: in.src.Name}
	}
	if err := walkEvents(w, sources); err != nil {
		return err
	}
	for _, in := range inputs {
		sources[in].finish()
	}
	for _, in := range inputs {
		if opt.head < 0 {
			env.Warn(in.soundness())
		}
	}
	return l.err
}

// commandList is the output.
type commandList struct {
	out       *cli.Writer
	json      bool
	ended     bool // a line is written when the command has ended
	selection callSelection
	err       error
}

// commandSource finds the commands of one input.
type commandSource struct {
	list      *commandList
	log       int
	several   bool
	processes map[int]*executed
	name      func(posixtrace.EventID) string
}

// executed is what a process has executed, and the variables that it got.
type executed struct {
	data      *posixtrace.ExecData // nil if nothing is known of that
	start     int64
	variables output.Variables
	steps     []step // of a script that it runs, the innermost last
	origin    string // the place of the step of which it is a subshell, "" if it has executed a program
	from      string // the place of the step that executed the program, "" if that is unknown
}

// step is a step of a script that has not ended.
type step struct {
	key   uint64
	place string
}

const (
	// maxExecuted bounds the processes of a source that run at a time. Of others the end is not known.
	maxExecuted = 1 << 16
	// stepBegin and stepEnd are the names of the events of ptrace-event --steps.
	stepBegin = "step.begin"
	stepEnd   = "step.end"
	// maxSteps bounds the steps of a process that are open.
	maxSteps = 64
)

// Add adds events.
func (s *commandSource) Add(recs []posixtrace.Record) {
	for i := range recs {
		switch rec := &recs[i]; rec.ID {
		case posixtrace.EventProcFork:
			d, err := posixtrace.DecodeFork(rec.Data)
			if p := s.processes[rec.PID]; err == nil && d.Kind != posixtrace.ForkThread && p != nil && s.processes[d.Child] == nil && len(s.processes) < maxExecuted {
				s.processes[d.Child] = &executed{variables: p.variables, origin: p.place()}
			}
		case posixtrace.EventProcExec:
			s.execute(rec)
		case posixtrace.EventProcExit:
			p := s.processes[rec.PID]
			delete(s.processes, rec.PID)
			d, err := posixtrace.DecodeExit(rec.Data)
			switch {
			case p == nil:
			case err != nil:
				s.end(rec.PID, p, rec.UnixNano, "lost", nil)
			default:
				s.end(rec.PID, p, rec.UnixNano, "ended", &d)
			}
		default:
			if rec.ID.User() {
				s.step(rec)
			}
		}
	}
}

// step notes the begin or the end of a step of a script.
func (s *commandSource) step(rec *posixtrace.Record) {
	name := s.name(rec.ID)
	if name != stepBegin && name != stepEnd {
		return
	}
	p := s.processes[rec.PID]
	if other := s.processes[analysis.Recorder(rec)]; other != nil {
		p = other
	}
	if p == nil {
		return
	}
	p.steps = slices.DeleteFunc(p.steps, func(o step) bool { return o.key == rec.Span })
	if place := analysis.PlaceOfStep(rec.Data); name == stepBegin && place != "" && len(p.steps) < maxSteps {
		p.steps = append(p.steps, step{rec.Span, place})
	}
}

// place returns the place of the step that a process is in, or of which it is a subshell.
func (p *executed) place() string {
	if n := len(p.steps); n > 0 {
		return p.steps[n-1].place
	}
	return p.origin
}

func (s *commandSource) execute(rec *posixtrace.Record) {
	d, err := posixtrace.DecodeExec(rec.Data)
	if err != nil {
		return
	}
	p := s.processes[rec.PID]
	if p == nil {
		p = &executed{}
		if len(s.processes) < maxExecuted {
			s.processes[rec.PID] = p
		}
	} else {
		s.end(rec.PID, p, rec.UnixNano, "replaced", nil)
	}
	if place := p.place(); place != "" {
		p.from = place
	}
	p.data, p.start, p.variables, p.origin, p.steps = &d, rec.UnixNano, p.variables.Changed(&d), "", nil
	if rec.Truncation != posixtrace.TruncationNone && len(d.Argv) > 0 {
		p.data.Argv[len(d.Argv)-1] += "..."
	}
	if !s.list.ended {
		s.list.write(append(p.line(), '\n'))
	}
}

// finish reports the commands that have not ended.
func (s *commandSource) finish() {
	pids := slices.SortedFunc(maps.Keys(s.processes), func(a, b int) int {
		return cmp.Or(cmp.Compare(s.processes[a].start, s.processes[b].start), cmp.Compare(a, b))
	})
	for _, pid := range pids {
		s.end(pid, s.processes[pid], s.processes[pid].start, "running", nil)
	}
}

// end writes a command that has ended, unless its line is written already or is not selected.
func (s *commandSource) end(pid int, p *executed, at int64, state string, d *posixtrace.ExitData) {
	l := s.list
	if p.data == nil || !l.ended {
		return
	}
	failed := d != nil && (d.Status != 0 || d.Signal != 0 && d.Signal != brokenPipe)
	took := max(at, p.start) - p.start
	if l.selection.failed && !failed || l.selection.slow && (took <= int64(l.selection.slower) || state == "running") {
		return
	}
	line := p.line()
	if !l.json {
		l.write(append(line, '\n'))
		return
	}
	f := output.Fields{{Key: "command", Value: string(line)}, {Key: "pid", Value: pid}}
	if s.several {
		f.Add("log", s.log)
	}
	f.Add("start", time.Unix(0, p.start).UTC().Format("2006-01-02T15:04:05.000000000Z"))
	f.Add("state", state)
	if state != "running" {
		f.Add("duration_ns", took)
	}
	if d != nil {
		f.Add("status", d.Status)
		f.Add("signal", d.Signal)
	}
	f.Add("failed", failed)
	f.Add("path", p.data.Path)
	f.Add("argv", p.data.Argv)
	for _, m := range [...]struct{ key, text string }{{"dir", p.data.Dir}, {"stdin", p.data.Stdin}, {"stdout", p.data.Stdout}, {"stderr", p.data.Stderr}} {
		if m.text != "" {
			f.Add(m.key, m.text)
		}
	}
	if i := strings.LastIndexByte(p.from, ':'); i > 0 {
		line, _ := strconv.Atoi(p.from[i+1:])
		f.Add("script", p.from[:i])
		f.Add("line", line)
	}
	l.write(f.AppendJSON(nil))
}

// brokenPipe is the signal of a writer whose reader has closed its pipe, which is no failure.
const brokenPipe = 13

func (l *commandList) write(b []byte) {
	if l.err == nil {
		_, l.err = l.out.Write(b)
	}
}

// line returns the command as a line to paste.
func (p *executed) line() []byte { return output.AppendShellLine(nil, p.data, p.variables) }
