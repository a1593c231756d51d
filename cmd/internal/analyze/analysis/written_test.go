package analysis

import (
	"slices"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// written is a log that a test writes.
type written struct {
	*Source
	a     *Analysis
	names []string             // of the event types from EventUnnamed + 1 on
	sink  *[]posixtrace.Record // gets the events instead; nil for none
}

// add adds an event.
func (w *written) add(rec posixtrace.Record) {
	if w.sink != nil {
		*w.sink = append(*w.sink, rec)
		return
	}
	w.Add([]posixtrace.Record{rec})
}

const ms = int64(time.Millisecond)

func newLog(rows int, by Order) *written {
	w := &written{a: New(Limits{Rows: rows, By: by})}
	w.Source = w.a.NewSource(w.nameOf)
	return w
}

func (w *written) nameOf(id posixtrace.EventID) string {
	switch {
	case id == posixtrace.EventProcFork:
		return "proc.fork"
	case id == posixtrace.EventOutputStdout:
		return "output.stdout"
	case id < firstID || int(id-firstID) >= len(w.names):
		return ""
	}
	return w.names[id-firstID]
}

const firstID = posixtrace.EventUnnamed + 1

func (w *written) id(name string) posixtrace.EventID {
	i := slices.Index(w.names, name)
	if i < 0 {
		i = len(w.names)
		w.names = append(w.names, name)
	}
	return firstID + posixtrace.EventID(i)
}

// event adds an event at a time in milliseconds.
func (w *written) event(at int64, id posixtrace.EventID, pid int, data []byte) {
	w.add(posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: id, PID: pid, TID: pid, UnixNano: at * ms}, Data: data})
}

func (w *written) user(at int64, name string, pid int, data string) {
	w.event(at, w.id(name), pid, []byte(data))
}

// keyed adds an event of a span with a key.
func (w *written) keyed(at int64, name string, pid int, key, parent uint64) {
	w.add(posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: w.id(name), PID: pid, UnixNano: at * ms, Span: key, Parent: parent, Address: 1}, Data: []byte("7")})
}

func (w *written) fork(at int64, pid, child int) {
	w.event(at, posixtrace.EventProcFork, pid, (&posixtrace.ForkData{Child: child}).Append(nil))
}

func (w *written) exec(at int64, pid int, path string, args ...string) {
	w.event(at, posixtrace.EventProcExec, pid, (&posixtrace.ExecData{Path: path, Argv: append([]string{path}, args...)}).Append(nil))
}

// exit ends a process that used the processor for cpu milliseconds, with its children.
func (w *written) exit(at int64, pid, status int, cpu, memory int64) {
	w.event(at, posixtrace.EventProcExit, pid, (&posixtrace.ExitData{Status: status, User: time.Duration(cpu * ms), MaxRSS: memory}).Append(nil))
}

func (w *written) print(at int64, line string) {
	w.event(at, posixtrace.EventOutputStdout, 1, (&posixtrace.OutputData{Line: []byte(line)}).Append(nil))
}

func command(t *testing.T, list []*Command, label string) *Command {
	t.Helper()
	for _, c := range list {
		if c.Label() == label {
			return c
		}
	}
	var labels []string
	for _, c := range list {
		labels = append(labels, c.Label())
	}
	t.Fatalf("no command %q in %q", label, labels)
	return nil
}

func span(t *testing.T, a *Analysis, name string) *Span {
	t.Helper()
	for _, r := range a.Spans() {
		if name == r.Name && r.Step == "" || name == r.Step {
			return r
		}
	}
	t.Fatalf("no span %q", name)
	return nil
}
