package analysis

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/format/sysevent"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Timeout is the passing of the time limit of the first command of a log, as ptrace-run -t sets it.
type Timeout struct {
	At     int64
	Limit  int64
	Signal int // that ptrace-run sent then

	// Running has the command that ran then, and those around it: the innermost first, the first
	// command of the log last. It is empty if that one ran no other.
	Running []*Command
	Others  int // that ran beside it
	// Output has the last lines of captured output until then, at most three.
	Output [][]byte
}

// maxNested bounds how deep the commands of a Timeout are nested.
const maxNested = 1 << 8

// passed notes that the time limit of the first command has passed.
func (p *processes) passed(src *Source, rec *posixtrace.Record) {
	var d sysevent.Data
	e := d.Decode(rec)
	if e == nil || src.timeout != nil {
		return
	}
	t := &Timeout{At: rec.UnixNano, Limit: d.Int64(&e.Members[sysevent.TimeoutLimit]), Output: src.lastLines()}
	t.Signal = int(d.Int32(&e.Members[sysevent.TimeoutSignal]))
	src.timeout = t
	run := src.a.runOf(int(src.index))
	if run == nil {
		return
	}
	run.Timeout = t
	q, others := p.innermost(src)
	if q == nil || q == src.root && q.start == run.Start {
		return
	}
	t.Others = others
	for range maxNested {
		if q == nil {
			break
		}
		if q.executed {
			c := &Command{PID: int(uint32(q.key)), Source: int(src.index), Start: q.start, Wall: since(t.At, q.start), State: Running}
			c.args = bytes.Clone(q.args)
			t.Running = append(t.Running, c)
		}
		q = q.around()
	}
}

// innermost returns the command that runs for the longest time of those of a log that run no other, and
// how many there are beside it. Commands that a shell has left in the background come last.
func (p *processes) innermost(src *Source) (found *process, others int) {
	commands, around := map[*process]bool{}, map[*process]bool{}
	for q := p.newest; q != nil; q = q.older {
		if q.src != src || q.inner > 0 {
			continue
		}
		var command *process
		for x, n := q, 0; x != nil && n < maxNested; x, n = x.around(), n+1 {
			switch {
			case command != nil:
				around[x] = true
			case x.executed:
				command = x // a process that executed nothing is a part of it
			}
			if x == src.root && command != nil {
				commands[command] = commands[command] || q.background()
			}
		}
	}
	for q := range commands {
		if around[q] {
			continue
		}
		others++
		if found == nil || q.before(found, commands) {
			found = q
		}
	}
	return found, others - 1
}

// before reports whether q rather than o is what a run waits for. background has those in the background.
func (q *process) before(o *process, background map[*process]bool) bool {
	if background[q] != background[o] {
		return background[o]
	}
	return q.start < o.start || q.start == o.start && q.nth < o.nth
}

// background reports whether q, or a process around it, is a child of a shell that went on meanwhile: a
// child that it started later has ended.
func (q *process) background() bool {
	for range maxNested {
		parent := q.around()
		if parent == nil {
			break
		}
		if parent.program != nil && shells[parent.program.Name] && parent.endedChild > q.nth {
			return true
		}
		q = parent
	}
	return false
}

// lastLines returns copies of the last lines of captured output, at most keptLines.
func (s *Source) lastLines() [][]byte {
	type line struct {
		at   int64
		text []byte
	}
	var all []line
	for i := range s.printed {
		t := &s.printed[i]
		for n := max(t.n-keptLines, 0); n < t.n; n++ {
			slot := &t.kept[n%lookedLines]
			all = append(all, line{slot.at, slot.text})
		}
	}
	slices.SortStableFunc(all, func(x, y line) int { return cmp.Compare(x.at, y.at) })
	var list [][]byte
	for _, l := range all[max(len(all)-keptLines, 0):] {
		list = append(list, bytes.Clone(l.text))
	}
	return list
}

// LastOutput returns the last lines of captured output of a log, at most three.
func (a *Analysis) LastOutput(source int) [][]byte {
	if source < 0 || source >= len(a.sources) {
		return nil
	}
	return a.sources[source].lastLines()
}

// Timeout returns when the time limit of the first command of a log passed, nil if the command had none,
// or ended before.
func (a *Analysis) Timeout(source int) *Timeout {
	if source < 0 || source >= len(a.sources) {
		return nil
	}
	return a.sources[source].timeout
}

// Timeouts returns them for all logs that have one.
func (a *Analysis) Timeouts() (list []*Timeout) {
	for _, s := range a.sources {
		if s.timeout != nil {
			list = append(list, s.timeout)
		}
	}
	return list
}

// TimedOut reports whether the time limit of the command passed.
func (r *Run) TimedOut() bool { return r.Timeout != nil }

// Failed reports whether the command failed, or its time limit passed: ptrace-run then ends with a status
// of its own, whatever that of the command is.
func (r *Run) Failed() bool { return r.TimedOut() || r.Command.Failed() }
