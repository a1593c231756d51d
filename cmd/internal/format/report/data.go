package report

import (
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
)

// The data of the page is JSON. Tables are columns of numbers; a number for a text counts in the
// member strings. Times are nanoseconds since the first event.

// appendJSON appends the object of a run, which may take that many bytes: lines are left out for it.
func (r *Run) appendJSON(b []byte, room int) []byte {
	start := len(b)
	b = append(quote(append(b, `{"name":`...), r.Name), `,"label":`...)
	b = append(quote(b, r.Label), `,"start":"`...)
	b = strconv.AppendInt(b, r.from, 10)
	b = strconv.AppendUint(append(b, `","length":`...), relative(r.to, r.from), 10)
	b = append(b, ',')
	b = append(r.appendLanes(b), ',')
	b = append(r.appendSpans(b), ',')
	b = append(r.appendMarks(b), ',')
	b = append(r.appendMissing(b), ',')
	b = append(r.appendCurves(b), ',')
	b = append(r.appendUsage(b), ',')
	b = append(r.appendChain(b), ',')
	b = append(b, `"strings":[`...)
	for i, s := range r.strings.list {
		if i > 0 {
			b = append(b, ',')
		}
		if r.strings.data[int32(i)] {
			b = append(appendDataJSON(append(b, '"'), s), '"')
		} else {
			b = quote(b, s)
		}
	}
	b = append(b, ']', ',')
	r.lines.fit(room - (len(b) - start))
	r.omitted.lines, r.omitted.bytes = r.lines.omittedLines, r.cut+r.lines.omittedBytes
	b = append(r.lines.appendJSON(b, r), ',')
	return append(r.appendOmitted(b), '}')
}

func (r *Run) appendLanes(b []byte) []byte {
	var name, parent, pid, tid, kind column
	l := &r.lanes
	for _, i := range l.order {
		n := &l.nodes[i]
		name.add(uint64(r.strings.addName(n.name)))
		if n.parent < 0 {
			parent.add(0)
		} else {
			parent.add(uint64(l.nodes[n.parent].index) + 1)
		}
		pid.add(uint64(max(n.pid, 0)))
		tid.add(uint64(max(n.tid, 0)))
		kind.add(uint64(n.kind))
	}
	return append(beginColumns(b, "lanes", len(l.order), named{"name", &name}, named{"parent", &parent}, named{"pid", &pid}, named{"tid", &tid}, named{"kind", &kind}), '}')
}

func (r *Run) appendSpans(b []byte) []byte {
	var start, dur, lane, depth, name, text, kind, flags, status, count, paste column
	at := uint64(0)
	for i := range r.spans {
		x := &r.spans[i]
		from, to := relative(x.start, r.from), relative(x.end, r.from)
		start.add(difference(&at, from))
		dur.add(to - from)
		lane.add(uint64(r.lanes.nodes[x.lane].index))
		depth.add(uint64(x.depth))
		name.add(uint64(x.name))
		text.add(uint64(x.data))
		kind.add(uint64(x.kind))
		flags.add(uint64(x.flags &^ forked))
		status.add(statusNumber(x))
		count.add(uint64(x.count))
		paste.add(uint64(x.how))
	}
	return append(beginColumns(b, "spans", len(r.spans),
		named{"start", &start}, named{"dur", &dur}, named{"lane", &lane}, named{"depth", &depth}, named{"name", &name},
		named{"text", &text}, named{"kind", &kind}, named{"flags", &flags}, named{"status", &status}, named{"count", &count},
		named{"paste", &paste}), '}')
}

// statusNumber returns the status of a span plus 1, 0 if it has none.
func statusNumber(x *span) uint64 {
	if x.flags&merged != 0 || x.flags&unfinished != 0 && x.status == 0 || x.kind != analysis.Process && x.status == 0 {
		return 0
	}
	return uint64(min(max(x.status, 0), 1<<30)) + 1
}

func (r *Run) appendMarks(b []byte) []byte {
	var time, lane, kind, text, count column
	at := uint64(0)
	for i := range r.marks {
		x := &r.marks[i]
		time.add(difference(&at, relative(x.at, r.from)))
		if n := r.actorLane[x.actor]; n >= 0 {
			lane.add(uint64(r.lanes.nodes[n].index) + 1)
		} else {
			lane.add(0)
		}
		kind.add(uint64(x.kind))
		text.add(uint64(x.text))
		count.add(uint64(x.count))
	}
	return append(beginColumns(b, "marks", len(r.marks), named{"time", &time}, named{"lane", &lane}, named{"type", &kind}, named{"text", &text}, named{"count", &count}), '}')
}

func (r *Run) appendMissing(b []byte) []byte {
	b = append(b, `"missing":[`...)
	for i, g := range r.gaps {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(append(b, '['), relative(g.from, r.from), 10)
		b = strconv.AppendUint(append(b, ','), relative(g.to, r.from), 10)
		lost := uint64(0)
		if len(r.gaps) == 1 {
			lost = r.Lost
		}
		b = append(strconv.AppendUint(append(b, ','), lost, 10), ']')
	}
	return append(b, ']')
}

func (r *Run) appendCurves(b []byte) []byte {
	var time, running, events column
	n := r.rate.used(r.to)
	work := r.tree.Work(n)
	length, at := float64(max(since(r.to, r.from), 1)), uint64(0)
	for i := range n {
		time.add(difference(&at, relative(saturated(r.rate.from, int64(i)*r.rate.step), r.from)))
		// The parts of work are of equal length, the last step may be shorter than the others.
		part := int((float64(i) + 0.5) * float64(r.rate.step) / length * float64(n))
		running.add(uint64(work[min(part, n-1)] + 0.5))
		events.add(r.rate.counts[i])
	}
	return append(beginColumns(b, "curves", n, named{"time", &time}, named{"running", &running}, named{"events", &events}), '}')
}

func (r *Run) appendChain(b []byte) []byte {
	b = append(b, `"chain":[`...)
	for i, p := range r.parts() {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, '['), int64(p.span), 10)
		from := relative(p.from, r.from)
		b = strconv.AppendUint(append(b, ','), from, 10)
		b = append(strconv.AppendUint(append(b, ','), relative(p.to, r.from)-from, 10), ']')
	}
	return append(b, ']')
}

func (r *Run) appendOmitted(b []byte) []byte {
	o := &r.omitted
	b = strconv.AppendUint(append(b, `"omitted":{"spans":`...), o.spans, 10)
	b = strconv.AppendUint(append(b, `,"marks":`...), o.marks, 10)
	b = strconv.AppendUint(append(b, `,"lines":`...), o.lines, 10)
	b = strconv.AppendUint(append(b, `,"bytes":`...), o.bytes, 10)
	return append(strconv.AppendUint(append(b, `,"merged":`...), o.merged, 10), '}')
}
