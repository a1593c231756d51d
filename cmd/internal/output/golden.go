package output

import (
	"strconv"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Golden is what comes out the same each time a program does the same: processes
// and threads are numbered in the order in which they appear, and what depends
// on the machine and the moment is left out. It has two forms, text
//
//	P1 T1 build.begin "compile"
//
// and, if InJSON is set, objects with numbers in pid and tid.
type Golden struct {
	InJSON bool

	pids, tids map[int]int
}

// Begin appends nothing.
func (g *Golden) Begin(b []byte) []byte { return b }

// End appends nothing.
func (g *Golden) End(b []byte) []byte { return b }

// Append appends the line of one event.
func (g *Golden) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if g.pids == nil {
		g.pids, g.tids = map[int]int{}, map[int]int{}
	}
	pid, tid := ordinal(g.pids, rec.PID), 0
	if !byTraceSystem(rec.ID) {
		tid = ordinal(g.tids, rec.TID)
	}
	if g.InJSON {
		return g.appendJSON(b, src, rec, pid, tid)
	}
	b = strconv.AppendInt(append(b, 'P'), int64(pid), 10)
	b = strconv.AppendInt(append(b, ' ', 'T'), int64(tid), 10)
	b = append(append(b, ' '), src.name(rec.ID).text...)
	d, isExit := exitData(rec)
	traced, isTraced := g.appendTraced(b, src, rec)
	switch {
	case isExit:
		b = appendHowEnded(b, &d)
	case isTraced:
		b = traced
	case rec.ID.System():
		b = appendSystemText(b, src, rec)
	default:
		b = appendData(b, rec.Data, rec.Truncation)
	}
	return append(b, '\n')
}

func (g *Golden) appendJSON(b []byte, src *Source, rec *posixtrace.Record, pid, tid int) []byte {
	b = strconv.AppendInt(append(b, `{"pid":`...), int64(pid), 10)
	b = strconv.AppendInt(append(b, `,"tid":`...), int64(tid), 10)
	b = AppendMember(b, "event", src.Name(rec.ID))
	b = AppendMember(b, "class", Class(rec.ID))
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
	return append(b, '}', '\n')
}

// appendTraced appends the data of what a tracer of processes has recorded, with
// ordinals for processes and threads, and without times.
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
			d.Child = ordinal(g.tids, d.Child)
		} else {
			d.Child = ordinal(g.pids, d.Child)
		}
		if g.InJSON {
			return appendForkJSON(b, &d), true
		}
		return appendForkText(b, &d, letter), true
	case rec.ID == posixtrace.EventProcSignal:
		d, err := posixtrace.DecodeSignal(rec.Data)
		if err != nil {
			return b, false
		}
		d.Sender = ordinal(g.pids, d.Sender)
		if g.InJSON {
			return appendSignalJSON(b, &d), true
		}
		return appendSignalText(b, &d, "P"), true
	case isSyscall(src, rec.ID):
		d, err := posixtrace.DecodeSyscall(rec.Data)
		if err != nil {
			return b, false
		}
		if g.InJSON {
			return appendSyscallJSON(b, &d, false), true
		}
		return appendSyscallText(b, &d, rec.Truncation != posixtrace.NotTruncated, false), true
	}
	return b, false
}

// byTraceSystem reports whether events of this type come from the trace system
// itself. Which thread of a controller that happened in is nobody's doing.
func byTraceSystem(id posixtrace.EventID) bool {
	return id >= posixtrace.EventError && id <= posixtrace.EventFlushStop
}

// exitData decodes a proc.exit; what it says of time and memory is not golden.
func exitData(rec *posixtrace.Record) (d posixtrace.ExitData, ok bool) {
	if rec.ID != posixtrace.EventProcExit {
		return d, false
	}
	d, err := posixtrace.DecodeExit(rec.Data)
	return d, err == nil
}

// ordinal returns 1 for the first process seen, and so on; 0 stands for none.
func ordinal(seen map[int]int, id int) int {
	if id == 0 {
		return 0
	}
	n, ok := seen[id]
	if !ok {
		n = len(seen) + 1
		seen[id] = n
	}
	return n
}
