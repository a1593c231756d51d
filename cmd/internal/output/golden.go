package output

import (
	"bytes"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/typename"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Golden is the form for comparing traces: it is the same each time a program does the same.
// It numbers processes and threads, and leaves out what depends on the machine and the time.
// It is text
//
//	P1 T1 build.begin "compile"
//
// or, if InJSON is set, objects with these numbers in pid and tid, or what Format says.
//
// A thread or a span gets the lowest number that is free at the first event that refers to
// it, and its last such event frees the number. So events inserted in one place change only
// the lines of that place. The same holds for a process that comes and goes while a process
// with a lower number runs, as the processes do that ptrace-event -r runs for a script; other
// processes get numbers of their own. To know which event is the last one, Golden keeps
// events back, up to a limit.
type Golden struct {
	InJSON bool
	Format *Format
	Masks  []Mask
	// Live writes each line at once and reuses no numbers.
	Live bool

	held       []heldEvent
	first      int // index of the first event in held that is not written
	size       int // bytes of the data in held
	pids, tids numbers[int]
	spans      numbers[spanKey]
}

type heldEvent struct {
	src *Source
	rec posixtrace.Record
}

// spanKey is the key of a span with its process: keys are unique within a process.
type spanKey struct {
	pid int
	key uint64
}

// The limits of what is kept back. The number of a process that has no event among so many
// may be reused.
const (
	maxHeld     = 1 << 15
	maxHeldData = 4 << 20
)

func newGolden(s *Settings) (Form, error) { return &Golden{Masks: s.Masks}, nil }

// Begin appends nothing.
func (g *Golden) Begin(b []byte) []byte { return b }

// Append keeps the event back, and appends the lines of earlier ones beyond the limits.
func (g *Golden) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	g.held = append(g.held, heldEvent{src, posixtrace.Record{EventInfo: rec.EventInfo, Data: bytes.Clone(rec.Data)}})
	g.size += len(rec.Data)
	g.pids.nested = true
	g.forEachID(rec, (*numbers[int]).hold, (*numbers[spanKey]).hold)
	for g.Live && g.first < len(g.held) || len(g.held)-g.first > maxHeld || g.size > maxHeldData {
		b = g.emitFirst(b)
	}
	if g.first > len(g.held)/2 {
		n := copy(g.held, g.held[g.first:])
		clear(g.held[n:])
		g.held, g.first = g.held[:n], 0
	}
	return b
}

// End appends the lines of all events that are kept back.
func (g *Golden) End(b []byte) []byte {
	for g.first < len(g.held) {
		b = g.emitFirst(b)
	}
	return b
}

// forEachID calls f for each process and thread that an event refers to, and s for each span.
func (g *Golden) forEachID(rec *posixtrace.Record, f func(*numbers[int], int), s func(*numbers[spanKey], spanKey)) {
	f(&g.pids, rec.PID)
	if !byTraceSystem(rec.ID) {
		f(&g.tids, rec.TID)
	}
	if rec.Span != 0 {
		s(&g.spans, spanKey{rec.PID, rec.Span})
	}
	if rec.Parent != 0 {
		s(&g.spans, spanKey{rec.PID, rec.Parent})
	}
	switch rec.ID {
	case posixtrace.EventProcFork:
		if d, err := posixtrace.DecodeFork(rec.Data); err == nil && d.Kind == posixtrace.ForkThread {
			f(&g.tids, d.Child)
		} else if err == nil {
			f(&g.pids, d.Child)
		}
	case posixtrace.EventProcSignal:
		if d, err := posixtrace.DecodeSignal(rec.Data); err == nil {
			f(&g.pids, d.Sender)
		}
	}
}

// emitFirst appends the line of the first event that is kept back.
func (g *Golden) emitFirst(b []byte) []byte {
	e := &g.held[g.first]
	rec := e.rec
	for i := range g.Masks {
		rec.Data = g.Masks[i].apply(g, e.src, &rec)
	}
	v := goldenEvent{pid: g.pids.number(rec.PID)}
	if !byTraceSystem(rec.ID) {
		v.tid = g.tids.number(rec.TID)
	}
	v.span = g.spans.number(spanKey{rec.PID, rec.Span})
	v.parent = g.spans.number(spanKey{rec.PID, rec.Parent})
	switch {
	case g.Format != nil:
		b = g.Format.append(b, e.src, &rec, &v, g)
	case g.InJSON:
		b = g.appendJSON(b, e.src, &rec, &v)
	default:
		b = strconv.AppendInt(append(b, 'P'), int64(v.pid), 10)
		b = strconv.AppendInt(append(b, ' ', 'T'), int64(v.tid), 10)
		b = append(append(b, ' '), e.src.name(rec.ID).text...)
		b = g.appendText(b, e.src, &rec)
		if v.span != 0 {
			b = strconv.AppendInt(append(b, " span=S"...), int64(v.span), 10)
		}
		if v.parent != 0 {
			b = strconv.AppendInt(append(b, " parent=S"...), int64(v.parent), 10)
		}
		b = append(b, '\n')
	}
	if !g.Live {
		g.forEachID(&e.rec, (*numbers[int]).release, (*numbers[spanKey]).release)
	}
	g.size -= len(e.rec.Data)
	*e = heldEvent{}
	g.first++
	return b
}

// goldenEvent has the numbers that replace the ids of an event.
type goldenEvent struct {
	pid, tid, span, parent int
}

// appendText appends the data of an event, with a space before it.
func (g *Golden) appendText(b []byte, src *Source, rec *posixtrace.Record) []byte {
	d, isExit := exitData(rec)
	traced, isTraced := g.appendTraced(b, src, rec)
	switch {
	case isExit:
		return appendHowEnded(b, &d)
	case isTraced:
		return traced
	case rec.ID.System():
		return appendSystemText(b, src, rec)
	}
	return appendData(b, rec.Data, rec.Truncation)
}

func (g *Golden) appendJSON(b []byte, src *Source, rec *posixtrace.Record, v *goldenEvent) []byte {
	b = strconv.AppendInt(append(b, `{"pid":`...), int64(v.pid), 10)
	b = strconv.AppendInt(append(b, `,"tid":`...), int64(v.tid), 10)
	b = AppendMember(b, "event", src.Name(rec.ID))
	b = AppendMember(b, "class", typename.Class(rec.ID))
	b = AppendMember(b, "truncation", rec.Truncation.String())
	b = AppendMember(b, "size", len(rec.Data))
	d, isExit := exitData(rec)
	traced, isTraced := g.appendTraced(b, src, rec)
	switch {
	case isExit:
		b = AppendMember(b, "status", d.Status)
		b = AppendMember(b, "signal", d.Signal)
		b = AppendMember(b, "core", d.CoreDumped)
	case isTraced:
		b = traced
	case rec.ID.System():
		b = appendSystemJSON(b, src, rec)
	default:
		b = appendDataJSON(b, rec.Data)
	}
	if v.span != 0 {
		b = AppendMember(b, "span", v.span)
	}
	if v.parent != 0 {
		b = AppendMember(b, "parent", v.parent)
	}
	return append(b, '}', '\n')
}

// appendTraced appends the data of an event that package tracer recorded, with numbers for
// processes and threads, and without times.
func (g *Golden) appendTraced(b []byte, src *Source, rec *posixtrace.Record) (_ []byte, ok bool) {
	switch {
	case rec.ID == posixtrace.EventProcFork:
		d, err := posixtrace.DecodeFork(rec.Data)
		if err != nil {
			return b, false
		}
		letter := "P"
		if d.Kind == posixtrace.ForkThread {
			letter = "T"
			d.Child = g.tids.number(d.Child)
		} else {
			d.Child = g.pids.number(d.Child)
		}
		if g.InJSON && g.Format == nil {
			return appendForkJSON(b, &d), true
		}
		return appendForkText(b, &d, letter), true
	case rec.ID == posixtrace.EventProcSignal:
		d, err := posixtrace.DecodeSignal(rec.Data)
		if err != nil {
			return b, false
		}
		d.Sender = g.pids.number(d.Sender)
		if g.InJSON && g.Format == nil {
			return appendSignalJSON(b, &d), true
		}
		return appendSignalText(b, &d, "P"), true
	case isSyscall(src, rec.ID):
		d, err := posixtrace.DecodeSyscall(rec.Data)
		if err != nil {
			return b, false
		}
		if g.InJSON && g.Format == nil {
			return appendSyscallJSON(b, &d, false), true
		}
		return appendSyscallText(b, &d, rec.Truncation != posixtrace.TruncationNone, false), true
	}
	return b, false
}

// byTraceSystem reports whether the trace system itself records events of this type. Their
// thread is any thread of the controller, so golden output leaves it out.
func byTraceSystem(id posixtrace.EventID) bool {
	return id >= posixtrace.EventError && id <= posixtrace.EventFlushStop
}

// exitData decodes a proc.exit. Golden output shows its status, not times and memory.
func exitData(rec *posixtrace.Record) (d posixtrace.ExitData, ok bool) {
	if rec.ID != posixtrace.EventProcExit {
		return d, false
	}
	d, err := posixtrace.DecodeExit(rec.Data)
	return d, err == nil
}
