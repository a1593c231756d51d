package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A Run is what a page shows of one log, or of several that are one run. The members that a caller
// sets are in Facts.
type Run struct {
	Facts

	analysis *analysis.Analysis
	tree     *analysis.Tree
	from, to int64 // times of the first and the last event

	strings   *texts
	lanes     lanes
	output    []int   // the lane of each source's output in the picture
	written   []int64 // when the command that wrote each source's output ended, 0 if that is unknown
	actorLane []int32 // the node of each actor
	spans     []span
	spanOf    map[command]int
	longest   map[row]int // spans
	marks     []mark
	lines     lines
	gaps      []gap
	rate      *rate
	sampled   []*usage // of the sources
	chain     []link
	omitted   omitted
	cut       uint64 // bytes of arguments and data that are left out
	shortened uint64 // how many arguments and data are there in part
	forgotten uint64 // how many are not there
}

// Facts are what a Builder cannot find in the events.
type Facts struct {
	Name     string // of the log
	Label    string // what the page calls the run, "" for nothing
	State    string // of the log: "finished", "unfinished"
	Lost     uint64 // events
	Warnings []string
	Logs     []string // the names of the sources, if there are several
}

// omitted counts what the page does not show.
type omitted struct{ spans, marks, lines, bytes, merged uint64 }

// command identifies a command.
type command struct {
	source, pid int32
	start       int64
}

// row identifies the spans that share a row of the table.
type row struct{ name, step string }

// maxStep bounds the text of a step in a row, as package analysis does.
const maxStep = 200

// rows returns the rows in which a span may be: that of its step, and that of its name.
func rows(name, data string) []row {
	named := row{name: name}
	if name != catalog.RecipeSpan && analysis.SpanLabel(name, []byte(data)) != data {
		return []row{named}
	}
	return []row{{name, cut(data, maxStep)}, named}
}

// Finish returns the run. No events follow.
func (b *Builder) Finish(f Facts) *Run {
	b.analysis.Finish()
	r := &Run{Facts: f, analysis: b.analysis, tree: b.tree.Tree(b.analysis), from: b.from, to: b.to, strings: newTexts(), lines: b.lines, rate: &b.rate}
	for _, s := range b.sources {
		r.sampled = append(r.sampled, &s.usage)
	}
	b.gaps.finish(b.to)
	r.gaps = b.gaps.list
	if len(b.spans.list) > b.spans.most {
		b.spans.compact()
	}
	r.spans = b.spans.list
	r.arrange(b)
	r.link()
	r.marks = b.marks.sorted()
	r.name(&b.spans, r.textRoom(&b.marks))
	for i := range r.marks {
		x := &r.marks[i]
		x.kind = r.strings.addName(b.marks.types.list[x.kind])
		x.text = r.strings.addData(b.marks.texts.list[x.text])
	}
	for i := range r.spans {
		if x := &r.spans[i]; x.kind == analysis.Process && x.flags&failed != 0 && x.fate.Tolerated() {
			x.flags = x.flags&^failed | tolerated
		}
	}
	r.omitted = omitted{spans: b.spans.dropped, marks: b.marks.dropped}
	r.cut, r.shortened, r.forgotten = b.spans.cut, b.spans.shortened, b.spans.forgotten
	for i := range r.spans {
		if x := &r.spans[i]; x.flags&merged != 0 {
			r.omitted.merged += uint64(x.count)
		}
	}
	return r
}

// arrange gives each span and mark its place.
func (r *Run) arrange(b *Builder) {
	for i := range r.spans {
		x := &r.spans[i]
		x.start = max(x.start, r.from) // a system call may claim any duration
		x.end = max(x.end, x.start)
	}
	slices.SortStableFunc(r.spans, func(x, y span) int {
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(y.end, x.end), cmp.Compare(x.id, y.id))
	})
	l := &r.lanes
	l.of = map[actor]int32{}
	l.place(r.spans)
	for _, a := range b.actors.list {
		if a.source < 0 {
			r.actorLane = append(r.actorLane, -1)
			continue
		}
		r.actorLane = append(r.actorLane, l.thread(a.source, a.pid, a.tid, r.to))
	}
	roots := make([]int32, len(b.sources))
	outputs := make([]int32, len(b.sources))
	for i := range b.sources {
		roots[i], outputs[i] = -1, -1
		if len(b.sources) > 1 {
			roots[i] = l.add(lane{actor: actor{source: int32(i)}, kind: otherLane, name: r.log(i), start: math.MinInt64})
		}
		if b.sources[i].hasOut {
			outputs[i] = l.add(lane{actor: actor{source: int32(i)}, kind: otherLane, name: "output", start: math.MinInt64})
		}
	}
	for i := range l.nodes {
		n := &l.nodes[i]
		if n.parent < 0 && roots[n.source] >= 0 && int32(i) != roots[n.source] {
			n.parent = roots[n.source]
		}
	}
	l.arrange()
	for _, s := range b.sources {
		end := int64(0)
		if s.hasOut && s.ended.pid == s.writer {
			end = s.ended.at
		}
		r.written = append(r.written, end)
	}
	for _, o := range outputs {
		if o < 0 {
			r.output = append(r.output, 0)
		} else {
			r.output = append(r.output, l.nodes[o].index)
		}
	}
}

func (r *Run) log(i int) string {
	if i < len(r.Logs) {
		return r.Logs[i]
	}
	return r.Name
}

const (
	// ordinary is about how large a page without output is, if it has at most 100,000 spans. What the
	// columns leave of it is for the texts of spans, but at least leastText and at most mostText.
	ordinary  = 3_800_000
	leastText = 500_000
	mostText  = 2_500_000
	// textColumns is about what the numbers of its texts take for a span.
	textColumns = 7
)

// textRoom returns how many bytes the texts of spans may have.
func (r *Run) textRoom(m *marks) int {
	named := r.spans
	r.spans = slices.Clone(named)
	for i := range r.spans {
		r.spans[i].name, r.spans[i].data = 0, 0
	}
	used := len(r.appendSpans(nil)) + len(r.appendMarks(nil))
	r.spans = named
	return min(max(ordinary-used-textColumns*len(r.spans)-m.texts.size, leastText), mostText)
}

// name gives the spans and the lanes their texts. The longest spans get theirs first.
func (r *Run) name(s *spans, room int) {
	labels := analysis.NewLabels()
	for i := range r.spans {
		if x := &r.spans[i]; x.kind == analysis.Process && x.data != 0 {
			labels.Add([]byte(s.data.list[x.data]))
		}
	}
	order := make([]int32, len(r.spans))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(i, j int32) int { return cmp.Compare(r.spans[j].length(), r.spans[i].length()) })
	r.spanOf, r.longest = map[command]int{}, map[row]int{}
	forks := phases{lines: &r.lines, texts: map[int][]string{}}
	for _, i := range order {
		x := &r.spans[i]
		name, data := s.names.list[x.name], s.data.list[x.data]
		label, text := name, ""
		if r.strings.size < room {
			switch x.kind {
			case analysis.Process:
				label, text = r.command(labels, x, name, data)
			case analysis.CallKind:
				text = callText(data)
			case analysis.SpanKind:
				text = data
				if len(rows(name, data)) > 1 {
					label = analysis.SpanLabel(name, []byte(data))
				}
			}
		} else {
			s.cut += uint64(len(data))
			if data != "" {
				s.forgotten++
			}
		}
		if x.kind == analysis.Process {
			r.spanOf[command{x.source, x.pid, x.start}] = int(i)
			if n := &r.lanes.nodes[x.lane]; n.name == "" {
				n.name = label
			}
			label = forks.label(x, label, since(r.to, r.from))
		}
		if x.kind == analysis.SpanKind {
			for _, row := range rows(name, data) {
				if _, known := r.longest[row]; !known {
					r.longest[row] = int(i)
				}
			}
		}
		x.name = r.strings.addName(label)
		if x.how != 0 {
			x.how = r.paste(data, s.hows.list[x.how], room)
		}
		if x.kind == analysis.Process {
			x.data = r.strings.addName(text)
		} else {
			x.data = r.strings.addData(text)
		}
	}
	for i := range r.lanes.nodes {
		if n := &r.lanes.nodes[i]; n.name == "" {
			n.name = "process " + itoa(n.pid)
		}
	}
}

// paste returns the number of the line that repeats a command, 0 if there is none.
func (r *Run) paste(data, how string, room int) int32 {
	if d, err := posixtrace.DecodeExec([]byte(data)); err != nil || d.Incomplete || r.strings.size >= room/2 {
		return 0 // what follows would be arguments, or there is no room
	}
	d, err := posixtrace.DecodeExec([]byte(data + how))
	if err != nil || d.Dir == "" {
		return 0
	}
	return r.strings.addName(string(output.AppendShellLine(nil, &d, nil)))
}

// command returns the label of a command and all its arguments.
func (r *Run) command(labels *analysis.Labels, x *span, name, data string) (label, text string) {
	if name == "" {
		return "process " + itoa(x.pid), ""
	}
	if data == "" {
		return name, ""
	}
	return labels.Of([]byte(data), x.flags&forked != 0), commandLine(data)
}
