package analysis

import (
	"cmp"
	"maps"
	"slices"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Count is the number of events of one type. Types of one name in several logs are one.
type Count struct {
	Name   string // "#ID" without a name
	ID     posixtrace.EventID
	Events uint64
	Bytes  uint64 // of their data

	Span bool // the type begins or ends spans
	Call bool // the type is a system call
}

type counts struct{ byName map[string]*Count }

func (c *counts) init() { c.byName = map[string]*Count{} }

func (c *counts) of(id posixtrace.EventID, name string, k kind) *Count {
	n := c.byName[name]
	if n == nil {
		n = &Count{Name: name, ID: id, Span: k == begins || k == ends, Call: k == callsKernel}
		c.byName[name] = n
	}
	return n
}

// Counts returns the event types that have events, the most frequent first.
func (a *Analysis) Counts() []*Count {
	list := slices.DeleteFunc(slices.Collect(maps.Values(a.counts.byName)), func(n *Count) bool { return n.Events == 0 })
	slices.SortFunc(list, func(x, y *Count) int {
		return cmp.Or(cmp.Compare(y.Events, x.Events), cmp.Compare(x.Name, y.Name))
	})
	return list
}

// Rate returns n events of the log as a rate per second.
func (a *Analysis) Rate(n uint64) float64 {
	if length := a.Duration(); length > 0 {
		return float64(n) / (float64(length) / 1e9)
	}
	return 0
}

// Duration returns the time from the first to the last event.
func (a *Analysis) Duration() int64 { return since(a.Last, a.First) }

// since returns the time from one moment to a later one, and 0 if it is not later. The moments come
// from a log: their difference may exceed the range.
func since(to, from int64) int64 {
	if to <= from {
		return 0
	}
	return int64(min(uint64(to)-uint64(from), 1<<63-1))
}

// sum adds durations, none below 0.
func sum(a, b int64) int64 { return int64(min(uint64(a)+uint64(b), 1<<63-1)) }
