package report

import (
	"io"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A Builder makes a Run of the events of one log, or of several that are one run. Its memory does
// not grow with the number of events.
type Builder struct {
	analysis *analysis.Analysis
	sources  []*Source
	first    bool // an event has come
	from, to int64

	actors actors
	lines  lines
	marks  marks
	gaps   gaps
	rate   rate
	spans  spans
	tree   *analysis.Builder
}

// A Source is a log or a stream.
type Source struct {
	b      *Builder
	index  int32
	in     *analysis.Source
	out    *output.Source
	kinds  catalog.Table[kind]
	data   []byte // reused
	hasOut bool   // captured output
	writer int    // the process of the latest line
	ended  exited
	usage  usage
}

// exited is the end of a command.
type exited struct {
	pid int
	at  int64
}

// kind is what the page does with the events of a type.
type kind uint8

const (
	inInterval kind = iota
	printed
	lossOrEnd
	ending
	ignored
	marked
	sampled
)

// NewBuilder returns a Builder without events.
func NewBuilder() *Builder {
	b := &Builder{}
	b.lines.room = lineRoom
	b.marks.init()
	b.actors.init()
	b.spans.init()
	b.tree = analysis.NewBuilder(mostNodes)
	b.analysis = analysis.New(analysis.Limits{Rows: mostRows, Each: b.interval, Calls: true})
	return b
}

// interval adds an interval.
func (b *Builder) interval(x *analysis.Interval) {
	b.spans.add(x)
	b.tree.Add(x)
}

// mostNodes bounds the tree, in which the chain is found.
const mostNodes = 100_000

// mostRows bounds the rows of a table.
const mostRows = 300

// NewSource adds a log or a stream. name returns the name of an event type, or "" if it has none.
func (b *Builder) NewSource(name func(posixtrace.EventID) string) *Source {
	s := &Source{b: b, index: int32(len(b.sources)), in: b.analysis.NewSource(name), out: output.NewSource(name)}
	b.sources = append(b.sources, s)
	return s
}

// Add adds events that follow each other. It does not keep them or their data.
func (s *Source) Add(recs []posixtrace.Record) {
	s.in.Add(recs)
	b := s.b
	for i := range recs {
		rec := &recs[i]
		if !b.first {
			b.first, b.from, b.to = true, rec.UnixNano, rec.UnixNano
		}
		b.from, b.to = min(b.from, rec.UnixNano), max(b.to, rec.UnixNano)
		b.rate.add(rec.UnixNano)
		k, known := s.kinds.Get(rec.ID)
		if !known {
			k = s.learn(rec.ID)
		}
		switch k {
		case printed:
			s.hasOut, s.writer = true, rec.PID
			b.lines.add(rec, s.index)
		case ending:
			// The command that writes the lines ends the last one. Lines that were read later may follow.
			if !s.hasOut || s.writer == rec.PID {
				s.ended = exited{rec.PID, rec.UnixNano}
			}
		case lossOrEnd:
			b.gaps.add(rec, s.index)
		case sampled:
			s.usage.add(rec)
		case marked:
			s.mark(rec)
		}
	}
}

// Read adds all events of a reader except flush marks, as summaries count them.
func (s *Source) Read(r *posixtrace.Reader) error {
	var b posixtrace.Batch
	for {
		err := r.NextBatch(&b)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		s.Add(slices.DeleteFunc(b.Records, func(rec posixtrace.Record) bool { return selection.IsUnasked(rec.ID) }))
	}
}

func (s *Source) learn(id posixtrace.EventID) kind {
	name := s.out.Name(id)
	k := marked
	switch {
	case id == posixtrace.EventOutputStdout, id == posixtrace.EventOutputStderr:
		k = printed
	case id == posixtrace.EventOverflow, id == posixtrace.EventResume:
		k = lossOrEnd
	case id == posixtrace.EventProcExit:
		// The exit of an unknown process is counted in the notes.
		k = ending
	case id == posixtrace.EventResSample:
		k = sampled
	case selection.IsUnasked(id):
		k = ignored
	case !analysis.Plain(id, name):
		k = inInterval
	}
	if name[0] != '#' {
		s.kinds.Put(id, k)
	}
	return k
}

// mark adds an event that is no part of an interval.
func (s *Source) mark(rec *posixtrace.Record) {
	m := &s.b.marks
	x := mark{at: rec.UnixNano, kind: m.types.addString(s.out.Name(rec.ID)), count: 1}
	if !ofSystem(rec.ID) {
		x.actor = s.b.actors.of(s.index, rec.PID, rec.TID)
	}
	if m.merges(&x) {
		return
	}
	s.data = output.AppendData(s.data[:0], s.out, rec)
	m.add(x, s.data)
}

// ofSystem reports whether events of a type are of the trace system, not of a process.
func ofSystem(id posixtrace.EventID) bool {
	switch id {
	case posixtrace.EventStart, posixtrace.EventStop, posixtrace.EventFilter, posixtrace.EventError:
		return true
	}
	return false
}
