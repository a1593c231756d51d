package analysis

import (
	"cmp"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Interval is a command, a span or a system call, from its begin to its end: see Limits.Each.
type Interval struct {
	// ID numbers the intervals in the order in which they began, system calls in that in which
	// they ended. Some numbers are missing. Parent is the interval around it, 0 for none. It has a
	// smaller ID and is usually reported later: an interval may outlive the one around it.
	ID, Parent uint64

	Kind     Kind
	Source   int // the number of its log, from 0
	PID, TID int
	Start    int64 // nanoseconds since the Epoch
	End      int64 // not before Start
	State    State
	Overlaps bool // begin and end may belong to different spans

	Name   string // of the program, the span or the system call; "" if it is unknown what a process runs
	Data   []byte // of a command that of proc.exec, of a span the first MaxSpanData bytes of its begin's data; valid during the call
	How    []byte // of a command that executed a program, sysevent.ExecHow of proc.exec; valid during the call
	Forked bool   // the process forked and executed nothing: it runs the program of its parent

	Failed         bool   // a command or a span that failed; a system call with an error
	Error          []byte // of a span, the first MaxSpanData bytes of the text of its error; valid during the call
	Status, Signal int
	Errno          int                  // of a system call
	Call           []byte               // of a system call, its data; valid during the call of Each
	CPU, Memory    int64                // of a command, as in Command
	Delay          int64                // of a command, as in Command
	Exit           *posixtrace.ExitData // of a command; nil if unknown
	Fate           Fate                 // of a command that failed
}

// Fate is what becomes of the failure of a command. It is known when the analysis is finished.
type Fate struct {
	fate   *fate
	source *Source
}

// Tolerated reports whether a command failed, and did not make the first command of its log fail.
func (f Fate) Tolerated() bool {
	s := f.source
	return s != nil && s.ended && (s.failure == nil && s.timeout == nil || f.fate != nil && !f.fate.counted())
}

// With returns one fate for two failures in the same log. It is unknown if theirs differ, unless the run
// succeeded and has tolerated both.
func (f Fate) With(other Fate) Fate {
	if f.fate != other.fate {
		f.fate = nil
	}
	return f
}

// Kind is what an interval is.
type Kind uint8

// The kinds.
const (
	Process  Kind = iota // a command
	SpanKind             // a span
	CallKind             // a system call
)

// MaxSpanData bounds the data of a span in an Interval.
const MaxSpanData = 256

// observer reports intervals.
//
// A command is inside the innermost open span of the thread, or of the process if that span has a
// key, that forked it, otherwise inside the command that the forking process runs. A span is inside
// the span around it, otherwise inside the command that its process runs. What has no known process
// is inside the first command of its log.
type observer struct {
	each  func(*Interval)
	calls bool

	last  uint64 // the ID of the latest interval
	homes map[uint64]*home
	free  *place
	late  []Interval // what Finish has ended, if finishing
	final bool       // finishing

	found Interval // what is being reported
	exit  posixtrace.ExitData
}

// home is a process as the place of spans.
type home struct {
	process *process // that runs, nil if that is unknown
	id      uint64   // the interval of its command
	outer   uint64   // the interval around that
	inside  bool     // it contains intervals
	seen    int64    // when one of its spans began or ended last
	latest  *place   // its open spans, the latest first
	keyed   int      // how many of them have keys
}

// place is where an open span is.
type place struct {
	id, parent   uint64
	home         *home // nil if its process has ended
	older, newer *place
	pid, tid     int
	keyed, shell bool // has a key; comes from a shell
	whole        bool // all threads of the process are in it
	depth        int  // of a span with a key: how many with keys are around it, and itself
	orphan       bool // its process has ended, at:
	left         int64
	data         []byte
}

func newObserver(l Limits) *observer {
	if l.Each == nil {
		return nil
	}
	return &observer{each: l.Each, calls: l.Calls, homes: map[uint64]*home{}}
}

func (b *observer) next() uint64 {
	b.last++
	return b.last
}

// home returns the place of a process, nil if there are too many.
func (b *observer) home(src *Source, pid int) *home {
	k := processKey(src, pid)
	h := b.homes[k]
	if h == nil {
		if len(b.homes) >= maxThreads+maxProcesses {
			for k, h := range b.homes {
				if h.process == nil && h.latest == nil {
					delete(b.homes, k)
				}
			}
			if len(b.homes) >= maxThreads+maxProcesses {
				return nil
			}
		}
		h = &home{}
		b.homes[k] = h
	}
	return h
}

// Recorder returns what may be the process that an event happened in, other than rec.PID, or 0.
// ptrace-event --run records on behalf of its script and has its own id as that of the thread; the key
// of a span of a shell has the id of the subshell.
func Recorder(rec *posixtrace.Record) int {
	switch {
	case rec.Span != 0 && rec.Address&posixtrace.SpoolAddress != 0:
		return int(rec.Span >> 32)
	case rec.TID != rec.PID:
		return rec.TID
	}
	return 0
}

// homeOf returns the process that runs a span.
func (b *observer) homeOf(src *Source, rec *posixtrace.Record) *home {
	if pid := Recorder(rec); pid != 0 {
		if h := b.homes[processKey(src, pid)]; h != nil && h.process != nil {
			return h
		}
	}
	return b.home(src, rec.PID)
}

// maxInner bounds how many open spans of a process inner looks at.
const maxInner = 64

// inner returns the innermost open span that a thread is in, nil if there is none. A program may
// have spans with keys side by side. Only if all nest is the innermost one known.
func (h *home) inner(tid int, wants func(*place) bool) *place {
	for p, n := h.latest, 0; p != nil && n < maxInner; p, n = p.older, n+1 {
		if (p.keyed && p.depth == h.keyed || !p.keyed && (p.tid == tid || p.whole)) && wants(p) {
			return p
		}
	}
	return nil
}

// within returns the interval of what runs in a process outside of spans, 0 if that is unknown.
func (h *home) within(src *Source) uint64 {
	if h == nil || h.process == nil {
		if src.root == nil {
			return 0
		}
		h = src.root.home
	}
	h.inside = true
	return h.id
}

// start places a process whose parent is not known, or not yet.
func (b *observer) start(src *Source, q *process) {
	h := b.home(src, int(uint32(q.key)))
	if h == nil {
		h = &home{}
		b.homes[q.key] = h
	}
	h.outer = (*home)(nil).within(src)
	h.process, h.id, h.inside, q.home = q, b.next(), false, h
}

// fork places a process that a thread of another has forked.
func (b *observer) fork(src *Source, child, parent *process, tid int) {
	if parent.home.id > child.home.id {
		return // the first event of the child came before the fork
	}
	if p := parent.home.inner(tid, anyPlace); p != nil && p.id < child.home.id {
		child.home.outer = p.id
	} else {
		child.home.outer = parent.home.within(src)
	}
}

func anyPlace(*place) bool { return true }

// execute notes that a process executes a program. Its last command has been reported, if it was one.
func (b *observer) execute(q *process, at int64) {
	if !q.executed && q.home.inside {
		b.endProcess(q, at, Replaced, nil, nil)
	}
	q.home.id, q.home.inside = b.next(), false
}

// endProcess reports a command. c is nil if it is not measured.
func (b *observer) endProcess(q *process, at int64, state State, d *posixtrace.ExitData, c *Command) {
	iv := &b.found
	*iv = Interval{ID: q.home.id, Parent: q.home.outer, Kind: Process, Source: int(q.src.index), PID: int(uint32(q.key)), TID: int(uint32(q.key)),
		Start: q.start, End: max(at, q.start), State: state, Data: q.args, How: q.how, Forked: !q.executed && q.program != nil}
	if q.program != nil {
		iv.Name = q.program.Name
	}
	if d != nil {
		iv.Status, iv.Signal = d.Status, d.Signal
		b.exit = *d
		iv.Exit = &b.exit
	}
	if c != nil {
		iv.CPU, iv.Memory, iv.Delay, iv.Failed, iv.Fate = c.CPU, c.Memory, c.Delay, c.Failed(), Fate{c.fate, q.src}
	}
	b.report()
}

// leave ends the stay of open spans in a process that has ended.
func (b *observer) leave(q *process, at int64) {
	for p := q.home.latest; p != nil; {
		older := p.older
		p.home, p.older, p.newer, p.orphan, p.left = nil, nil, nil, true, at
		p = older
	}
	q.home.latest, q.home.keyed, q.home.process = nil, 0, nil
}

// beginSpan places a span.
func (b *observer) beginSpan(src *Source, o *openSpan, rec *posixtrace.Record) {
	p := b.free
	if p != nil {
		b.free = p.older
	} else {
		p = new(place)
	}
	*p = place{id: b.next(), home: b.homeOf(src, rec), pid: rec.PID, tid: rec.TID, keyed: rec.Span != 0, data: p.data[:0],
		shell: rec.Address&posixtrace.SpoolAddress != 0}
	p.whole = rec.TID != rec.PID && p.home != nil && p.home.process != nil && p.home.process.key == processKey(src, rec.TID)
	p.data = append(p.data, rec.Data[:escape.Cut(rec.Data, MaxSpanData)]...)
	var around *openSpan
	if o.parent != nil && o.parent.nth == o.parentNth {
		around = o.parent
	}
	p.parent = b.around(src, p, around)
	o.place = p
	h := p.home
	if h == nil {
		return
	}
	h.seen = rec.UnixNano
	if p.keyed {
		p.depth = 1
		if around != nil && around.place.home == h {
			p.depth += around.place.depth
		}
		h.keyed++
	}
	if p.older = h.latest; p.older != nil {
		p.older.newer = p
	}
	h.latest = p
}

// around returns the interval around a span that begins. o is the span around it by its key or its
// thread, and may be nil.
func (b *observer) around(src *Source, p *place, o *openSpan) uint64 {
	h := p.home
	if o != nil && o.place.orphan {
		o = nil // of an earlier process with this id
	}
	if h == nil {
		if o != nil {
			return o.place.id
		}
		return h.within(src)
	}
	in := h.inner(p.tid, func(around *place) bool {
		if p.keyed { // names the span with a key around it
			return !around.keyed
		}
		return !around.keyed || around.tid == p.tid || around.shell
	})
	switch {
	case o == nil && in == nil:
		return h.within(src)
	case o == nil:
		return in.id
	case !p.keyed:
		if in != nil {
			return in.id
		}
	case in != nil && in.parent == o.place.id:
		return in.id
	case o.place.home != h && h.process != nil && h.process.start >= o.at:
		return h.within(src) // the subshell began inside the span
	}
	return o.place.id
}

// endSpan reports a span that ends.
func (b *observer) endSpan(src *Source, o *openSpan, at int64, end Outcome) {
	b.reportSpan(int(src.index), o, at, Ended, end)
	p := o.place
	if h := p.home; h != nil {
		h.seen = at
		if p.newer != nil {
			p.newer.older = p.older
		} else {
			h.latest = p.older
		}
		if p.older != nil {
			p.older.newer = p.newer
		}
		if p.keyed {
			h.keyed--
		}
	}
	o.place, p.home, p.newer = nil, nil, nil
	p.older, b.free = b.free, p
}

func (b *observer) reportSpan(src int, o *openSpan, at int64, state State, end Outcome) {
	p := o.place
	b.found = Interval{ID: p.id, Parent: p.parent, Kind: SpanKind, Source: src, PID: p.pid, TID: p.tid, Start: o.at, End: max(at, o.at),
		State: state, Overlaps: o.overlaps, Name: o.typ.name, Data: p.data, Failed: end.Failed, Status: end.Status, Error: end.Error}
	b.report()
}

// call reports a system call, whose event has the time of its end.
func (b *observer) call(src *Source, c *Call, rec *posixtrace.Record) {
	d, err := posixtrace.DecodeSyscall(rec.Data[:min(len(rec.Data), callHeader)])
	if err != nil {
		return
	}
	iv := &b.found
	*iv = Interval{ID: b.next(), Kind: CallKind, Source: int(src.index), PID: rec.PID, TID: rec.TID, End: rec.UnixNano, Name: c.Name,
		Errno: d.Errno, Failed: d.Errno != 0, Call: rec.Data}
	iv.Start = iv.End - max(int64(d.Duration), 0)
	if iv.Start > iv.End {
		iv.Start = iv.End
	}
	h := b.homes[processKey(src, rec.PID)]
	if h == nil {
		iv.Parent = h.within(src)
	} else if p := h.inner(rec.TID, anyPlace); p != nil {
		iv.Parent = p.id
	} else {
		iv.Parent = h.within(src)
	}
	b.report()
}

// finish reports what still runs, the latest first.
func (b *observer) finish(a *Analysis) {
	b.final = true
	a.processes.finish(a)
	late := func(o *openSpan, src uint32) {
		p, s := o.place, a.sources[src]
		switch {
		case p.orphan:
			b.reportSpan(int(src), o, p.left, Lost, Outcome{})
		case p.home != nil && p.home.process == nil && s.rooted && s.root == nil:
			// The command has ended, and with it a process of which the log knows no more.
			b.reportSpan(int(src), o, p.home.seen, Lost, Outcome{})
		default:
			b.reportSpan(int(src), o, a.Last, Running, Outcome{})
		}
	}
	for k, th := range a.spans.threads {
		for o := th.latest; o != nil; o = o.before {
			late(o, k.src)
		}
	}
	for _, o := range a.spans.keyed.heads {
		for ; o != nil; o = o.next {
			late(o, o.src)
		}
	}
	slices.SortFunc(b.late, func(x, y Interval) int { return cmp.Compare(y.ID, x.ID) })
	for i := range b.late {
		b.each(&b.late[i])
	}
	b.late = nil
}

func (b *observer) report() {
	if b.final {
		b.late = append(b.late, b.found)
		return
	}
	b.each(&b.found)
}
