package output

import (
	"cmp"
	"container/heap"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Chrome is the trace-event form that timeline viewers read (chrome://tracing,
// Perfetto, speedscope). A span becomes a complete event, a slice with a duration, and so
// does what a process runs from its exec to its exit; everything else is a mark. Spans
// without a key are in the lane of their thread, those with a key in lanes that they share
// where they nest or follow each other. Viewers match no begins and ends, which they do by
// name and data, and slices nest in their lanes. Processes are in the order of their
// tree. Times count from the first event: as microseconds since 1970 they would not fit
// the numbers of those viewers.
type Chrome struct {
	base   int64
	last   int64 // when the last event was recorded
	latest int64 // when the latest that was written is drawn to begin
	begun  bool
	comma  bool
	tmp    []byte

	lanes     map[lane]*laneState
	processes map[int]*chromeProcess
	keyed     map[spanKey]*slice
	open      int // slices that are open, in all lanes

	// Events that are to be written, sorted by time as far as there is room.
	ready readyEvents
	bytes int
	seq   int
}

type lane struct{ pid, tid int }

type laneState struct {
	lane
	open  []*slice // the innermost last
	until int64    // the end of the last slice that was written
}

// slice is one that is open.
type slice struct {
	name     string // of the span, with its type's suffix cut off
	title    string // what is shown
	category string
	data     string // what was recorded with its begin
	at       int64
	key      spanKey
	in       *laneState
	doubtful bool // its end may be another's
}

type chromeProcess struct {
	name   string
	pid    int
	parent int
	order  int          // of the first event that has to do with it
	spans  []*laneState // lanes for spans with keys, and for those that do not nest in their thread
}

// What keeps memory within bounds: beyond these there are marks only.
const (
	maxLanes      = 1 << 16
	maxOpenSlices = 1 << 18
	maxReady      = 1 << 14
	maxReadyBytes = 4 << 20
)

// What keeps time within bounds, whatever a log says: how deep slices nest in one lane, and how
// many lanes are looked at for one that is free.
const (
	maxDepth = 1 << 12
	maxTried = 64
)

// What begins or ends at one time in a lane is drawn so many nanoseconds apart. speedscope adds times and
// durations in floating point, and takes the end first where both are due: where one program
// executes another, and among the steps of a script with a coarse clock, it matched ends with
// others' begins. For a run of 12 days a nanosecond is more than these sums are off.
const (
	gap     = 1
	maxGaps = 1000 // how far a lane may be ahead and still be used
)

// maxTitle bounds what a name has of the data of a span and the arguments of a program, in bytes.
const maxTitle = 60

// spanLane is the first lane that is no thread: no thread has such an id.
const spanLane = 1 << 23

// Begin appends what opens the object.
func (c *Chrome) Begin(b []byte) []byte {
	return append(b, `{"displayTimeUnit":"ns","traceEvents":[`...)
}

// End appends what is still open, the names of processes and threads, and what
// closes the object.
func (c *Chrome) End(b []byte) []byte {
	lanes := make([]*laneState, 0, len(c.lanes))
	for _, l := range c.lanes {
		lanes = append(lanes, l)
	}
	slices.SortFunc(lanes, func(x, y *laneState) int { return cmp.Or(cmp.Compare(x.pid, y.pid), cmp.Compare(x.tid, y.tid)) })
	for _, l := range lanes {
		for len(l.open) > 0 {
			c.unfinished(l)
		}
	}
	b = c.Flush(b)
	c.last = max(c.last, c.latest)
	order := c.tree()
	for i, l := range lanes {
		if i == 0 || lanes[i-1].pid != l.pid {
			b = c.appendName(b, "process_name", lane{l.pid, 0}, "name", c.processName(l.pid))
			b = c.appendName(b, "process_sort_index", lane{l.pid, 0}, "sort_index", order[l.pid])
		}
		name := "thread"
		switch {
		case l.pid == 0:
			name = "events"
		case l.tid == l.pid:
			name = "main"
		case l.tid == 0:
			name = "output" // which belongs to no thread
		case l.tid >= spanLane:
			name = "spans"
		}
		b = c.appendName(b, "thread_name", l.lane, "name", name)
	}
	return append(b, "\n]}\n"...)
}

func (c *Chrome) processName(pid int) string {
	p := c.processes[pid]
	switch {
	case p != nil && p.name != "":
		return p.name
	case pid == 0:
		return "stream"
	}
	return "process"
}

// tree numbers the processes: each comes before its children, and these before its next sibling.
func (c *Chrome) tree() map[int]int {
	children := map[int][]*chromeProcess{}
	for _, p := range c.processes {
		parent := p.parent
		if q := c.processes[parent]; q == nil || q.order >= p.order {
			parent = -1 // none, or none that can be
		}
		children[parent] = append(children[parent], p)
	}
	order := map[int]int{}
	stack := []int{-1}
	for len(stack) > 0 {
		pid := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if pid >= 0 {
			order[pid] = len(order)
		}
		list := children[pid]
		slices.SortFunc(list, func(x, y *chromeProcess) int { return cmp.Compare(y.order, x.order) })
		for _, p := range list {
			stack = append(stack, p.pid)
		}
	}
	return order
}

// process returns what is known of a process, nil where there are too many.
func (c *Chrome) process(pid int) *chromeProcess {
	p := c.processes[pid]
	if p == nil && len(c.processes) < maxLanes {
		p = &chromeProcess{pid: pid, parent: -1, order: len(c.processes)}
		c.processes[pid] = p
	}
	return p
}

// Append appends one event, or keeps it until others that are older have come.
func (c *Chrome) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if !c.begun {
		c.begun, c.base, c.latest = true, rec.UnixNano, rec.UnixNano
		c.lanes, c.processes, c.keyed = map[lane]*laneState{}, map[int]*chromeProcess{}, map[spanKey]*slice{}
	}
	c.last = rec.UnixNano
	if p := c.process(rec.PID); p == nil || !c.slice(src, rec, p) {
		scope := byte('t')
		if rec.PID == 0 {
			scope = 'g' // it is everybody's
		}
		c.mark(lane{rec.PID, rec.TID}, src.Name(rec.ID), Class(rec.ID), scope, rec.UnixNano, c.decoded(src, rec), "")
	}
	for len(c.ready) > maxReady || c.bytes > maxReadyBytes {
		b = c.next(b)
	}
	return b
}

// Flush appends the events that are kept.
func (c *Chrome) Flush(b []byte) []byte {
	for len(c.ready) > 0 {
		b = c.next(b)
	}
	return b
}

// slice reports whether the event begins or ends slices and is no mark.
func (c *Chrome) slice(src *Source, rec *posixtrace.Record, p *chromeProcess) bool {
	switch rec.ID {
	case posixtrace.EventProcFork:
		if d, err := posixtrace.DecodeFork(rec.Data); err == nil && d.Kind != posixtrace.ForkThread {
			if child := c.process(d.Child); child != nil && child.parent < 0 {
				child.parent = rec.PID
			}
		}
		return false
	case posixtrace.EventProcExec:
		return c.exec(src, rec, p)
	case posixtrace.EventProcExit:
		l := c.lanes[lane{rec.PID, rec.PID}]
		if l == nil || len(l.open) == 0 || l.open[0].category != "system" {
			return false
		}
		for len(l.open) > 1 {
			c.unfinished(l)
		}
		c.end(l.open[0], c.decoded(src, rec))
		return true
	case posixtrace.EventStart, posixtrace.EventStop:
		if p.name == "" && rec.PID != 0 {
			p.name = "controller"
		}
		return false
	}
	if !rec.ID.User() {
		return false
	}
	name := src.Name(rec.ID)
	if n, ok := strings.CutSuffix(name, ".begin"); ok {
		data := c.decoded(src, rec)
		return c.begin(&slice{name: n, title: title(n, data), category: "user", data: data, at: rec.UnixNano, key: spanKey{rec.PID, rec.Span}}, p, rec)
	}
	n, ok := strings.CutSuffix(name, ".end")
	if !ok {
		return false
	}
	var s *slice
	if rec.Span != 0 {
		if s = c.keyed[spanKey{rec.PID, rec.Span}]; s != nil && s.name != n {
			s = nil
		}
	} else {
		s = c.unkeyed(lane{rec.PID, rec.TID}, p, n)
	}
	if s == nil {
		c.mark(lane{rec.PID, rec.TID}, name, "user", 't', rec.UnixNano, c.decoded(src, rec), "no begin")
		return true
	}
	c.end(s, c.decoded(src, rec))
	return true
}

// unkeyed finds the last slice of a name that was begun by a thread, without a key. It may have
// been put into another lane.
func (c *Chrome) unkeyed(of lane, p *chromeProcess, name string) *slice {
	is := func(s *slice) bool {
		return s.key.key == 0 && s.category == "user" && s.name == name
	}
	if l := c.lanes[of]; l != nil {
		for _, s := range slices.Backward(l.open) {
			if is(s) {
				return s
			}
		}
	}
	for _, l := range p.spans[:min(len(p.spans), maxTried)] {
		for _, s := range slices.Backward(l.open) {
			if is(s) && s.key.pid == of.tid { // of a slice without a key this is the thread
				return s
			}
		}
	}
	return nil
}

// begin opens a slice, if there is room.
func (c *Chrome) begin(s *slice, p *chromeProcess, rec *posixtrace.Record) bool {
	if c.open >= maxOpenSlices {
		return false
	}
	var l *laneState
	if s.key.key == 0 {
		s.key.pid = rec.TID
		if l = c.lane(lane{rec.PID, rec.TID}); l == nil || len(l.open) >= maxDepth {
			return false
		}
		for _, o := range slices.Backward(l.open) {
			if o.name == s.name && o.category == "user" {
				o.doubtful, s.doubtful = true, true
				break
			}
		}
	} else {
		if c.keyed[s.key] != nil {
			return false // twice the same
		}
		if around := c.keyed[spanKey{rec.PID, rec.Parent}]; rec.Parent != 0 && around != nil {
			if o := around.in.open; o[len(o)-1] == around && len(o) < maxDepth {
				l = around.in
			}
		}
		if l == nil {
			l = c.free(p, s.at)
		}
		if l == nil {
			return false
		}
		c.keyed[s.key] = s
	}
	c.push(l, s)
	return true
}

func (c *Chrome) push(l *laneState, s *slice) {
	s.at = max(s.at, l.until+gap)
	if n := len(l.open); n > 0 {
		s.at = max(s.at, l.open[n-1].at+gap)
	}
	s.in = l
	l.open = append(l.open, s)
	c.open++
}

// free returns a lane for spans in which nothing happens from a time on. One that is ahead of now is so
// because of gaps.
func (c *Chrome) free(p *chromeProcess, at int64) *laneState {
	until := at
	if at >= c.last {
		until += maxGaps * gap
	}
	for _, l := range p.spans[:min(len(p.spans), maxTried)] {
		if len(l.open) == 0 && l.until <= until {
			return l
		}
	}
	l := c.lane(lane{p.pid, spanLane + len(p.spans)})
	if l != nil {
		p.spans = append(p.spans, l)
	}
	return l
}

// lane returns the state of a lane, nil where there are too many.
func (c *Chrome) lane(l lane) *laneState {
	s := c.lanes[l]
	if s == nil && len(c.lanes) < maxLanes {
		s = &laneState{lane: l, until: c.base - gap}
		c.lanes[l] = s
	}
	return s
}

// exec ends what the process ran until now and begins a slice for what it runs
// from now on.
func (c *Chrome) exec(src *Source, rec *posixtrace.Record, p *chromeProcess) bool {
	name, text := "proc.exec", "proc.exec"
	if d, err := posixtrace.DecodeExec(rec.Data); err == nil {
		name = path.Base(d.Path)
		text = title(name, operand(d.Argv))
	}
	p.name = name
	l := c.lane(lane{rec.PID, rec.PID})
	if l == nil || c.open >= maxOpenSlices {
		return false
	}
	if len(l.open) > 0 && l.open[0].category == "system" {
		c.end(l.open[0], "") // spans within it go on
	}
	if len(l.open) > 0 {
		c.move(l, 0, p)
	}
	c.push(l, &slice{name: name, title: text, category: "system", data: c.decoded(src, rec), at: rec.UnixNano})
	return true
}

// operand returns the argument that says most of what a program does: the first that looks
// like a file, or the first that is no option.
func operand(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	first := ""
	for i, a := range argv[1:] {
		if a == "" || a[0] == '-' {
			continue
		}
		if argv[i] == "-c" {
			return a // of a shell
		}
		if _, err := strconv.ParseFloat(a, 64); err != nil && strings.Contains(path.Base(a), ".") && argv[i] != "-o" && argv[i] != "-MF" {
			return path.Base(a)
		}
		first = cmp.Or(first, a)
	}
	return first
}

// title returns a name and the first words of what says more, if that is text.
func title(name, more string) string {
	more, _, _ = strings.Cut(more, `\n`)
	if len(more) > maxTitle {
		n := maxTitle
		for n > 0 && !utf8.RuneStart(more[n]) {
			n--
		}
		more = more[:n] + "..."
	}
	if more == "" {
		return name
	}
	return name + " " + more
}

// end writes a slice. Those within it that go on longer get another lane.
func (c *Chrome) end(s *slice, data string) {
	l := s.in
	i := slices.Index(l.open, s)
	if i+1 < len(l.open) {
		if s.key.key == 0 && s.category == "user" {
			s.doubtful = true
			for _, o := range l.open[i+1:] {
				o.doubtful = o.doubtful || o.key.key == 0
			}
		}
		c.move(l, i+1, c.process(l.pid))
	}
	l.open = l.open[:i]
	c.open--
	c.write(s, l, data, "")
}

// move brings the slices of a lane from number i on into a lane of their own.
func (c *Chrome) move(l *laneState, i int, p *chromeProcess) {
	var to *laneState
	if p != nil {
		to = c.free(p, l.open[i].at)
	}
	if to == nil { // too many lanes: they are known to have begun
		for len(l.open) > i {
			c.unfinished(l)
		}
		return
	}
	moved := l.open[i:]
	l.open = l.open[:i]
	c.open -= len(moved)
	for _, s := range moved {
		c.push(to, s)
	}
}

// unfinished closes the innermost slice of a lane, which has no end: a program was still
// running, and of a span no more is known than when it began.
func (c *Chrome) unfinished(l *laneState) {
	s := l.open[len(l.open)-1]
	l.open = l.open[:len(l.open)-1]
	c.open--
	if s.category == "system" {
		c.write(s, l, "", "still running")
		return
	}
	delete(c.keyed, s.key)
	c.mark(l.lane, s.title, s.category, 't', s.at, s.data, "no end")
}

// write writes a slice that ends now.
func (c *Chrome) write(s *slice, l *laneState, end, note string) {
	if s.key.key != 0 {
		delete(c.keyed, s.key)
	} else if s.doubtful {
		note = "overlaps another without a key"
	}
	until := max(c.last, l.until+gap, s.at)
	l.until = until
	b := c.head(nil, s.title, s.category, 'X', s.at, l.lane)
	b = appendMicros(append(b, `,"dur":`...), until-s.at)
	c.add(appendArgs(b, s.data, end, note), s.at, until-s.at)
}

// mark writes an event without a duration.
func (c *Chrome) mark(l lane, name, category string, scope byte, at int64, data, note string) {
	c.lane(l)
	b := c.head(nil, name, category, 'i', at, l)
	b = append(append(b, `,"s":"`...), scope, '"')
	c.add(appendArgs(b, data, "", note), at, 0)
}

// decoded returns the data of an event as text.
func (c *Chrome) decoded(src *Source, rec *posixtrace.Record) string {
	c.tmp = appendDecoded(c.tmp[:0], src, rec)
	return string(c.tmp)
}

// head appends the members that all events have.
func (c *Chrome) head(b []byte, name, category string, phase byte, at int64, l lane) []byte {
	b = AppendJSONString(append(b, "\n{\"name\":"...), name)
	b = append(append(b, `,"cat":"`...), category...)
	b = append(append(b, `","ph":"`...), phase)
	b = appendMicros(append(b, `","ts":`...), at-c.base)
	b = strconv.AppendInt(append(b, `,"pid":`...), int64(l.pid), 10)
	return strconv.AppendInt(append(b, `,"tid":`...), int64(l.tid), 10)
}

// appendArgs appends what more is known of an event, and closes its object.
func appendArgs(b []byte, data, end, note string) []byte {
	start := len(b)
	for _, m := range []struct{ key, value string }{{"data", data}, {"end", end}, {"note", note}} {
		if m.value != "" {
			b = AppendMember(b, m.key, m.value)
		}
	}
	if len(b) > start {
		b = slices.Insert(b, start, []byte(`,"args":{`)...)
		b = slices.Delete(b, start+len(`,"args":{`), start+len(`,"args":{`)+1) // the comma
		b = append(b, '}')
	}
	return append(b, '}')
}

// appendName appends what a viewer is to know of a process or thread.
func (c *Chrome) appendName(b []byte, what string, l lane, key string, value any) []byte {
	if c.comma {
		b = append(b, ',')
	}
	c.comma = true
	b = c.head(b, what, "__metadata", 'M', c.last, l)
	b = append(b, `,"args":{`...)
	start := len(b)
	b = slices.Delete(AppendMember(b, key, value), start, start+1)
	return append(b, '}', '}')
}

// readyEvent is an event that is to be written.
type readyEvent struct {
	at, dur int64
	seq     int
	text    []byte
}

// readyEvents is a heap of them. Of slices that begin at one time the longer is the outer one, and
// comes first.
type readyEvents []readyEvent

func (r readyEvents) Len() int { return len(r) }

func (r readyEvents) Less(i, j int) bool {
	a, b := &r[i], &r[j]
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.dur, a.dur), cmp.Compare(a.seq, b.seq)) < 0
}

func (r readyEvents) Swap(i, j int) { r[i], r[j] = r[j], r[i] }
func (r *readyEvents) Push(e any)   { *r = append(*r, e.(readyEvent)) }

func (r *readyEvents) Pop() any {
	n := len(*r) - 1
	e := (*r)[n]
	(*r)[n] = readyEvent{}
	*r = (*r)[:n]
	return e
}

func (c *Chrome) add(text []byte, at, dur int64) {
	c.seq++
	c.latest = max(c.latest, at)
	c.bytes += len(text)
	heap.Push(&c.ready, readyEvent{at, dur, c.seq, text})
}

// next appends the oldest of the events that are kept.
func (c *Chrome) next(b []byte) []byte {
	e := heap.Pop(&c.ready).(readyEvent)
	c.bytes -= len(e.text)
	if c.comma {
		b = append(b, ',')
	}
	c.comma = true
	return append(b, e.text...)
}

// appendMicros appends nanoseconds as microseconds with three decimals.
func appendMicros(b []byte, ns int64) []byte {
	u := uint64(ns)
	if ns < 0 {
		b = append(b, '-')
		u = -u
	}
	b = strconv.AppendUint(b, u/1000, 10)
	r := u % 1000
	return append(b, '.', byte('0'+r/100), byte('0'+r/10%10), byte('0'+r%10))
}
