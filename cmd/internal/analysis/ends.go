package analysis

import "github.com/posixtrace/posixtrace/pkg/posixtrace"

// Ends finds the spans and commands of one log that its events end. It needs the events in the order
// of the log.
type Ends struct {
	name   func(posixtrace.EventID) string
	found  Interval
	source *Source
	one    [1]posixtrace.Record
	timed  [4096]int8 // by type: 1 if its events begin or end something, -1 if not, 0 if unknown
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
	if int(rec.ID) >= len(e.timed) || !e.times(rec.ID) {
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
	kind := e.timed[id]
	if kind != 0 {
		return kind > 0
	}
	kind = -1
	name := e.name(id)
	switch {
	case id == posixtrace.EventProcFork, id == posixtrace.EventProcExec, id == posixtrace.EventProcExit:
		kind = 1
	case id.User() && !Plain(id, name):
		kind = 1
	}
	if name != "" || !id.User() {
		e.timed[id] = kind
	}
	return kind > 0
}
