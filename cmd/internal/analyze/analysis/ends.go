package analysis

import (
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Ends finds the spans and commands of one log that its events end. It needs the events in the order
// of the log.
type Ends struct {
	name   func(posixtrace.EventID) string
	found  Interval
	source *Source
	one    [1]posixtrace.Record
	timed  catalog.Table[bool] // whether events of a type may begin or end something
}

// NewEnds returns an Ends for events whose types have the names that name returns, "" as long as a
// type has none.
func NewEnds(name func(posixtrace.EventID) string) *Ends {
	e := &Ends{name: name}
	e.source = New(Limits{Each: func(iv *Interval) { e.found = *iv }}).NewSource(name)
	return e
}

// Of returns the span that rec ends, or the command if it is the end of a process. It returns nil if
// rec ends none, or may end another one. The interval is valid until the next call.
func (e *Ends) Of(rec *posixtrace.Record) *Interval {
	if !e.times(rec.ID) {
		return nil
	}
	e.found = Interval{}
	e.one[0] = *rec
	e.source.Add(e.one[:])
	iv := &e.found
	if iv.ID == 0 || iv.Overlaps || iv.State != Ended || iv.Kind != SpanKind && rec.ID != posixtrace.EventProcExit {
		return nil
	}
	return iv
}

// times reports whether events of a type may begin or end something.
func (e *Ends) times(id posixtrace.EventID) bool {
	if timed, known := e.timed.Get(id); known {
		return timed
	}
	name, timed := e.name(id), false
	switch {
	case id == posixtrace.EventProcFork, id == posixtrace.EventProcExec, id == posixtrace.EventProcExit:
		timed = true
	case id.User() && !Plain(id, name):
		timed = true
	}
	if name != "" || !id.User() {
		e.timed.Put(id, timed)
	}
	return timed
}
