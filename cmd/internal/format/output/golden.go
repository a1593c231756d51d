package output

import (
	"slices"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/sysevent"
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

	held       heldEvents
	pids, tids numbers[int]
	spans      numbers[spanKey]
	phrases    phrases // the text from the process to the name, or in JSON to the size
}

// spanKey is the key of a span with its process: keys are unique within a process, except those of
// recipes of make, which are unique in the log.
type spanKey struct {
	pid int
	key uint64
}

func spanOf(pid int, key uint64) spanKey {
	if catalog.IsRecipeKey(key) {
		return spanKey{key: key}
	}
	return spanKey{pid, key}
}

func newGolden(s *Settings) (Form, error) { return &Golden{Masks: s.Masks}, nil }

// Begin appends nothing.
func (g *Golden) Begin(b []byte) []byte { return b }

// Append keeps the event back, and appends the lines of earlier ones beyond the limits.
func (g *Golden) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if rec.ID == posixtrace.EventResSample {
		return b // how many there are depends on the time
	}
	g.pids.nested = true
	process := g.pids.hold(rec.PID)
	var thread *numbered
	if !byTraceSystem(rec.ID) {
		thread = g.tids.hold(rec.TID)
	}
	if g.held.push(src, rec, process, thread).refersToOther {
		g.forEachOther(rec, (*numbers[int]).hold, (*numbers[spanKey]).hold)
	}
	for g.Live && g.held.count > 0 || g.held.count > maxHeld || g.held.size > maxHeldData {
		b = g.emitFirst(b)
	}
	return b
}

// End appends the lines of all events that are kept back.
func (g *Golden) End(b []byte) []byte {
	for g.held.count > 0 {
		b = g.emitFirst(b)
	}
	return b
}

// refersToOther reports whether an event refers to more than its process and thread.
func refersToOther(rec *posixtrace.Record) bool {
	return rec.Span|rec.Parent != 0 || rec.ID == posixtrace.EventProcFork || rec.ID == posixtrace.EventProcSignal
}

// forEachOther calls f for each further process and thread that an event refers to, and s for each
// span.
func (g *Golden) forEachOther(rec *posixtrace.Record, f func(*numbers[int], int) *numbered, s func(*numbers[spanKey], spanKey) *numbered) {
	if rec.Span != 0 {
		s(&g.spans, spanOf(rec.PID, rec.Span))
	}
	if rec.Parent != 0 {
		s(&g.spans, spanOf(rec.PID, rec.Parent))
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
	e := g.held.first()
	rec := e.record()
	for i := range g.Masks {
		rec.Data = g.Masks[i].apply(g, e.by.src, &rec)
	}
	v := goldenEvent{pid: g.pids.numberOf(e.by.process, rec.PID)}
	if e.by.thread != nil {
		v.tid = g.tids.numberOf(e.by.thread, rec.TID)
	}
	if e.refersToOther {
		v.span = g.spans.number(spanOf(rec.PID, rec.Span))
		v.parent = g.spans.number(spanOf(rec.PID, rec.Parent))
	}
	switch {
	case g.Format != nil:
		b = g.Format.append(b, e.by.src, &rec, &v, g)
	case g.InJSON:
		b = g.appendJSON(b, e.by.src, &rec, &v)
	default:
		b = g.appendLine(b, e.by.src, &rec, &v)
	}
	if !g.Live {
		g.pids.releaseOf(e.by.process, e.by.pid)
		if e.by.thread != nil {
			g.tids.releaseOf(e.by.thread, e.by.tid)
		}
		if e.refersToOther {
			rec.Data = e.data
			g.forEachOther(&rec, (*numbers[int]).release, (*numbers[spanKey]).release)
		}
	}
	g.held.pop()
	return b
}

func (g *Golden) appendLine(b []byte, src *Source, rec *posixtrace.Record, v *goldenEvent) []byte {
	of := member{src: src, pid: v.pid, tid: v.tid, id: rec.ID}
	p, ok := g.phrases.find(&of)
	if !ok {
		p.of = of
		name := src.name(rec.ID)
		t := strconv.AppendInt(append(p.text[:0], 'P'), int64(v.pid), 10)
		t = append(strconv.AppendInt(append(t, ' ', 'T'), int64(v.tid), 10), ' ')
		p.set(append(t, name.text...))
		if !name.known {
			p.forget()
		}
	}
	b = g.appendText(p.appendTo(b), src, rec)
	if v.span != 0 {
		b = strconv.AppendInt(append(b, " span=S"...), int64(v.span), 10)
	}
	if v.parent != 0 {
		b = strconv.AppendInt(append(b, " parent=S"...), int64(v.parent), 10)
	}
	return append(b, '\n')
}

// goldenEvent has the numbers that replace the ids of an event.
type goldenEvent struct {
	pid, tid, span, parent int
}

// appendText appends the data of an event, with a space before it. It escapes text as it does names:
// golden files are compared with those of all other versions.
func (g *Golden) appendText(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if data, ok := rawData(rec); ok {
		if len(rec.Data) == 0 && rec.Truncation == posixtrace.TruncationNone {
			return b
		}
		var d posixtrace.OutputData
		if isOutput(rec.ID) {
			d, _ = posixtrace.DecodeOutput(rec.Data)
		}
		return appendLineFlags(append(escape.Append(append(b, ' ', '"'), data), '"'), rec, &d)
	}
	d, isExit := exitData(rec)
	traced, isTraced := g.appendTraced(b, src, rec)
	switch {
	case isExit:
		return appendHowEnded(b, &d)
	case isTraced:
		return traced
	}
	return appendSystemText(b, src, rec)
}

func (g *Golden) appendJSON(b []byte, src *Source, rec *posixtrace.Record, v *goldenEvent) []byte {
	of := member{src: src, pid: v.pid, tid: v.tid, id: rec.ID, cut: rec.Truncation}
	p, ok := g.phrases.find(&of)
	if !ok {
		p.of = of
		name := src.name(rec.ID)
		t := strconv.AppendInt(append(p.text[:0], `{"pid":`...), int64(v.pid), 10)
		t = strconv.AppendInt(append(t, `,"tid":`...), int64(v.tid), 10)
		t = AppendMember(t, "event", name.raw)
		t = AppendMember(t, "class", catalog.TypeClass(rec.ID))
		t = AppendMember(t, "truncation", rec.Truncation.String())
		p.set(append(t, `,"size":`...))
		if !name.known {
			p.forget()
		}
	}
	_, isExit := exitData(rec)
	size := len(rec.Data)
	if isExit {
		size = min(size, leastExit) // a machine may know more of the end of a process than another
	}
	if rec.ID == posixtrace.EventHangThread {
		size = 0
	}
	b = strconv.AppendInt(p.appendTo(b), int64(size), 10)
	traced, isTraced := g.appendTraced(b, src, rec)
	switch {
	case isExit:
		b = appendMembersJSON(b, src, src.data.Decode(rec).Members, sysevent.Ended)
	case isTraced:
		b = traced
	case rec.ID.System():
		b = appendSystemJSON(b, src, rec)
	default:
		b = appendDataJSON(b, rec.Data, posixtrace.TruncationNone)
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
			e := src.data.Decode(rec)
			src.data.SetInt32(&e.Members[sysevent.ForkChild], int32(d.Child))
			return appendMembersJSON(b, src, e.Members, src.data.Known), true
		}
		return appendForkText(b, &d, letter), true
	case rec.ID == posixtrace.EventProcSignal:
		d, err := posixtrace.DecodeSignal(rec.Data)
		if err != nil {
			return b, false
		}
		d.Sender = g.pids.number(d.Sender)
		if g.InJSON && g.Format == nil {
			e := src.data.Decode(rec)
			src.data.SetInt32(&e.Members[sysevent.SignalSender], int32(d.Sender))
			return appendMembersJSON(b, src, e.Members, src.data.Known&^(1<<sysevent.SignalUID)), true
		}
		return appendSignalText(b, &d, "P"), true
	case rec.ID == posixtrace.EventProcContext:
		return b, true // random numbers
	case rec.ID == posixtrace.EventHangThread:
		e := src.data.Decode(rec)
		if e == nil {
			return b, false
		}
		// What it did, and for how long, varies.
		if g.InJSON && g.Format == nil {
			return appendMembersJSON(b, src, e.Members, 1<<sysevent.HangProgram), true
		}
		src.data.Shown &= 1 << sysevent.HangProgram
		return appendMembersText(b, src, e.Members), true
	case rec.ID == posixtrace.EventFileAccess:
		e := src.data.Decode(rec)
		if e == nil {
			return b, false
		}
		const varies = 1<<sysevent.FileDevice | 1<<sysevent.FileInode
		if g.InJSON && g.Format == nil {
			return appendMembersJSON(b, src, e.Members, src.data.Known&^varies), true
		}
		src.data.Shown &^= varies
		return appendMembersText(b, src, e.Members), true
	case isSyscall(src, rec.ID):
		d, err := posixtrace.DecodeSyscall(rec.Data)
		if err != nil {
			return b, false
		}
		leaveOutEnvironment(src.Name(rec.ID), &d)
		if g.InJSON && g.Format == nil {
			return appendSyscallJSON(b, &d, false), true
		}
		return appendSyscallText(b, &d, rec.Truncation != posixtrace.TruncationNone, false), true
	}
	return b, false
}

// leaveOutEnvironment removes the environment from the arguments of a call that executes a program:
// its address and its size vary.
func leaveOutEnvironment(name string, d *posixtrace.SyscallData) {
	at := 2
	switch name {
	case callPrefix + "execveat":
		at = 3
	case callPrefix + "execve":
	default:
		return
	}
	if at < len(d.Args) {
		d.Args = slices.Delete(d.Args, at, at+1)
	}
}

// byTraceSystem reports whether the trace system itself records events of this type. Their
// thread is any thread of the controller, so golden output leaves it out.
func byTraceSystem(id posixtrace.EventID) bool {
	return id >= posixtrace.EventError && id <= posixtrace.EventFlushStop
}

// leastExit is the size of the data of proc.exit without what is unknown.
var leastExit = len((&posixtrace.ExitData{}).Append(nil))

// exitData decodes a proc.exit. Golden output shows its status, not times and memory.
func exitData(rec *posixtrace.Record) (d posixtrace.ExitData, ok bool) {
	if rec.ID != posixtrace.EventProcExit {
		return d, false
	}
	d, err := posixtrace.DecodeExit(rec.Data)
	return d, err == nil
}
